#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parsers/queues/passage.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {

struct SequencerOptions {
  // A hop may be captured this much later than others of its queue, because its packet took a longer path or waited in
  // later queues.
  int64_t hold_ns = 100'000'000;
  uint32_t max_hops = 1 << 15;  // hops that wait at a time, 40 bytes each
};

// Each hop is either passed on, late, repeated, or still waiting.
struct SequencerStatistics {
  uint64_t hops = 0;
  uint64_t passed = 0;
  uint64_t late = 0;      // captured after this or a later departure was passed on
  uint64_t repeated = 0;  // copies of a packet whose hop is known
};

// Puts the hops of one queue, as switches report them in packets, in order of departure. Since their paths differ,
// packets do not arrive at the monitor in the order in which they left the switch. One per queue; not thread-safe;
// bounded.
//
// A hop waits until the queue's latest departure, plus the time since that departure's capture, is hold_ns after the
// hop's departure. Only times of the same switch are compared with each other, so the switch's clock may differ from
// the monitor's. If there is no room, the earliest hop is passed on immediately.
//
//   hops_   a heap; earliest departure first, copies next to each other
class HopSequencer {
 public:
  HopSequencer(const SequencerOptions& options, MatchSink* sink)
      : options_{options.hold_ns, std::max(options.max_hops, 1u)}, sink_(sink) {}

  // Adds a hop. view.time_ns is its departure; captured_ns is the time at which the monitor captured the packet, which
  // may run slightly backwards.
  void add(const View& view, int64_t arrival_ns, int64_t captured_ns) {
    ++statistics_.hops;
    now_ns_ = std::max(now_ns_, captured_ns);
    if (hops_.size() == options_.max_hops) pass_first();
    if (view.time_ns <= passed_ns_) {
      ++statistics_.late;
      return sink_->drop(view.tag);
    }
    hops_.push_back({view.time_ns, arrival_ns, view.digest, view.flow_key, view.bytes, view.tag});
    std::push_heap(hops_.begin(), hops_.end());
    if (view.time_ns > latest_ns_) {
      latest_ns_ = view.time_ns;
      latest_captured_ns_ = now_ns_;
    }
    release();
  }

  // Advances the monitor's time in intervals without packets.
  void advance(int64_t now_ns) {
    now_ns_ = std::max(now_ns_, now_ns);
    release();
  }
  void finish() {
    while (!hops_.empty()) pass_first();
  }

  // Returns true if no hop is waiting. A hop that left before the latest one would then be late.
  bool idle() const { return hops_.empty(); }
  // Returns true if no hop is waiting and the latest departure was captured so long ago that every earlier hop would
  // have been captured by now.
  bool quiet() const { return idle() && now_ns_ - latest_captured_ns_ >= options_.hold_ns; }
  const SequencerStatistics& statistics() const { return statistics_; }

 private:
  struct Hop {
    int64_t departure_ns, arrival_ns;
    uint64_t digest;
    uint64_t flow_key;
    uint32_t bytes, tag;
    // std::push_heap puts the largest element first, so an earlier hop compares as larger.
    bool operator<(const Hop& other) const {
      return departure_ns != other.departure_ns ? departure_ns > other.departure_ns : digest > other.digest;
    }
  };

  void release() {
    const int64_t until_ns = latest_ns_ + (now_ns_ - latest_captured_ns_) - options_.hold_ns;
    while (!hops_.empty() && hops_.front().departure_ns <= until_ns) pass_first();
  }

  void pass_first() {
    std::pop_heap(hops_.begin(), hops_.end());
    const Hop hop = hops_.back();
    hops_.pop_back();
    if (hop.departure_ns == passed_ns_ && hop.digest == passed_digest_) {
      ++statistics_.repeated;
      return sink_->drop(hop.tag);
    }
    passed_ns_ = hop.departure_ns;
    passed_digest_ = hop.digest;
    ++statistics_.passed;
    Passage passage = Passage::certain(hop.flow_key, hop.arrival_ns, hop.departure_ns, hop.bytes);
    passage.tag = hop.tag;
    sink_->pass(passage);
  }

  SequencerOptions options_;
  MatchSink* sink_;
  std::vector<Hop> hops_;
  int64_t now_ns_ = INT64_MIN / 4;
  int64_t latest_ns_ = INT64_MIN / 4, latest_captured_ns_ = INT64_MIN / 4;
  int64_t passed_ns_ = INT64_MIN / 4;
  uint64_t passed_digest_ = 0;
  SequencerStatistics statistics_;
};

}  // namespace tapline::queues
