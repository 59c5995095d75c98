#include "monitors/control/live_routes.h"

#include <string>
#include <utility>

#include "packet_io/base/status.h"

namespace tapline {
namespace {

// Port numbers are 16 bits; a larger number becomes 0, which no route may have.
uint16_t port_of(uint32_t number) { return static_cast<uint16_t>(number <= UINT16_MAX ? number : 0); }

RouteTable table_of(const v1::RoutesCommand& command) {
  RouteTable table;
  for (const v1::SwitchRoutes& routes : command.switches()) {
    for (const v1::Route& route : routes.routes()) {
      RouteRule& rule = table.rules.emplace_back();
      rule.switch_name = routes.name();
      rule.mac = route.mac();
      rule.changing = route.changing();
      for (const uint32_t port : route.ports()) rule.ports.push_back(port_of(port));
    }
    for (const v1::SwitchPort& port : routes.ports()) {
      table.ports.push_back({.switch_name = routes.name(),
                             .number = port_of(port.number()),
                             .bits_per_second = port.bits_per_second(),
                             .neighbour = port.neighbour(),
                             .neighbour_port = port_of(port.neighbour_port())});
    }
  }
  return table;
}

}  // namespace

std::optional<v1::MonitorStatus::Routes> LiveRoutes::change(const v1::RoutesCommand& command, int64_t now_ns) {
  if (command.version() == 0) {
    received_version_ = 0;
    received_.reset();
    feed_->publish(nullptr);
    return std::nullopt;
  }
  if (command.version() != received_version_) received_.emplace(command.version(), feed_->current());
  received_version_ = command.version();
  received_->add(table_of(command));
  if (command.more()) return std::nullopt;
  std::string error;
  auto routes = received_->finish(now_ns + command.settle_ns(), &error);
  received_version_ = 0;
  received_.reset();
  v1::MonitorStatus::Routes answer;
  answer.set_version(command.version());
  if (routes == nullptr) {
    const Status status = Status::invalid(error);
    answer.set_message(status.message());
    answer.set_kind(status.kind());
  } else {
    answer.set_count(routes->size());
  }
  feed_->publish(std::move(routes));
  return answer;
}

}  // namespace tapline
