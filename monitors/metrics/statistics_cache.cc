#include "monitors/metrics/statistics_cache.h"

namespace tapline {

void StatisticsCache::renew(const MonitorMetrics& metrics) {
  std::vector<Figure> figures;
  metrics.for_each([&](const MetricFamily& family, std::span<const MetricLabel> labels, double value) {
    std::string text;
    for (const MetricLabel& label : labels) {
      text += (text.empty() ? "" : ",") + std::string(label.name) + "=" + label.value;
    }
    figures.push_back({family.name, std::move(text), value});
  });
  std::lock_guard lock(mutex_);
  figures_.swap(figures);
}

void StatisticsCache::for_each(const std::function<void(const Statistic&)>& visit) const {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  for (const Figure& figure : figures_) visit({figure.name, figure.labels, figure.value});
}

}  // namespace tapline
