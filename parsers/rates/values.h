#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "parsers/api/tuple.h"

namespace tapline::rates {

// These functions convert bounds and figures to values of optional fields, which are absent if unknown or unbounded.

inline Value bits_value(double bits_per_second) {
  constexpr double kMax = 9e18;
  if (!std::isfinite(bits_per_second)) return Value::absent(FieldType::kU64);
  return Value::u64(static_cast<uint64_t>(std::min(std::round(bits_per_second), kMax)));
}

// Returns the rate as a share of the link's speed. Unknown: NaN or infinity for the rate, 0 for the speed.
inline Value share_value(double bits_per_second, uint64_t link_bits_per_second) {
  if (!std::isfinite(bits_per_second) || link_bits_per_second == 0) return Value::absent(FieldType::kF64);
  return Value::f64(bits_per_second / static_cast<double>(link_bits_per_second));
}

// Returns a tap's name, or an absent value if it is not configured.
inline Value name_value(const std::string& name) {
  return name.empty() ? Value::absent(FieldType::kString) : Value::string(name);
}

// Returns the port of a tap, or else that of the copies (PortInference), or an empty string if both are unknown.
inline std::string port_name(const std::string& of_tap, uint16_t of_copies) {
  return of_tap.empty() && of_copies != 0 ? std::to_string(of_copies) : of_tap;
}

}  // namespace tapline::rates
