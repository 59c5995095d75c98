// The node's counters as Prometheus has them.
#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "multilog/node/node.h"

namespace tapline::multilog {

// The node outlives it. Any thread.
std::unique_ptr<prometheus::Collectable> MetricsOf(HostNode* node);

}  // namespace tapline::multilog
