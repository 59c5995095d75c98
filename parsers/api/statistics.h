#pragma once

#include <functional>
#include <string_view>

namespace tapline {

// One figure about the running monitor.
struct Statistic {
  std::string_view name;    // as in /metrics, without the prefix: "packets_total"
  std::string_view labels;  // "stage=received", several separated by commas; may be empty
  double value;
};

// Calls `visit` with every figure, or with none while they are being renewed. Never waits.
class StatisticsSource {
 public:
  virtual ~StatisticsSource() = default;
  virtual void for_each(const std::function<void(const Statistic&)>& visit) const = 0;
};

}  // namespace tapline
