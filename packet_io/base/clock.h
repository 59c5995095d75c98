// The clocks of the host, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

#include "parsers/api/time.h"

namespace tapline {

inline int64_t ReadClock(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// For timeouts and pacing.
inline int64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }
// Since the epoch: packet time of live captures.
inline int64_t WallNs() { return ReadClock(CLOCK_REALTIME); }
inline int64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

inline timespec ToTimespec(int64_t ns) { return {ns / kNsPerSecond, ns % kNsPerSecond}; }

inline void SleepUntil(int64_t monotonic_ns) {
  const timespec until = ToTimespec(monotonic_ns);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace tapline
