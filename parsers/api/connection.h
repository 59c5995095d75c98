#pragma once

#include <cstddef>
#include <cstdint>

#include "parsers/api/address.h"
#include "parsers/api/packet.h"
#include "parsers/api/tuple.h"

namespace tapline {

// One endpoint of a connection, 0 or 1. Fixed for the connection's lifetime, unlike the side that counts as the client.
using Side = uint8_t;
constexpr Side other_side(Side side) { return side ^ 1; }

enum class TcpState : uint8_t {
  kSynSent,      // a SYN, no response
  kSynAnswered,  // a SYN/ACK
  kOpen,         // established, or joined in mid-stream
  kHalfClosed,   // one side has sent its FIN
  kClosed,       // both FINs
  kReset,        // a RST after a response
  kRefused,      // a RST in response to the SYN
};

// A connection in the engine's shared table. The engine writes it; parsers read it, and each writes only its own state.
// Flows of other protocols (UDP, ICMP, SCTP, …) are stored in the same way if a parser requests them
// (Needs::datagrams): they are kSynSent while only one side has sent anything, then kOpen, and end when they are idle.
//
//   bytes 0..63     identity, which look-ups compare
//   bytes 64..127   TCP state, and the table's own fields
//   bytes 128..     the parsers' own state, initially zero, Needs::connection_state_bytes each
struct alignas(64) Connection {
  uint64_t flow_hash;
  uint64_t queries;  // queries that wanted any of its packets and have not ended
  IpAddress ip[2];
  uint16_t port[2];
  uint32_t vlan;  // as in FlowKey
  uint32_t network_id;
  uint8_t protocol;
  Side client_side;
  ClientKnownBy client_known_by;
  TcpState tcp_state;

  int64_t last_seen_ns;  // raw time of the latest packet
  uint32_t incarnation;  // the client's initial sequence number, 0 = unknown
  uint32_t seq_end[2];   // per side: one past the highest sequence number seen; before any payload, the initial one
  uint8_t seq_known;     // bit per side
  uint8_t syn_seen;      // bit per side
  uint8_t fin_seen : 2;  // bit per side
  uint8_t heard : 2;     // bit per side: at least one packet captured
  uint8_t missing : 2;   // bit per side: acknowledged bytes have not been captured
  uint8_t syn_acks_conflict : 1;  // meaningful until the handshake is complete
  uint8_t going_on : 2;           // bit per side that continued after a RST
  uint8_t proxy_step : 4;         // socks::Step
  uint32_t index;                 // slot in the table's slab
  uint32_t wheel_previous;
  uint32_t wheel_next;
  uint16_t wheel_slot;
  uint16_t ignored_by;   // bit per stream parser that gave up on the connection
  uint32_t stream;       // slot of its reassembly state, 0 = none
  uint32_t bucket_hash;  // the table's look-up key
  uint32_t shown_tick;   // the engine's period (tick_number_) in which parsers last saw a packet; 0 = none
  // Counts of the packets that process() did not receive (Needs::every_packet) since the connection began, and their
  // wire bytes.
  uint32_t more_packets;  // wraps
  uint64_t more_bytes;

  Direction direction_of(Side side) const {
    return side == client_side ? Direction::kFromClient : Direction::kFromServer;
  }
  // Returns the side that sent a packet of this connection, even if the client side has been corrected since then.
  Side side_of(const Packet& packet) const {
    return packet.src_port == port[0] && packet.src_ip == ip[0] ? Side{0} : Side{1};
  }
  // Returns true if the start of the side's stream was seen: its SYN or, for the client, the response to it.
  bool start_known(Side side) const {
    const bool was_answered = side == client_side && client_known_by == ClientKnownBy::kHandshake && incarnation != 0;
    return (syn_seen >> side & 1) != 0 || was_answered;
  }
  bool is_tcp() const { return protocol == protocol::kTcp; }
  bool ended() const { return tcp_state >= TcpState::kClosed; }
  std::byte* parser_state() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(Connection) == 128, "two cache lines");

}  // namespace tapline
