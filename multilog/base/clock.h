// Clocks in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace tapline::multilog {

inline int64_t ClockNs(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

inline void SleepUntil(int64_t monotonic_ns) {
  const timespec until{monotonic_ns / 1000000000, monotonic_ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace tapline::multilog
