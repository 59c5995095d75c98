// The share of flows that this monitor can get rid of: its part of a query's effective sampling rate
// min(what the query allows, what the monitor can take, what the pipeline can take). One per lane; not thread-safe.
//
// It halves while the way out stays full or refuses batches, each time only once the last fall can have shown, and
// doubles again when the way out has stayed empty for long: falling takes half a second a step, rising ten times that,
// so that it settles below what can be taken instead of swinging about it.
#pragma once

#include <cstdint>

namespace tapline {

class SamplingLimit {
 public:
  // Below this, sampling does not help: the way out is closed.
  static constexpr double kLowest = 1.0 / 64;

  // What was seen of the way out, at `now_ns` (monotonic): which share of its room is taken, and how many batches it
  // has refused since the start. To be called several times a second.
  void Observe(int64_t now_ns, double fill, uint64_t refused);

  // kLowest to 1.
  double rate() const { return rate_; }

 private:
  static constexpr double kFull = 0.5;
  static constexpr double kEmpty = 0.1;
  static constexpr int64_t kFallAfterNs = 500'000'000;
  static constexpr int64_t kRiseAfterNs = 5'000'000'000;

  double rate_ = 1;
  uint64_t refused_ = 0;
  // Since when it is neither less full, nor less empty, nor at another rate; 0 before the first observation.
  int64_t not_full_at_ns_ = 0;
  int64_t not_empty_at_ns_ = 0;
};

}  // namespace tapline
