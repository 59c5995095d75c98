#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "parsers/rates/coverage.h"
#include "parsers/rates/mirror_queue.h"
#include "parsers/rates/sequence_tracker.h"

namespace tapline::rates {

// Rules for grouping samples into bursts (Planck section 3.2.2): a burst ends after a gap, or at its maximum duration.
struct BurstLimits {
  int64_t gap_ns = 200'000;
  int64_t longest_ns = 700'000;

  // Returns the limits for a link. The paper's limits are for 10 Gb/s; on a slower link, packets are further apart.
  static BurstLimits for_link(uint64_t bits_per_second) {
    BurstLimits limits;
    if (bits_per_second == 0) return limits;
    const double factor = 10e9 / static_cast<double>(bits_per_second);
    limits.gap_ns = static_cast<int64_t>(static_cast<double>(limits.gap_ns) * factor);
    limits.longest_ns = static_cast<int64_t>(static_cast<double>(limits.longest_ns) * factor);
    return limits;
  }
};

// The bytes sent between the first packets of two bursts, and the time between these packets.
struct WindowRate {
  Coverage covered;
  Bounded interval_ns;  // excluding the mirror's delay
  uint32_t windows = 0;

  bool known() const { return windows > 0; }

  // Returns the rate on the wire. `link_bits_per_second` bounds the estimate, and is 0 if unknown. REQUIRES: known().
  Bounded bits_per_second(uint64_t link_bits_per_second) const {
    const Bounded bytes = covered.wire_bytes();
    const double link =
        link_bits_per_second == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(link_bits_per_second);
    Bounded rate;
    rate.low = std::min(link, per_second(bytes.low, interval_ns.high));
    rate.high = std::max(rate.low, std::min(link, per_second(bytes.high, interval_ns.low)));
    rate.value = std::clamp(per_second(bytes.value, interval_ns.value), rate.low, rate.high);
    return rate;
  }

 private:
  static double per_second(double bytes, double ns) {
    return ns <= 0 ? std::numeric_limits<double>::infinity() : bytes * 8e9 / ns;
  }
};

// Estimates the rate of one direction of a TCP flow from the first packet of one burst to the first packet of the next:
// (sequence B - sequence A) / (time B - time A). Consecutive windows share their end points, so the sum of several is
// as exact as one. Plain data, zero-initialised. Not thread-safe.
class BurstWindows {
 public:
  // Adds a sample. `progress` is SequenceTracker's result for the sample. Returns true if the sample ended a window.
  // REQUIRES: `queue` has observed the copy.
  bool add(const TcpSample& sample, const Progress& progress, const BurstLimits& limits, const MirrorQueue& queue) {
    switch (progress.step) {
      case Step::kImplausible:
        return false;
      case Step::kStarted:
        closed_ = ended(queue);
        begin(sample, progress, queue);
        chain_begin_ns_ = sample.time_ns;
        chain_begin_ = anchor_;
        open_.add(sample, progress);
        return false;
      case Step::kRepeated:
      case Step::kReordered:
      case Step::kControl:
        open_.add(sample, progress);
        return false;
      case Step::kNext:
      case Step::kHole:
        break;
    }
    const bool ends =
        sample.time_ns - progress.previous_ns >= limits.gap_ns || sample.time_ns - anchor_ns_ >= limits.longest_ns;
    if (ends && sample.time_ns > anchor_ns_) {
      end(sample, progress, queue);
      return true;
    }
    open_.add(sample, progress);
    return false;
  }

  // Adds bytes that the other direction acknowledged but that were not captured (SequenceTracker::acknowledge).
  void add_hole(const Progress& progress) { open_.add_hole(progress); }

  // Returns the sum of the windows that ended since the last call to next().
  WindowRate ended(const MirrorQueue& queue) const {
    WindowRate ended = closed_;
    if (anchor_ns_ > chain_begin_ns_) {
      const Bounded interval = queue.true_interval(anchor_ns_ - chain_begin_ns_, chain_begin_, anchor_);
      ended.interval_ns.value += interval.value;
      ended.interval_ns.low += interval.low;
      ended.interval_ns.high += interval.high;
    }
    return ended;
  }

  void next() {
    closed_ = WindowRate();
    chain_begin_ns_ = anchor_ns_;
    chain_begin_ = anchor_;
  }

  // Returns the traffic of ended(), without its time.
  const Coverage& covered() const { return closed_.covered; }

 private:
  void begin(const TcpSample& sample, const Progress& progress, const MirrorQueue& queue) {
    open_ = Coverage();
    anchor_ns_ = sample.time_ns;
    anchor_ = queue.delay(progress);
  }

  void end(const TcpSample& sample, const Progress& progress, const MirrorQueue& queue) {
    // The hole belongs to this window, the sample to the next.
    open_.add_hole(progress);
    closed_.covered += open_;
    ++closed_.windows;
    begin(sample, progress, queue);
    Progress rest = progress;
    rest.new_bytes = progress.new_bytes - progress.hole_bytes;
    rest.missed_packets = rest.min_missed_packets = 0;
    open_.add(sample, rest);
  }

  int64_t anchor_ns_ = 0;  // time of the open burst's first packet
  QueueDelay anchor_;      // delay of that packet
  int64_t chain_begin_ns_ = 0;
  QueueDelay chain_begin_;
  Coverage open_;  // samples since the anchor, inclusive
  WindowRate closed_;
};

}  // namespace tapline::rates
