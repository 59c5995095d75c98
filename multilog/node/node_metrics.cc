#include "multilog/node/node_metrics.h"

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace tapline::multilog {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric metric(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = metric.gauge.value = value;
  return metric;
}

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(HostNode* node) : node_(node) {}

  std::vector<MetricFamily> Collect() const override {
    const bool ended = node_->ended();  // read first, so that later values are final
    const CaptureTotals captured_totals = node_->captured();
    const MultiLog::Statistics log = node_->log().statistics();
    const TriggerStatistics triggers = node_->log().trigger_statistics();
    std::vector<ClientMetric> dropped;
    for (const auto& [reason, count] : captured_totals.dropped) dropped.push_back(metric(count, {{"reason", reason}}));
    if (log.dropped > 0) dropped.push_back(metric(log.dropped, {{"reason", "memory_full"}}));
    std::vector<MetricFamily> families;
    const auto add = [&](const std::string& name, const char* help, MetricType type,
                         std::vector<ClientMetric> metrics) {
      families.push_back({"tapline_multilog_" + name, help, type, std::move(metrics)});
    };
    add("packets_total", "Packets that arrived, including those that the source lost", MetricType::Counter,
        {metric(captured_totals.packets)});
    add("rows_total", "Headers appended to the log", MetricType::Counter, {metric(log.appended)});
    add("dropped_total", "Packets without a row, by reason", MetricType::Counter, std::move(dropped));
    add("capture_ended", "1 once a capture file has been read and each packet is a row or dropped", MetricType::Gauge,
        {metric(ended ? 1 : 0)});
    add("removed_rows_total", "Rows evicted for lack of memory or because of their age", MetricType::Counter,
        {metric(log.removed)});
    add("memory_bytes", "Memory of rows, derived data and aggregates", MetricType::Gauge,
        {metric(log.segment_bytes + log.heap_bytes + log.aggregate_bytes)});
    add("freezes_total", "Freezes of the readers' view that coordinators requested", MetricType::Counter,
        {metric(log.freezes)});
    add("frozen_seconds_total", "Time for which the readers' view was frozen", MetricType::Counter,
        {metric(static_cast<double>(log.frozen_ns) / 1e9)});
    add("frozen", "1 while the readers' view is frozen", MetricType::Gauge, {metric(log.frozen ? 1 : 0)});
    add("trigger_evaluations_total", "Evaluations of triggers", MetricType::Counter, {metric(triggers.evaluations)});
    add("alerts_total", "Alerts raised by triggers", MetricType::Counter, {metric(triggers.alerts)});
    return families;
  }

 private:
  HostNode* node_;
};

}  // namespace

std::unique_ptr<prometheus::Collectable> metrics_of(HostNode* node) { return std::make_unique<Collector>(node); }

}  // namespace tapline::multilog
