// The clocks of the host, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

#include "parsers/api/time.h"

namespace tapline {

inline int64_t read_clock(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// Returns the monotonic time, which timeouts and pacing use.
inline int64_t monotonic_ns() { return read_clock(CLOCK_MONOTONIC); }
// Returns the time since the epoch, which is packet time in live captures.
inline int64_t wall_ns() { return read_clock(CLOCK_REALTIME); }
inline int64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

inline timespec to_timespec(int64_t ns) { return {ns / kNsPerSecond, ns % kNsPerSecond}; }

inline void sleep_for(int64_t duration_ns) {
  const timespec duration = to_timespec(duration_ns);
  nanosleep(&duration, nullptr);
}

inline void sleep_until(int64_t monotonic_ns) {
  const timespec until = to_timespec(monotonic_ns);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace tapline
