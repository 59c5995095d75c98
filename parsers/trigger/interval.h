#pragma once

#include <cstdint>

namespace tapline::trigger {

enum class Presence : uint8_t { kAbsent, kUnknown, kPresent };

// A value between two bounds. The bounds differ if packets were counted together, as in bursts and in groups without
// separate counters, or if a sketch estimates the value.
struct Interval {
  double low = 0;
  double high = 0;
  Presence presence = Presence::kPresent;

  static Interval absent() { return {0, 0, Presence::kAbsent}; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

}  // namespace tapline::trigger
