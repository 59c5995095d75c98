// The switch routes that the control plane sent last (RoutesCommand), kept for the next monitor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schema/monitor.pb.h"

namespace tapline {

// Not thread-safe.
class RouteSet {
 public:
  // Adds a command. Returns true if it completes a version, which replaces the earlier one.
  bool add(const v1::RoutesCommand& command);
  // Returns the latest version's commands, or none if there is no version.
  const std::vector<v1::RoutesCommand>& commands() const { return commands_; }
  // Records that the monitor has confirmed this version.
  void confirmed(uint64_t version);
  // Confirms the latest version in place of a monitor. Returns nullopt if it is already confirmed or there is none.
  std::optional<v1::MonitorStatus> confirm();
  void clear() { *this = {}; }

 private:
  std::vector<v1::RoutesCommand> commands_;
  std::vector<v1::RoutesCommand> received_;  // a version whose last part has not arrived
  bool confirmed_ = true;
};

}  // namespace tapline
