// The host's side of Confluo's Algorithm 1, over one coordinator's stream. A freeze ends with its stream.
#pragma once

#include "multilog/node/node_service.h"

namespace tapline::multilog {

class SnapshotSession {
 public:
  explicit SnapshotSession(NodeService* service) : service_(service) {}
  ~SnapshotSession();
  SnapshotSession(const SnapshotSession&) = delete;
  SnapshotSession& operator=(const SnapshotSession&) = delete;

  // Executes a command without waiting.
  void execute(const v1::SnapshotCommand& command, v1::SnapshotAnswer* response);

 private:
  NodeService* service_;
  uint64_t frozen_ = 0;
};

}  // namespace tapline::multilog
