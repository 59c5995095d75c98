#include "parsers/engine/reassembler.h"

#include <algorithm>
#include <cstring>

#include "parsers/api/sequence.h"

namespace tapline {
namespace {

// Data farther than this ahead of the delivered bytes are ignored unless the other side has acknowledged that far.
constexpr int32_t kMaxAheadBytes = 1 << 26;

bool before(uint32_t a, uint32_t b) { return sequence_distance(a, b) > 0; }

}  // namespace

Reassembler::Reassembler(uint64_t max_bytes, uint32_t max_flow_bytes, StreamReceiver* receiver)
    : pool_(max_bytes),
      max_flow_chunks_(std::max(1u, max_flow_bytes / Chunk::kBytes)),
      receiver_(receiver),
      streams_(1) {}

void Reassembler::add(const Packet& packet, Side side) {
  Connection& connection = *packet.connection;
  // A RST may carry diagnostic data, which are not part of the stream (RFC 9293 section 3.5.3).
  const bool has_data = packet.payload_bytes > 0 && !packet.has_tcp_flag(tcp_flag::kRst);
  if (connection.stream == 0) {
    if (!has_data) return;
    open(connection, packet, side);
  }
  Half& sender = stream_of(connection).half[side];
  if (!sender.known) {
    sender.next_seq = packet.tcp_seq + (packet.has_tcp_flag(tcp_flag::kSyn) ? 1 : 0);
    sender.known = true;
  }
  if (packet.has_tcp_flag(tcp_flag::kAck)) note_ack(stream_of(connection).half[other_side(side)], packet);
  if (has_data) {
    const uint32_t seq = packet.tcp_seq + (packet.has_tcp_flag(tcp_flag::kSyn) ? 1 : 0);
    const Segment segment = segment_of(connection, packet, side);
    const uint32_t captured = packet.payload_captured_bytes;
    if (captured > 0) payload(connection, side, {seq, captured, packet.data + packet.payload_offset, segment});
    if (connection.stream != 0 && captured < packet.payload_bytes) {
      payload(connection, side, {seq + captured, packet.payload_bytes - captured, nullptr, segment});
    }
  }
  if (connection.stream == 0) return;
  if (packet.has_tcp_flag(tcp_flag::kFin)) note_fin(stream_of(connection).half[side], packet);
  for (const Side current : {side, other_side(side)}) {
    if (connection.stream != 0) discard_stale_hole(connection, current, packet.time_ns);
    if (connection.stream != 0) end_if_complete(connection, current, packet.time_ns);
  }
  if (connection.stream != 0) note_missing(connection);
}

// Opens the streams of both sides, each at seq_end: after its SYN, at the other side's first acknowledgement if no SYN
// was captured, or in mid-stream, if parsers want the connection only now.
void Reassembler::open(Connection& connection, const Packet& packet, Side side) {
  uint32_t index = free_head_;
  if (index != 0) {
    free_head_ = streams_[index].next_free;
  } else {
    index = static_cast<uint32_t>(streams_.size());
    streams_.emplace_back();
  }
  streams_[index] = Stream{};
  connection.stream = index;
  for (const Side current : {Side{0}, Side{1}}) {
    Half& half = streams_[index].half[current];
    half.known = (connection.seq_known >> current & 1) != 0;
    half.next_seq = connection.seq_end[current];
    // A stream that was joined in the middle begins with this packet, even if its data had been acknowledged before.
    const bool is_first = current == side && half.known && before(packet.tcp_seq, half.next_seq);
    if (is_first && !connection.start_known(current)) half.next_seq = packet.tcp_seq;
  }
}

void Reassembler::release(Connection& connection) {
  Stream& stream = stream_of(connection);
  for (Half& half : stream.half) {
    while (half.head != 0) {
      const uint32_t index = half.head;
      half.head = pool_.at(index).next;
      pool_.give_back(index);
    }
  }
  stream.next_free = free_head_;
  free_head_ = connection.stream;
  connection.stream = 0;
}

void Reassembler::abandon(Connection& connection) {
  if (connection.stream != 0) release(connection);
}

// Computes peer_offset from the packet's own acknowledgement, not the highest one seen: when a late packet was sent,
// its sender had not yet received the data that the highest one acknowledges.
Segment Reassembler::segment_of(Connection& connection, const Packet& packet, Side side) {
  const Half& peer = stream_of(connection).half[other_side(side)];
  Segment segment{.time_ns = packet.time_ns, .offset = 0, .peer_offset = 0, .peer_offset_known = false};
  const bool believed = peer.acked_known && peer.known && !before(peer.acked, packet.tcp_ack);
  if (!packet.has_tcp_flag(tcp_flag::kAck) || !believed) return segment;
  // A negative offset is forged or refers to data before the first byte seen. In both cases, the packet's sender had
  // received none of the known stream.
  const int64_t offset = static_cast<int64_t>(peer.offset) + sequence_distance(peer.next_seq, packet.tcp_ack);
  segment.peer_offset_known = true;
  segment.peer_offset = static_cast<uint64_t>(std::max<int64_t>(offset, 0));
  return segment;
}

void Reassembler::note_ack(Half& half, const Packet& packet) {
  const uint32_t ack = packet.tcp_ack;
  if (!half.known) {
    half.known = true;
    half.next_seq = ack;
  }
  if (!half.acked_known || before(half.acked, ack)) {
    // A bogus acknowledgement must not open a hole.
    if (sequence_distance(half.next_seq, ack) > kMaxAheadBytes) return;
    half.acked = ack;
    half.acked_known = true;
  }
  if (!before(half.next_seq, half.acked)) return;
  if (half.acked_packets == 0) half.acked_since_ns = packet.time_ns;
}

// Records where the stream ends. A FIN outside the window changes nothing (RFC 9293 section 3.10.7.4). If the FIN's
// acknowledgement was captured first, the FIN may be one byte behind next_seq.
void Reassembler::note_fin(Half& half, const Packet& packet) {
  const uint32_t end = packet.tcp_seq + packet.payload_bytes + (packet.has_tcp_flag(tcp_flag::kSyn) ? 1 : 0);
  const int32_t ahead = sequence_distance(half.next_seq, end);
  const bool acked = half.acked_known && !before(half.acked, end);
  if (ahead < -1 || (ahead > kMaxAheadBytes && !acked)) return;
  half.fin_known = true;
  half.fin_seq = end;
}

void Reassembler::payload(Connection& connection, Side side, Piece piece) {
  Half& half = stream_of(connection).half[side];
  if (half.ended) return;
  const int32_t ahead = sequence_distance(half.next_seq, piece.seq);
  if (ahead <= 0) {
    const uint32_t old = static_cast<uint32_t>(-static_cast<int64_t>(ahead));
    if (old >= piece.length) return;
    piece.seq += old;
    piece.length -= old;
    if (piece.bytes != nullptr) piece.bytes += old;
    return in_order(connection, side, piece);
  }
  const bool believed = ahead <= kMaxAheadBytes || (half.acked_known && !before(half.acked, piece.seq));
  if (believed) buffer(connection, side, piece);
}

// Delivers a piece that is next in order. Where it overlaps waiting chunks, the chunks' bytes are used, since they
// arrived first.
void Reassembler::in_order(Connection& connection, Side side, Piece piece) {
  while (piece.length > 0) {
    const Half& half = stream_of(connection).half[side];
    const uint32_t head = half.head;
    const uint32_t until_head = head == 0 ? piece.length : pool_.at(head).seq - piece.seq;
    Piece front = piece;
    front.length = std::min(piece.length, until_head);
    if (front.length > 0 && !deliver(connection, side, front)) return;
    uint32_t covered = front.length;
    if (covered < piece.length) {
      covered += std::min(pool_.at(head).length, piece.length - covered);
      if (!deliver_head(connection, side)) return;
    }
    piece.seq += covered;
    piece.length -= covered;
    if (piece.bytes != nullptr) piece.bytes += covered;
  }
  drain(connection, side);
}

// Returns false if no parser wants the connection any longer; its stream has then been freed.
bool Reassembler::deliver(Connection& connection, Side side, const Piece& piece) {
  Half& half = stream_of(connection).half[side];
  Segment segment = piece.segment;
  segment.offset = half.offset;
  half.offset += piece.length;
  half.next_seq += piece.length;
  half.acked_packets = 0;
  half.hole_since_ns = 0;
  const bool is_wanted = piece.bytes == nullptr
                             ? receiver_->on_gap(connection, side, piece.length, segment, LossReason::kGap)
                             : receiver_->on_data(connection, side, {piece.bytes, piece.length}, segment);
  if (!is_wanted) release(connection);
  return is_wanted;
}

bool Reassembler::deliver_head(Connection& connection, Side side) {
  Half& half = stream_of(connection).half[side];
  const uint32_t index = half.head;
  const Chunk& chunk = pool_.at(index);
  half.head = chunk.next;
  --half.chunks;
  const Piece piece{chunk.seq, chunk.length, chunk.missing ? nullptr : chunk.data,
                    Segment{chunk.time_ns, 0, chunk.peer_offset, chunk.peer_offset_known}};
  const bool is_wanted = deliver(connection, side, piece);
  pool_.give_back(index);
  return is_wanted;
}

void Reassembler::drain(Connection& connection, Side side) {
  while (true) {
    Half& half = stream_of(connection).half[side];
    if (half.head == 0 || pool_.at(half.head).seq != half.next_seq) {
      if (half.head != 0) half.hole_since_ns = pool_.at(half.head).time_ns;
      return;
    }
    if (!deliver_head(connection, side)) return;
  }
}

// Inserts the parts of the piece that no waiting chunk covers.
void Reassembler::buffer(Connection& connection, Side side, Piece piece) {
  uint32_t previous = 0;
  while (piece.length > 0 && connection.stream != 0) {
    Half& half = stream_of(connection).half[side];
    uint32_t following = previous == 0 ? half.head : pool_.at(previous).next;
    while (following != 0 && !before(piece.seq, pool_.at(following).seq)) {
      previous = following;
      following = pool_.at(following).next;
    }
    if (previous != 0) {
      const Chunk& chunk = pool_.at(previous);
      const int32_t covered = sequence_distance(piece.seq, chunk.seq + chunk.length);
      if (covered > 0) {
        const uint32_t cut = std::min(static_cast<uint32_t>(covered), piece.length);
        piece.seq += cut;
        piece.length -= cut;
        if (piece.bytes != nullptr) piece.bytes += cut;
        continue;
      }
    }
    Piece part = piece;
    if (following != 0) part.length = std::min(part.length, pool_.at(following).seq - part.seq);
    if (part.bytes != nullptr) part.length = std::min(part.length, Chunk::kDataBytes);
    const uint32_t index = store(connection, side, part);
    if (index == 0) {
      // Skipping a hole has freed room, and may have delivered the data before the piece.
      if (connection.stream != 0) payload(connection, side, piece);
      return;
    }
    Half& now = stream_of(connection).half[side];
    if (now.head == 0) now.hole_since_ns = part.segment.time_ns;
    pool_.at(index).next = following;
    (previous == 0 ? now.head : pool_.at(previous).next) = index;
    previous = index;
    piece.seq += part.length;
    piece.length -= part.length;
    if (piece.bytes != nullptr) piece.bytes += part.length;
  }
}

// Stores the piece in a chunk and returns its index. If there is no room, skips the hole before the first waiting chunk
// or, if no chunk is waiting, the hole before the piece, and returns 0.
uint32_t Reassembler::store(Connection& connection, Side side, const Piece& piece) {
  Half& half = stream_of(connection).half[side];
  const bool flow_full = half.chunks >= max_flow_chunks_;
  const uint32_t index = flow_full ? 0 : pool_.take();
  if (index == 0) {
    const LossReason reason = flow_full ? LossReason::kReassemblyFlowFull : LossReason::kReassemblyTotalFull;
    if (half.head != 0) {
      skip_hole(connection, side, reason);
    } else {
      Segment segment = piece.segment;
      segment.offset = half.offset;
      const uint32_t hole = piece.seq - half.next_seq;
      half.offset += hole;
      half.next_seq = piece.seq;
      if (!receiver_->on_gap(connection, side, hole, segment, reason)) release(connection);
    }
    return 0;
  }
  Chunk& chunk = pool_.at(index);
  chunk.time_ns = piece.segment.time_ns;
  chunk.peer_offset = piece.segment.peer_offset;
  chunk.peer_offset_known = piece.segment.peer_offset_known;
  chunk.seq = piece.seq;
  chunk.length = piece.length;
  chunk.missing = piece.bytes == nullptr;
  if (!chunk.missing) std::memcpy(chunk.data, piece.bytes, piece.length);
  ++half.chunks;
  return index;
}

// Skips the bytes before the first waiting chunk, then delivers the data after them. Returns false if the stream has
// been freed.
bool Reassembler::skip_hole(Connection& connection, Side side, LossReason reason) {
  Half& half = stream_of(connection).half[side];
  const Chunk& chunk = pool_.at(half.head);
  const uint32_t hole = chunk.seq - half.next_seq;
  const Segment segment{chunk.time_ns, half.offset, chunk.peer_offset, chunk.peer_offset_known};
  half.offset += hole;
  half.next_seq = chunk.seq;
  if (hole > 0 && !receiver_->on_gap(connection, side, hole, segment, reason)) {
    release(connection);
    return false;
  }
  drain(connection, side);
  return connection.stream != 0;
}

void Reassembler::discard_stale_hole(Connection& connection, Side side, int64_t time_ns) {
  while (connection.stream != 0) {
    Half& half = stream_of(connection).half[side];
    const bool acked_beyond = half.acked_known && before(half.next_seq, half.acked);
    if (!acked_beyond) half.acked_packets = 0;
    if (half.head == 0) {
      if (acked_beyond) ++half.acked_packets;
      return;
    }
    const bool acked_hole = acked_beyond && !before(half.acked, pool_.at(half.head).seq);
    const bool patient = half.acked_packets < kMaxHolePackets && time_ns - half.acked_since_ns < kStaleHoleNs;
    if (acked_beyond) ++half.acked_packets;
    const bool stale = time_ns - half.hole_since_ns >= kHoleTimeoutNs;
    if (!stale && (!acked_hole || patient)) return;
    // The wait for one hole also counts for all other holes that the same acknowledgement covers.
    const uint32_t packets = half.acked_packets;
    if (!skip_hole(connection, side, LossReason::kGap)) return;
    Half& after = stream_of(connection).half[side];
    if (after.head != 0 && before(after.next_seq, after.acked)) after.acked_packets = packets;
  }
}

// Updates connection.missing. An acknowledgement just one byte beyond next_seq may be for a FIN that was not captured.
void Reassembler::note_missing(Connection& connection) {
  const Half* half = stream_of(connection).half;
  const auto missing = [&](Side side) {
    return half[side].acked_known && before(half[side].next_seq + 1, half[side].acked);
  };
  connection.missing = static_cast<uint8_t>(missing(0) | missing(1) << 1);
}

void Reassembler::end_if_complete(Connection& connection, Side side, int64_t time_ns) {
  Half& half = stream_of(connection).half[side];
  if (half.ended || !half.fin_known || half.head != 0 || before(half.next_seq, half.fin_seq)) return;
  half.ended = true;
  receiver_->on_stream_end(connection, side, StreamEnd::kFin, time_ns);
}

void Reassembler::finish(Connection& connection, StreamEnd end, int64_t time_ns) {
  for (const Side side : {Side{0}, Side{1}}) {
    if (connection.stream != 0) finish_side(connection, side, end, time_ns);
  }
  if (connection.stream != 0) release(connection);
}

void Reassembler::finish_side(Connection& connection, Side side, StreamEnd end, int64_t time_ns) {
  while (stream_of(connection).half[side].head != 0) {
    if (!skip_hole(connection, side, LossReason::kGap)) return;
  }
  Half& half = stream_of(connection).half[side];
  if (half.ended) return;
  half.ended = true;
  // The FIN or an acknowledgement proves that these bytes were sent, although they were not captured. An
  // acknowledgement just one byte beyond next_seq may be for a FIN that was not captured.
  uint32_t last = half.next_seq;
  if (half.acked_known && before(last + 1, half.acked)) last = half.acked;
  if (half.fin_known) last = half.fin_seq;
  if (before(half.next_seq, last)) {
    const Segment segment{time_ns, half.offset, 0, false};
    const uint32_t hole = last - half.next_seq;
    half.offset += hole;
    half.next_seq = last;
    if (!receiver_->on_gap(connection, side, hole, segment, LossReason::kGap)) return release(connection);
  }
  const bool finned = half.fin_known && !before(half.fin_seq, half.next_seq);
  receiver_->on_stream_end(connection, side, finned ? StreamEnd::kFin : end, time_ns);
}

}  // namespace tapline
