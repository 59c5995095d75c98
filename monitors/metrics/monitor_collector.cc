#include "monitors/metrics/monitor_collector.h"

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace tapline {
namespace {

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(const MonitorMetrics& metrics) : metrics_(metrics) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    metrics_.for_each([&](const MetricFamily& family, std::span<const MetricLabel> labels, double value) {
      const std::string name = "tapline_monitor_" + std::string(family.name);
      if (families.empty() || families.back().name != name) {
        const bool counter = family.kind == MetricKind::kCounter;
        families.push_back({name,
                            std::string(family.help),
                            counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
                            {}});
      }
      prometheus::ClientMetric& metric = families.back().metric.emplace_back();
      for (const MetricLabel& label : labels) metric.label.push_back({std::string(label.name), label.value});
      metric.counter.value = metric.gauge.value = value;
    });
    return families;
  }

 private:
  const MonitorMetrics& metrics_;
};

}  // namespace

std::unique_ptr<prometheus::Collectable> collector_of(const MonitorMetrics& metrics) {
  return std::make_unique<Collector>(metrics);
}

}  // namespace tapline
