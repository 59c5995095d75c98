#include "parsers/engine/tcp_tracker.h"

namespace tapline {
namespace {

// A connection that is silent for this long may be replaced by any new SYN.
constexpr int64_t kSilentNs = 10'000'000'000;
// A SYN that is captured after the data which it precedes (mirrors reorder) lies at most this far before it.
constexpr uint32_t kLateSynBytes = 1 << 16;
constexpr int64_t kLateSynNs = 1'000'000'000;
// A RST further from what the side has sent is somebody else's.
constexpr int32_t kRstWindowBytes = 1 << 26;

int32_t distance(uint32_t from, uint32_t to) { return static_cast<int32_t>(to - from); }
bool has(uint8_t bits, Side side) { return (bits >> side & 1) != 0; }
void set(uint8_t* bits, Side side) { *bits = static_cast<uint8_t>(*bits | 1u << side); }

bool is_syn(const Packet& packet) {
  return packet.has_tcp_flag(tcp_flag::kSyn) && !packet.has_tcp_flag(tcp_flag::kRst);
}
bool is_syn_ack(const Packet& packet) { return is_syn(packet) && packet.has_tcp_flag(tcp_flag::kAck); }

bool knows_incarnation(const Connection& connection) {
  return connection.client_known_by == ClientKnownBy::kHandshake && connection.incarnation != 0;
}

bool is_late_syn(const Connection& connection, const Packet& packet, Side side) {
  return connection.syn_seen == 0 && connection.tcp_state == TcpState::kOpen && has(connection.seq_known, side) &&
         connection.seq_end[side] - (packet.tcp_seq + 1) < kLateSynBytes &&
         packet.time_ns - connection.last_seen_ns < kLateSynNs;
}

bool syn_is_new(const Connection& connection, const Packet& packet, Side side) {
  if (knows_incarnation(connection) && side == connection.client_side && packet.tcp_seq == connection.incarnation) {
    return false;  // a retransmission
  }
  if (is_late_syn(connection, packet, side)) return false;
  if (connection.ended() || connection.tcp_state == TcpState::kHalfClosed) return true;
  if (packet.time_ns - connection.last_seen_ns > kSilentNs) return true;
  const bool unfinished = connection.tcp_state == TcpState::kSynSent || connection.tcp_state == TcpState::kSynAnswered;
  return unfinished && side == connection.client_side;
}

void know_client(Connection& connection, Side client, uint32_t incarnation) {
  connection.client_side = client;
  connection.client_known_by = ClientKnownBy::kHandshake;
  connection.incarnation = incarnation;
}

uint8_t track_syn(Connection& connection, const Packet& packet, Side side) {
  const bool first = connection.syn_seen == 0;
  set(&connection.syn_seen, side);
  if (!first) return 0;
  know_client(connection, side, packet.tcp_seq);
  return tcp_event::kSyn;
}

void track_syn_ack(Connection& connection, const Packet& packet, Side side) {
  const Side client = other_side(side);
  if (!knows_incarnation(connection)) {
    know_client(connection, client, packet.tcp_ack - 1);
  } else if (client != connection.client_side || packet.tcp_ack - 1 != connection.incarnation) {
    return;  // of a simultaneous open, or of an older connection
  }
  set(&connection.syn_seen, side);
  if (connection.tcp_state == TcpState::kSynSent) connection.tcp_state = TcpState::kSynAnswered;
}

// Where one direction is not captured, what the other one does still shows that the handshake is over.
bool completes_handshake(const Connection& connection, const Packet& packet, Side side) {
  if (!packet.has_tcp_flag(tcp_flag::kAck)) return false;
  if (connection.tcp_state == TcpState::kSynAnswered) return true;
  if (connection.tcp_state != TcpState::kSynSent) return false;
  return side == connection.client_side || packet.payload_bytes > 0;
}

void track_sequence(Connection& connection, const Packet& packet, Side side) {
  uint32_t end = packet.tcp_seq + packet.payload_bytes;
  if (packet.has_tcp_flag(tcp_flag::kSyn)) ++end;
  if (packet.has_tcp_flag(tcp_flag::kFin)) ++end;
  if (!has(connection.seq_known, side) || distance(connection.seq_end[side], end) > 0) connection.seq_end[side] = end;
  set(&connection.seq_known, side);
  const Side peer = other_side(side);
  if (has(connection.seq_known, peer) || !packet.has_tcp_flag(tcp_flag::kAck)) return;
  connection.seq_end[peer] = packet.tcp_ack;
  set(&connection.seq_known, peer);
}

bool is_believable_rst(const Connection& connection, const Packet& packet, Side side) {
  if (connection.tcp_state == TcpState::kSynSent && side != connection.client_side) {
    return !packet.has_tcp_flag(tcp_flag::kAck) || !knows_incarnation(connection) ||
           packet.tcp_ack - connection.incarnation - 1 <= kLateSynBytes;
  }
  if (!has(connection.seq_known, side)) return true;
  const int32_t off = distance(connection.seq_end[side], packet.tcp_seq);
  return off > -kRstWindowBytes && off < kRstWindowBytes;
}

uint8_t track_rst(Connection& connection, const Packet& packet, Side side) {
  if (connection.ended() || !is_believable_rst(connection, packet, side)) return 0;
  const bool refused = connection.tcp_state == TcpState::kSynSent && side != connection.client_side;
  connection.tcp_state = refused ? TcpState::kRefused : TcpState::kReset;
  return tcp_event::kReset;
}

uint8_t track_fin(Connection& connection, Side side) {
  if (connection.ended()) return 0;
  set(&connection.fin_seen, side);
  if (connection.fin_seen != 3) {
    connection.tcp_state = TcpState::kHalfClosed;
    return 0;
  }
  connection.tcp_state = TcpState::kClosed;
  return tcp_event::kClosed;
}

}  // namespace

bool starts_new_incarnation(const Connection& connection, const Packet& packet, Side side) {
  if (!is_syn(packet)) return false;
  if (!is_syn_ack(packet)) return syn_is_new(connection, packet, side);
  // The SYN itself was not captured, or was taken for a stray while the old connection looked alive.
  return knows_incarnation(connection) && side != connection.client_side &&
         packet.tcp_ack - 1 != connection.incarnation && connection.tcp_state >= TcpState::kOpen;
}

void start_connection(Connection& connection, const Packet& packet) {
  connection.last_seen_ns = packet.time_ns;
  connection.tcp_state = is_syn(packet) || !packet.is_tcp() ? TcpState::kSynSent : TcpState::kOpen;
  if (packet.to_side != ToSide::kUnknown) {
    connection.client_side = packet.to_side == ToSide::kSource ? 1 : 0;
    connection.client_known_by = ClientKnownBy::kQuery;
  } else {
    connection.client_side = packet.src_port >= packet.dst_port ? 0 : 1;
    connection.client_known_by = ClientKnownBy::kPort;
  }
}

uint8_t track_handshake(Connection& connection, const Packet& packet, Side side) {
  if (!is_syn(packet)) {
    if (packet.has_tcp_flag(tcp_flag::kRst) || !completes_handshake(connection, packet, side)) return 0;
    connection.tcp_state = TcpState::kOpen;
    return tcp_event::kEstablished;
  }
  if (!is_syn_ack(packet)) return track_syn(connection, packet, side);
  track_syn_ack(connection, packet, side);
  return 0;
}

uint8_t track_progress(Connection& connection, const Packet& packet, Side side) {
  uint8_t events = 0;
  if (packet.has_tcp_flag(tcp_flag::kRst)) {
    events = track_rst(connection, packet, side);
  } else {
    track_sequence(connection, packet, side);
    if (packet.has_tcp_flag(tcp_flag::kFin)) events = track_fin(connection, side);
  }
  if (packet.time_ns > connection.last_seen_ns) connection.last_seen_ns = packet.time_ns;
  return events;
}

}  // namespace tapline
