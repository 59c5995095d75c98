// Exposes a monitor's metrics to Prometheus.
#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "monitors/metrics/monitor_metrics.h"

namespace tapline {

// Returns a collector, which may be used on any thread. `metrics` must outlive it.
std::unique_ptr<prometheus::Collectable> collector_of(const MonitorMetrics& metrics);

}  // namespace tapline
