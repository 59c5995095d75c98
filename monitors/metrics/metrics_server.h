// Serves the metrics of a monitor as Prometheus text at /metrics, on threads that keep off the polling ones.
#pragma once

#include <memory>
#include <string>

#include "monitors/base/status.h"
#include "monitors/metrics/monitor_metrics.h"

namespace tapline {

class MetricsServer {
 public:
  // Listens at "HOST:PORT". `metrics` outlives it. Null, and *status says why, if it can't listen there.
  static std::unique_ptr<MetricsServer> Start(const std::string& address, const MonitorMetrics& metrics,
                                              Status* status);
  ~MetricsServer();

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline
