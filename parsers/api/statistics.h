#pragma once

#include <functional>
#include <string_view>

namespace tapline {

// One metric of the running monitor.
struct Statistic {
  std::string_view name;    // as in /metrics, without the prefix: "packets_total"
  std::string_view labels;  // "stage=received", comma-separated; may be empty
  double value;
};

// Calls `visit` with every metric, or with none while an update is in progress. Never waits.
class StatisticsSource {
 public:
  virtual ~StatisticsSource() = default;
  virtual void for_each(const std::function<void(const Statistic&)>& visit) const = 0;
};

}  // namespace tapline
