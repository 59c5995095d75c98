// The node's counters as Prometheus text at /metrics.
#pragma once

#include <memory>
#include <string>

#include "monitors/base/status.h"
#include "multilog/node/node.h"

namespace tapline::multilog {

class NodeMetrics {
 public:
  // Listens at "HOST:PORT"; the node outlives it. Null, and *status says why, if it can't listen there.
  static std::unique_ptr<NodeMetrics> Serve(const std::string& address, HostNode* node, tapline::Status* status);
  ~NodeMetrics();

 private:
  class Impl;
  explicit NodeMetrics(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tapline::multilog
