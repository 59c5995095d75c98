// The share of flows that this monitor can sustain. A query's effective sampling rate is the minimum of its requested
// rate and the rates that the monitor and the pipeline can sustain. One per lane; not thread-safe.
//
// The share is halved while the output stays full or refuses batches, but not before the previous reduction can have
// taken effect. The share is doubled again once the output has stayed empty for a long time. A step down takes half a
// second and a step up ten times that, so the output rarely refuses batches, even while the share alternates around the
// sustainable one.
#pragma once

#include <cstdint>

namespace tapline {

class SamplingLimit {
 public:
  // The minimum share. An output that needs an even lower one is considered blocked, so sampling would not help.
  static constexpr double kLowest = 1.0 / 64;

  // Records the state of the output at `now_ns` (monotonic): the used share of its room, and the number of batches that
  // it has refused since the start. Must be called several times a second.
  void observe(int64_t now_ns, double fill, uint64_t refused);

  // Returns the share, from kLowest to 1.
  double rate() const { return rate_; }

 private:
  static constexpr double kFull = 0.5;
  static constexpr double kEmpty = 0.1;
  static constexpr int64_t kFallAfterNs = 500'000'000;
  static constexpr int64_t kRiseAfterNs = 5'000'000'000;

  double rate_ = 1;
  uint64_t refused_ = 0;
  // The latest times at which the output was not full and at which it was not empty; both are reset to the current time
  // when the rate changes. 0 before the first observation.
  int64_t not_full_at_ns_ = 0;
  int64_t not_empty_at_ns_ = 0;
};

}  // namespace tapline
