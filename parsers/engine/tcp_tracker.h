#pragma once

#include <cstdint>

#include "parsers/api/connection.h"

namespace tapline {

// These functions determine a connection's client side, incarnation and state from its packets' flags (RFC 9293 section
// 3.3.2, as far as a tap between the two sides can). They use only the connection's entry.

// Returns true if the packet belongs to a new connection that reuses these endpoints: a SYN with a different initial
// sequence number while this connection is closing, over, not yet established, or silent, or a SYN/ACK in response to a
// SYN that this connection does not know.
bool starts_new_incarnation(const Connection& connection, const Packet& packet, Side side);

// Starts a connection, or a flow of datagrams, with its first packet, sent by side 0.
void start_connection(Connection& connection, const Packet& packet);

// Handles SYN and SYN/ACK, and connections that continue after an apparent reset. Returns tcp_event bits. Must be
// called before payload is reassembled, since it determines where streams start.
uint8_t track_handshake(Connection& connection, const Packet& packet, Side side);

// A RST, a FIN, an acknowledgement or a repeated SYN/ACK further than this from the data that the side has sent belongs
// to another connection.
inline constexpr int32_t kWindowBytes = 1 << 26;

// Applies the whole effect of a packet without SYN, FIN or RST. `seq_end` is the sequence number after its last byte.
// Returns false, and changes nothing, if the packet is far ahead of the data that the side has sent. REQUIRES: the
// state is from kOpen to kClosed, and both sides' sequence numbers are known.
inline bool track_segment(Connection& connection, uint32_t seq_end, int64_t time_ns, Side side) {
  const auto ahead = static_cast<int32_t>(seq_end - connection.seq_end[side]);
  if (ahead >= kWindowBytes) [[unlikely]]
    return false;
  if (ahead > 0) connection.seq_end[side] = seq_end;
  if (time_ns > connection.last_seen_ns) connection.last_seen_ns = time_ns;
  return true;
}

// Tracks a flow of datagrams, which is open once both sides have sent one.
inline void track_datagram(Connection& flow, int64_t time_ns, Side side) {
  if (side != 0) flow.tcp_state = TcpState::kOpen;
  if (time_ns > flow.last_seen_ns) flow.last_seen_ns = time_ns;
}

// Handles sequence numbers, FIN and RST. Returns tcp_event bits. REQUIRES: track_handshake() was called for the packet.
uint8_t track_progress(Connection& connection, const Packet& packet, Side side);

}  // namespace tapline
