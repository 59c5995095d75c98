// A metric of the monitor.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tapline {

enum class MetricKind : uint8_t {
  kCounter,  // only grows as long as its labels exist
  kGauge,
};

struct MetricFamily {
  // The name without the prefix "tapline_monitor_", including the unit.
  std::string_view name;
  std::string_view help;
  MetricKind kind;
};

struct MetricLabel {
  std::string_view name;
  std::string value;
};

// Receives all metrics, grouped by family.
using MetricVisitor =
    std::function<void(const MetricFamily& family, std::span<const MetricLabel> labels, double value)>;

}  // namespace tapline
