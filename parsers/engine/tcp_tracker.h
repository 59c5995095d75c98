#pragma once

#include <cstdint>

#include "parsers/api/connection.h"

namespace tapline {

// What the packets' flags say of a connection (RFC 9293 section 3.3.2, as far as a tap between the two sides can tell):
// who is the client, which incarnation it is, how far it got. Pure functions over the connection's entry.

// True if the packet is of a new connection that reuses the endpoints of this one: a SYN with another initial sequence
// number where this one is over, was never answered or has been silent, or a SYN/ACK that answers such a SYN.
bool starts_new_incarnation(const Connection& connection, const Packet& packet, Side side);

// A connection, or a flow of datagrams, that begins with this packet, sent by side 0.
void start_connection(Connection& connection, const Packet& packet);

// SYN and SYN/ACK, and whether a connection goes on that seemed to have been reset. Returns tcp_event bits. Called
// before payload is reassembled, for it tells where streams start.
uint8_t track_handshake(Connection& connection, const Packet& packet, Side side);

// All that a packet without SYN, FIN and RST does to a connection that is open or over, both sides' sequence numbers
// known. `seq_end` is its last byte's plus 1.
inline void track_data(Connection& connection, uint32_t seq_end, int64_t time_ns, Side side) {
  if (static_cast<int32_t>(seq_end - connection.seq_end[side]) > 0) connection.seq_end[side] = seq_end;
  if (time_ns > connection.last_seen_ns) connection.last_seen_ns = time_ns;
}

// A flow of datagrams is open once both sides have sent one.
inline void track_datagram(Connection& flow, int64_t time_ns, Side side) {
  if (side != 0) flow.tcp_state = TcpState::kOpen;
  if (time_ns > flow.last_seen_ns) flow.last_seen_ns = time_ns;
}

// Sequence numbers, FIN and RST. Returns tcp_event bits. REQUIRES: the packet has those of track_handshake().
uint8_t track_progress(Connection& connection, const Packet& packet, Side side);

}  // namespace tapline
