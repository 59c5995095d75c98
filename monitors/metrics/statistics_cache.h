// The metrics in the form that the parser monitor_stats reads, assembled outside the lanes' threads.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "monitors/metrics/monitor_metrics.h"
#include "parsers/api/statistics.h"

namespace tapline {

class StatisticsCache final : public StatisticsSource {
 public:
  // Replaces the metrics. Must not be called on a polling thread.
  void renew(const MonitorMetrics& metrics);
  void for_each(const std::function<void(const Statistic&)>& visit) const override;

 private:
  struct Figure {
    std::string_view name;
    std::string labels;
    double value;
  };
  mutable std::mutex mutex_;
  std::vector<Figure> figures_;
};

}  // namespace tapline
