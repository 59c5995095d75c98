#include "parsers/engine/tcp_tracker.h"

#include "parsers/api/sequence.h"
#include "parsers/api/time.h"

namespace tapline {
namespace {

// Any new SYN may replace a connection that has been silent for this long.
constexpr int64_t kSilentNs = 10'000'000'000;
// A SYN that a mirror delivers after data of its connection is late, not new, if it is at most this many bytes before
// the highest sequence number seen, and this long after the latest packet.
constexpr uint32_t kLateSynBytes = 1 << 16;
constexpr int64_t kLateSynNs = kNsPerSecond;

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
  const bool is_first = connection.syn_seen == 0;
  set(&connection.syn_seen, side);
  if (!is_first) return 0;
  know_client(connection, side, packet.tcp_seq);
  return tcp_event::kSyn;
}

// Returns true if this SYN/ACK's sequence number differs from an earlier one's, so that two senders (one may be a SYN
// proxy) have responded to the SYN. Until the handshake is complete, the numbers are compared exactly; later, data may
// have advanced the sender's number.
bool conflicts(const Connection& connection, const Packet& packet, Side side) {
  if (!has(connection.syn_seen, side) || !has(connection.seq_known, side)) return false;
  const int32_t sent = sequence_distance(packet.tcp_seq + 1, connection.seq_end[side]);
  return connection.tcp_state == TcpState::kSynAnswered ? sent != 0 : sent < 0 || sent > kWindowBytes;
}

uint8_t track_syn_ack(Connection& connection, const Packet& packet, Side side) {
  const Side client = other_side(side);
  if (!knows_incarnation(connection)) {
    know_client(connection, client, packet.tcp_ack - 1);
  } else if (client != connection.client_side || packet.tcp_ack - 1 != connection.incarnation) {
    return 0;  // part of a simultaneous open, or of an older connection
  }
  if (conflicts(connection, packet, side)) {
    connection.syn_acks_conflict = 1;
    return tcp_event::kSynAckConflict;
  }
  set(&connection.syn_seen, side);
  if (connection.tcp_state == TcpState::kSynSent) connection.tcp_state = TcpState::kSynAnswered;
  return 0;
}

// Decides which of several SYN/ACKs is valid: the one that the client acknowledges or that the server's data follow.
void settle_syn_acks(Connection& connection, const Packet& packet, Side side) {
  if (connection.syn_acks_conflict == 0) return;
  connection.syn_acks_conflict = 0;
  const Side server = other_side(connection.client_side);
  connection.seq_end[server] = side == server ? packet.tcp_seq : packet.tcp_ack;
}

// Returns true if the packet shows that the handshake is complete, even if the other direction is not captured.
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
  // An acknowledgement that overtakes the data sent before it must not hide the beginning of these data.
  const bool moves = packet.payload_bytes > 0 || packet.has_tcp_flag(tcp_flag::kSyn) || !connection.start_known(side);
  // Earlier acknowledgements are weaker evidence than the SYN itself.
  const bool begins = packet.has_tcp_flag(tcp_flag::kSyn) && connection.stream == 0;
  const bool is_known = has(connection.seq_known, side) && !begins;
  if (!is_known || (moves && sequence_distance(connection.seq_end[side], end) > 0)) connection.seq_end[side] = end;
  set(&connection.seq_known, side);
  const Side peer = other_side(side);
  if (has(connection.seq_known, peer) || !packet.has_tcp_flag(tcp_flag::kAck)) return;
  connection.seq_end[peer] = packet.tcp_ack;
  set(&connection.seq_known, peer);
}

bool is_near(const Connection& connection, uint32_t seq, Side side) {
  if (!has(connection.seq_known, side)) return true;
  const int32_t off = sequence_distance(connection.seq_end[side], seq);
  return off > -kWindowBytes && off < kWindowBytes;
}

// Returns true for a FIN of this connection. It suffices that its sequence number or its acknowledgement number is
// plausible, since the tap may have missed much of one direction. An off-path attacker knows neither number.
bool is_own_fin(const Connection& connection, const Packet& packet, Side side) {
  if (!packet.has_tcp_flag(tcp_flag::kFin)) return false;
  return is_near(connection, packet.tcp_seq, side) ||
         (packet.has_tcp_flag(tcp_flag::kAck) && is_near(connection, packet.tcp_ack, other_side(side)));
}

// Returns true if the receiver may accept this RST. A RST in response to a SYN must acknowledge it (RFC 9293 section
// 3.10.7). Later, the receiver compares the RST's sequence number with the next one that it expects, which a tap does
// not know exactly: a RST near that number may be accepted, and later packets show whether it was.
bool may_be_accepted(const Connection& connection, const Packet& packet, Side side) {
  const Side peer = other_side(side);
  if (connection.tcp_state == TcpState::kSynSent && side != connection.client_side) {
    if (!packet.has_tcp_flag(tcp_flag::kAck)) return false;
    const uint32_t first = connection.incarnation + 1;
    return !knows_incarnation(connection) || packet.tcp_ack - first <= connection.seq_end[peer] - first;
  }
  return is_near(connection, packet.tcp_seq, side);
}

bool is_newer(const Connection& connection, uint32_t seq_end, Side side) {
  const int32_t off = sequence_distance(connection.seq_end[side], seq_end);
  return has(connection.seq_known, side) && off > 0 && off < kWindowBytes;
}

// Handles a RST. After an acceptable one, seq_end stays at the end of the data sent before the RST: data beyond seq_end
// were sent later.
uint8_t track_rst(Connection& connection, const Packet& packet, Side side) {
  if (connection.ended()) return 0;
  if (!may_be_accepted(connection, packet, side)) return tcp_event::kRstIgnored;
  const bool was_refused = connection.tcp_state == TcpState::kSynSent && side != connection.client_side;
  const Side peer = other_side(side);
  const bool acknowledges = packet.has_tcp_flag(tcp_flag::kAck);
  if (is_newer(connection, packet.tcp_seq, side)) connection.seq_end[side] = packet.tcp_seq;
  if (acknowledges && is_newer(connection, packet.tcp_ack, peer)) connection.seq_end[peer] = packet.tcp_ack;
  connection.tcp_state = was_refused ? TcpState::kRefused : TcpState::kReset;
  connection.going_on = 0;
  return tcp_event::kReset;
}

bool was_reset(const Connection& connection) { return connection.tcp_state >= TcpState::kReset; }

// Returns true if the side continues after a RST: it sends more data, or acknowledges data sent after the RST. After an
// apparent refusal, the server continues with its SYN/ACK or any packet without SYN, and then the client with any
// packet without SYN.
bool goes_on(const Connection& connection, const Packet& packet, Side side) {
  if (connection.tcp_state == TcpState::kRefused) {
    if (side == connection.client_side) return connection.going_on != 0 && !is_syn(packet);
    return !is_syn(packet) || (is_syn_ack(packet) && packet.tcp_ack - 1 == connection.incarnation);
  }
  const uint32_t end = packet.tcp_seq + packet.payload_bytes + (packet.has_tcp_flag(tcp_flag::kFin) ? 1 : 0);
  return is_newer(connection, end, side) ||
         (packet.has_tcp_flag(tcp_flag::kAck) && is_newer(connection, packet.tcp_ack, other_side(side)));
}

// Resumes the connection once both sides have continued after a RST. Its streams have ended, so they are joined again
// in mid-stream.
uint8_t track_after_rst(Connection& connection, const Packet& packet, Side side) {
  if (!goes_on(connection, packet, side)) return 0;
  if (is_syn_ack(packet)) set(&connection.syn_seen, side);
  connection.going_on = static_cast<uint8_t>((connection.going_on | 1u << side) & 3u);
  if (connection.going_on != 3) return 0;
  const bool was_refused = connection.tcp_state == TcpState::kRefused;
  if (!was_refused) connection.syn_seen = 0;
  connection.tcp_state = connection.fin_seen != 0 ? TcpState::kHalfClosed : TcpState::kOpen;
  return static_cast<uint8_t>(tcp_event::kRstIgnored | (was_refused ? tcp_event::kEstablished : 0));
}

uint8_t track_fin(Connection& connection, Side side) {
  if (connection.ended()) return 0;
  connection.fin_seen |= 1u << side;
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
  // A SYN/ACK starts one if its SYN was not captured, or was discarded as a stray while the old connection looked
  // alive.
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
  if (was_reset(connection) && !packet.has_tcp_flag(tcp_flag::kRst)) {
    return track_after_rst(connection, packet, side);
  }
  if (!is_syn(packet)) {
    if (packet.has_tcp_flag(tcp_flag::kRst) || !completes_handshake(connection, packet, side)) return 0;
    settle_syn_acks(connection, packet, side);
    connection.tcp_state = TcpState::kOpen;
    return tcp_event::kEstablished;
  }
  return is_syn_ack(packet) ? track_syn_ack(connection, packet, side) : track_syn(connection, packet, side);
}

uint8_t track_progress(Connection& connection, const Packet& packet, Side side) {
  uint8_t events = 0;
  connection.heard |= 1u << side;
  if (packet.has_tcp_flag(tcp_flag::kRst)) {
    events = track_rst(connection, packet, side);
  } else if (connection.tcp_state != TcpState::kReset && (packet.tcp_events & tcp_event::kSynAckConflict) == 0) {
    const bool ends = is_own_fin(connection, packet, side);
    track_sequence(connection, packet, side);
    if (ends) events = track_fin(connection, side);
  }
  if (packet.time_ns > connection.last_seen_ns) connection.last_seen_ns = packet.time_ns;
  return events;
}

}  // namespace tapline
