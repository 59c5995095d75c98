// The two clocks of the host, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace tapline {

inline int64_t ReadClock(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// For timeouts and pacing.
inline int64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }
// Since the epoch: packet time of live captures.
inline int64_t WallNs() { return ReadClock(CLOCK_REALTIME); }

}  // namespace tapline
