// The figures as the parser monitor_stats wants them: put together off the lanes' threads, ready to be told.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "monitors/metrics/monitor_metrics.h"
#include "parsers/api/statistics.h"

namespace tapline {

class StatisticsCache final : public StatisticsSource {
 public:
  // Not from a polling thread.
  void Renew(const MonitorMetrics& metrics);
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
