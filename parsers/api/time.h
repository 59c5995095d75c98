// Times and durations are signed nanoseconds; times count from the epoch.
#pragma once

#include <cstdint>

namespace tapline {

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace tapline
