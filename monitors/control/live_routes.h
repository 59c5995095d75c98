// Replaces the routes that a running monitor's parsers use (RoutesCommand in schema/monitor.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parsers/routes/route_feed.h"
#include "schema/monitor.pb.h"

namespace tapline {

// Not thread-safe.
class LiveRoutes {
 public:
  // `feed` must outlive this object, and no other component may publish to it.
  explicit LiveRoutes(RouteFeed* feed) : feed_(feed) {}

  // Executes a command that arrived at this time (wall clock). Returns a result once a version is complete: either the
  // version is in force, or it was refused and no routes are in force.
  std::optional<v1::MonitorStatus::Routes> change(const v1::RoutesCommand& command, int64_t now_ns);

 private:
  RouteFeed* feed_;
  uint64_t received_version_ = 0;          // the version that is being received; 0: none
  std::optional<RoutesBuilder> received_;  // routes of that version received so far
};

}  // namespace tapline
