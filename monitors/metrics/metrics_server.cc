#include "monitors/metrics/metrics_server.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include <exception>

namespace tapline {
namespace {

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(const MonitorMetrics& metrics) : metrics_(metrics) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    metrics_.ForEach([&](const MetricFamily& family, std::span<const MetricLabel> labels, double value) {
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

class MetricsServer::Impl {
 public:
  Impl(const std::string& address, const MonitorMetrics& metrics)
      : collector_(std::make_shared<Collector>(metrics)), exposer_(address, 1) {
    exposer_.RegisterCollectable(collector_);
  }

 private:
  std::shared_ptr<Collector> collector_;
  prometheus::Exposer exposer_;
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

std::unique_ptr<MetricsServer> MetricsServer::Start(const std::string& address, const MonitorMetrics& metrics,
                                                    Status* status) {
  try {
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::make_unique<Impl>(address, metrics)));
  } catch (const std::exception& error) {
    *status = Status::Resources("--metrics " + address + ": can't listen there (" + error.what() +
                                "); is the address in use, or no HOST:PORT of this machine?");
    return nullptr;
  }
}

}  // namespace tapline
