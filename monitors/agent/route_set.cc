#include "monitors/agent/route_set.h"

#include <utility>

namespace tapline {

bool RouteSet::add(const v1::RoutesCommand& command) {
  if (!received_.empty() && received_.back().version() != command.version()) received_.clear();
  received_.push_back(command);
  if (command.more()) return false;
  commands_ = std::exchange(received_, {});
  confirmed_ = false;
  return true;
}

void RouteSet::confirmed(uint64_t version) {
  if (!commands_.empty() && commands_.back().version() == version) confirmed_ = true;
}

std::optional<v1::MonitorStatus> RouteSet::confirm() {
  if (confirmed_) return std::nullopt;
  confirmed_ = true;
  v1::MonitorStatus event;
  event.mutable_routes()->set_version(commands_.back().version());
  uint64_t count = 0;
  for (const v1::RoutesCommand& command : commands_) {
    for (const v1::SwitchRoutes& routes : command.switches()) count += static_cast<uint64_t>(routes.routes_size());
  }
  event.mutable_routes()->set_count(count);
  return event;
}

}  // namespace tapline
