// Exports the node's counters to Prometheus.
#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "multilog/node/node.h"

namespace tapline::multilog {

// The node outlives the result, which may be used on any thread.
std::unique_ptr<prometheus::Collectable> metrics_of(HostNode* node);

}  // namespace tapline::multilog
