// The routes of switches, as the control plane last sent them (RoutesCommand), for the next monitor.
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
  // The commands of the latest version; none without one.
  const std::vector<v1::RoutesCommand>& commands() const { return commands_; }
  // The monitor has answered this version.
  void confirmed(uint64_t version);
  // Confirms the latest version in place of a monitor. Empty if it is confirmed, or there is none.
  std::optional<v1::MonitorStatus> confirm();
  void clear() { *this = {}; }

 private:
  std::vector<v1::RoutesCommand> commands_;
  std::vector<v1::RoutesCommand> received_;  // their last part has not come
  bool confirmed_ = true;
};

}  // namespace tapline
