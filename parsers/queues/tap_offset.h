#pragma once

#include <algorithm>
#include <cstdint>

namespace tapline::queues {

// Measures the constant part of departure minus arrival: the difference between the two taps' clocks and paths, plus
// the transmission time of the smallest packet. A packet that finds the queue empty shows this constant, and any other
// packet takes longer, so the constant is the minimum. Keeps the minimum of two windows, to follow clock drift.
//
// The offset is correct once a packet has found the queue empty, and stays correct if a packet does so in each window.
class TapOffset {
 public:
  explicit TapOffset(int64_t window_ns) : window_ns_(window_ns) {}

  void observe(int64_t arrival_ns, int64_t departure_ns) {
    if (departure_ns - window_start_ns_ >= window_ns_) {
      previous_ns_ = departure_ns - window_start_ns_ >= 2 * window_ns_ ? INT64_MAX : current_ns_;
      current_ns_ = INT64_MAX;
      window_start_ns_ = departure_ns;
    }
    current_ns_ = std::min(current_ns_, departure_ns - arrival_ns);
    ++samples_;
  }

  // Returns the offset, or 0 before the first sample.
  int64_t offset_ns() const { return samples_ == 0 ? 0 : std::min(current_ns_, previous_ns_); }
  uint64_t samples() const { return samples_; }

 private:
  int64_t window_ns_;
  int64_t window_start_ns_ = 0;
  int64_t current_ns_ = INT64_MAX, previous_ns_ = INT64_MAX;
  uint64_t samples_ = 0;
};

}  // namespace tapline::queues
