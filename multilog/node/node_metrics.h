// Exports the node's counters to Prometheus.
#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "multilog/node/node.h"

namespace tapline::multilog {

// Returns a collector, which may be used on any thread. The node must outlive it.
std::unique_ptr<prometheus::Collectable> metrics_of(HostNode* node);

}  // namespace tapline::multilog
