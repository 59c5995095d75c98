#pragma once

#include <cstdint>
#include <vector>

#include "parsers/api/connection.h"
#include "parsers/api/parser.h"
#include "parsers/engine/chunk_pool.h"

namespace tapline {

// Receives the reassembled bytes. on_data() and on_gap() return true if the receiver wants more of the connection.
class StreamReceiver {
 public:
  virtual ~StreamReceiver() = default;
  virtual bool on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment) = 0;
  // Reports bytes that were not captured. `reason` is why the reassembler stopped waiting for them.
  virtual bool on_gap(Connection& connection, Side side, uint64_t bytes, const Segment& segment, LossReason reason) = 0;
  virtual void on_stream_end(Connection& connection, Side side, StreamEnd end, int64_t time_ns) = 0;
};

// Puts TCP payload in order (RFC 9293) as far as a tap can. If copies overlap, the first one captured is used. The
// sender will not repeat bytes that the receiver has acknowledged, so if such bytes were not captured, they are a gap.
//
//   delivered ──────────▶│◀─ hole ─▶│ chunk │◀─ hole ─▶│ chunk │ chunk │
//                     next_seq
//
// In-order data goes directly from the packet to the receiver. Out-of-order data waits in chunks, which are bounded per
// flow and in total. A hole is skipped when
//  - the other side has acknowledged its bytes, and it is still open kMaxHolePackets packets or kStaleHoleNs later (a
//    mirror may deliver packets a few places late),
//  - it has been open for kHoleTimeoutNs (captures of one direction have no acknowledgements),
//  - the buffers are full, or the connection ends.
// Not thread-safe. State is allocated with the first payload, so connections without payload cost nothing.
class Reassembler {
 public:
  static constexpr uint32_t kMaxHolePackets = 32;
  static constexpr int64_t kStaleHoleNs = 200'000'000;
  static constexpr int64_t kHoleTimeoutNs = 5'000'000'000;

  Reassembler(uint64_t max_bytes, uint32_t max_flow_bytes, StreamReceiver* receiver);

  // Processes a packet's payload and flags. Must be called before the packet advances connection.seq_end. REQUIRES: a
  // TCP packet whose `connection` is set.
  void add(const Packet& packet, Side side);
  // Ends the streams of both sides, after delivering their waiting data and gaps.
  void finish(Connection& connection, StreamEnd end, int64_t time_ns);
  // Drops the state of a connection that no parser wants, without delivering its data.
  void abandon(Connection& connection);

  uint64_t buffered_bytes() const { return uint64_t{pool_.in_use()} * Chunk::kBytes; }

 private:
  // One direction of a stream. All sequence numbers are compared modulo 2^32.
  struct Half {
    uint64_t offset;        // stream offset of next_seq
    int64_t hole_since_ns;  // time at which data first waited after the hole
    uint32_t next_seq;      // next byte to deliver
    uint32_t acked;         // highest acknowledgement from the other side
    uint32_t fin_seq;       // the sequence number after the last byte, if fin_known is set
    uint32_t head;          // first waiting chunk; the chunks are in order and do not overlap
    uint32_t chunks;
    uint32_t acked_packets;  // packets of the connection since the other side acknowledged beyond next_seq
    int64_t acked_since_ns;
    bool known;
    bool acked_known;
    bool fin_known;
    bool ended;
  };
  struct Stream {
    Half half[2];
    uint32_t next_free;
  };
  // Consecutive bytes of payload. `bytes` is null if they were not captured.
  struct Piece {
    uint32_t seq;
    uint32_t length;
    const uint8_t* bytes;
    Segment segment;
  };

  Stream& stream_of(const Connection& connection) { return streams_[connection.stream]; }
  void open(Connection& connection, const Packet& packet, Side side);
  void release(Connection& connection);
  Segment segment_of(Connection& connection, const Packet& packet, Side side);
  void note_ack(Half& half, const Packet& packet);
  void note_fin(Half& half, const Packet& packet);
  void payload(Connection& connection, Side side, Piece piece);
  void in_order(Connection& connection, Side side, Piece piece);
  bool deliver(Connection& connection, Side side, const Piece& piece);
  bool deliver_head(Connection& connection, Side side);
  void drain(Connection& connection, Side side);
  void buffer(Connection& connection, Side side, Piece piece);
  uint32_t store(Connection& connection, Side side, const Piece& piece);
  bool skip_hole(Connection& connection, Side side, LossReason reason);
  void discard_stale_hole(Connection& connection, Side side, int64_t time_ns);
  void note_missing(Connection& connection);
  void end_if_complete(Connection& connection, Side side, int64_t time_ns);
  void finish_side(Connection& connection, Side side, StreamEnd end, int64_t time_ns);

  ChunkPool pool_;
  uint32_t max_flow_chunks_;
  StreamReceiver* receiver_;
  std::vector<Stream> streams_;  // entry 0 is unused; grows to the peak number of concurrent connections with payload
  uint32_t free_head_ = 0;
};

}  // namespace tapline
