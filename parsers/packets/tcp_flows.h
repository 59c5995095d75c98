#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "parsers/engine/zeroed_array.h"
#include "parsers/packets/sample.h"
#include "parsers/packets/tcp_facts.h"

namespace tapline {

struct TcpFlowOptions {
  uint32_t max_flows = 1 << 20;  // a power of two, at least 4; a flow takes 136 bytes once it is used, 200 with holes
  // A hole that is filled within this time counts as reordering; one that is filled later, as a retransmission.
  int64_t reorder_ns = 3'000'000;
  // The windows of in_flight_bytes and unacked_bytes, aligned to the epoch. 0: both stay zero.
  int64_t window_ns = 0;
};

// Samples with their facts, and the corrections that they cause.
struct SampleBatch {
  static constexpr size_t kMax = 128;
  size_t size = 0;
  std::array<Sample, kMax> samples;
  std::array<TcpFacts, kMax> facts;

  std::span<const Sample> all_samples() const { return {samples.data(), size}; }
  std::span<const TcpFacts> all_facts() const { return {facts.data(), size}; }
};

// Determines the facts of TCP segments from the sequence numbers of both directions (RFC 9293; they wrap).
//
// State begins with a connection's first payload, so SYNs create none. The table is bounded: a new connection may
// replace the entry, among a few, that has been silent the longest; replacements are counted. If the replaced
// connection continues, it is treated as joined in mid-stream: bytes that were sent before are not known to be
// retransmitted.
//
//   places (sets of four)                           flows, two cache lines each                    holes, one line
//   ┌─────────────┬────────────────────────┐        ┌─────┬──────────────────┬──────────────────┐  ┌───────┬───────┐
//   │ 4 tags (32) │ 4 times last seen (ms) │ ─────▶ │ key │ one side's state │ the other side's │─▶│ 2 + 2 holes   │
//   └─────────────┴────────────────────────┘        └─────┴──────────────────┴──────────────────┘  └───────┴───────┘
//
// Holes are separate because few flows have any: in a table of a million flows, each cache line is fetched from memory.
//
// One per lane; not thread-safe.
class TcpFlows {
 public:
  static constexpr size_t kBurst = SampleBatch::kMax / 2;

  explicit TcpFlows(const TcpFlowOptions& options);

  // Sets the batch to the samples with their facts. A packet that changes the other direction's facts (an ACK, or the
  // first packet in a window) is followed by a correction for that direction. REQUIRES: at most kBurst samples, with
  // the numbers of each.
  void observe(std::span<const Sample> samples, std::span<const TcpNumbers> numbers, SampleBatch* batch);

  uint64_t flows() const { return flows_; }
  uint64_t evicted_flows() const { return evicted_flows_; }
  // Returns the number of holes that were dropped because another one began and the side already had kHoles of them.
  // Bytes that fill a dropped hole count as retransmitted.
  uint64_t forgotten_holes() const { return forgotten_holes_; }

 private:
  static constexpr uint32_t kWays = 4;
  static constexpr int kHoles = 2;
  struct Hole {
    uint32_t begin, end;  // equal if there is no hole
    int64_t since_ns;
  };
  // The data that one side has sent and the other has acknowledged.
  struct SideState {
    uint32_t seq_end;            // number after the highest byte seen
    uint32_t acked;              // the highest acknowledgement
    uint32_t restart_at;         // the first byte after the latest SYN
    uint32_t measured_end;       // rtt_ns is measured when this is acknowledged
    uint32_t window_mark;        // seq_end at the end of the last window
    uint32_t last_sent_ms : 27;  // time of the latest payload; wraps after a day and a half
    bool seq_known : 1;
    bool ack_known : 1;
    bool syn_seen : 1;
    bool measuring : 1;
    bool has_holes : 1;  // false: the side's holes are not set
    int64_t measured_ns;
  };
  struct alignas(64) Flow {
    uint64_t key[kKeyWords];
    int64_t window;
    SideState sides[2];
  };
  static_assert(sizeof(Flow) == 128, "two cache lines");
  // The data that one side has sent, with its holes.
  struct Sender {
    SideState* state;
    Hole* holes;
  };
  struct Places {
    uint32_t tags[kWays];  // 0: free
    uint32_t last_seen_ms[kWays];
  };
  struct Key {
    uint64_t words[kKeyWords];
    uint64_t hash;
    int side;  // the sender's side
  };

  Key key_of(const Sample& sample) const;
  Places* places(uint64_t hash) const { return reinterpret_cast<Places*>(places_.data()) + (hash & set_mask_); }
  Flow* flow(uint64_t hash, uint32_t way) const {
    return reinterpret_cast<Flow*>(flow_memory_.data()) + (hash & set_mask_) * kWays + way;
  }
  Sender sender(Flow* flow, int side) const;
  Flow* find(const Key& key, int64_t time_ns) const;
  Flow* add(const Key& key, int64_t time_ns);
  void observe_one(const Key& key, const Sample& sample, const TcpNumbers& numbers, SampleBatch* batch);
  void begin_window(Flow* flow, int side, int64_t window, TcpFacts* own, TcpFacts* peer_facts) const;
  static bool is_keep_alive(const SideState& side, uint32_t seq, const Sample& sample);
  void send(const Sender& sender, uint32_t seq, const Sample& sample, TcpFacts* facts);
  static void start(SideState* side, uint32_t seq);
  void fill(const Sender& sender, uint32_t begin, uint32_t end, int64_t time_ns, TcpFacts* facts);
  void add_hole(const Sender& sender, uint32_t begin, uint32_t end, int64_t time_ns);
  static void acknowledge(SideState* sent, uint32_t ack, int64_t time_ns, TcpFacts* own, TcpFacts* peer_facts);

  TcpFlowOptions options_;
  uint64_t set_mask_;
  uint64_t hash_key_[8];
  ZeroedArray places_;
  ZeroedArray flow_memory_;
  ZeroedArray hole_memory_;
  std::array<Key, kBurst> keys_;
  uint64_t flows_ = 0;
  uint64_t evicted_flows_ = 0;
  uint64_t forgotten_holes_ = 0;
};

}  // namespace tapline
