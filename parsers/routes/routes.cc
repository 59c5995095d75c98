#include "parsers/routes/routes.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

namespace tapline {
namespace {

constexpr uint64_t kMaxMac = 0xffff'ffff'ffff;
constexpr int64_t kNever = INT64_MAX;
// Longer paths are loops.
constexpr int kMaxHops = 16;

std::atomic<uint64_t> last_id{0};

// Returns the reason why the rule is invalid; empty if it is valid.
std::string fault_of(const RouteRule& rule) {
  if (rule.switch_name.empty()) return "a route has no switch";
  if (rule.mac > kMaxMac) return "an address of switch '" + rule.switch_name + "' has more than 48 bits";
  if (rule.ports.empty() && !rule.changing) {
    return "the route to " + mac_text(rule.mac) + " at switch '" + rule.switch_name + "' has no port";
  }
  if (std::find(rule.ports.begin(), rule.ports.end(), 0) != rule.ports.end()) {
    return "the route to " + mac_text(rule.mac) + " at switch '" + rule.switch_name +
           "' has port 0; port numbers start at 1";
  }
  return "";
}

}  // namespace

std::string mac_text(uint64_t mac) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", static_cast<unsigned>(mac >> 40 & 0xff),
                static_cast<unsigned>(mac >> 32 & 0xff), static_cast<unsigned>(mac >> 24 & 0xff),
                static_cast<unsigned>(mac >> 16 & 0xff), static_cast<unsigned>(mac >> 8 & 0xff),
                static_cast<unsigned>(mac & 0xff));
  return text;
}

const SwitchRoutes::Port* SwitchRoutes::next(uint64_t mac, int64_t time_ns, InferredPort* port) const {
  *port = port_of(mac, time_ns);
  if (port->number == 0) return nullptr;
  const auto found = ports_.find(port->number);
  if (found == ports_.end()) {
    *port = {0, LossReason::kRouteUnknown};
    return nullptr;
  }
  if (found->second.leads_to_switch && found->second.neighbour == nullptr) {
    *port = {0, LossReason::kSwitchUnknown};
    return nullptr;
  }
  return &found->second;
}

InferredPort SwitchRoutes::input_port_of(uint64_t source, uint64_t destination, int64_t time_ns) const {
  // The routes to the source lead to its switch.
  InferredPort port;
  const SwitchRoutes* here = this;
  const Port* link = here->next(source, time_ns, &port);
  for (int hops = 0; link != nullptr && link->leads_to_switch && hops < kMaxHops; ++hops) {
    here = link->neighbour;
    link = here->next(source, time_ns, &port);
  }
  if (link == nullptr) return port;
  if (link->leads_to_switch) return {0, LossReason::kRouteUnknown};
  if (here == this) return port;
  // From there, the packet follows the routes to its destination.
  for (int hops = 0; hops < kMaxHops; ++hops) {
    link = here->next(destination, time_ns, &port);
    if (link == nullptr) return port;
    if (!link->leads_to_switch) break;
    here = link->neighbour;
    if (here == this) return {link->neighbour_port, LossReason::kRouteUnknown};
  }
  return {0, LossReason::kRouteUnknown};
}

std::map<uint16_t, uint64_t> SwitchRoutes::speeds() const {
  std::map<uint16_t, uint64_t> speeds;
  for (const auto& [number, port] : ports_) {
    if (port.bits_per_second != 0) speeds.emplace(number, port.bits_per_second);
  }
  return speeds;
}

bool SwitchRoutes::insert(const Route& route) {
  if (2 * (size_ + 1) > routes_.size()) {
    std::vector<Route> old(2 * routes_.size());
    old.swap(routes_);
    --shift_;
    size_ = 0;
    for (const Route& moved : old) {
      if (moved.mac != kNoMac) insert(moved);
    }
  }
  size_t place = place_of(route.mac);
  for (; routes_[place].mac != kNoMac; place = (place + 1) & (routes_.size() - 1)) {
    if (routes_[place].mac == route.mac) return false;
  }
  routes_[place] = route;
  ++size_;
  return true;
}

RoutesBuilder::RoutesBuilder(uint64_t version, const Routes* earlier)
    : earlier_(earlier), routes_(new Routes(version, ++last_id)) {}

void RoutesBuilder::add(const RouteTable& part) {
  const auto too_many = [](size_t count, const char* what, size_t most) {
    return std::to_string(count) + what + " exceed the maximum of " + std::to_string(most) +
           " per monitor; send only those of the monitor's switches";
  };
  rules_ += part.rules.size();
  const size_t ports = ports_.size() + part.ports.size();
  if (error_.empty() && rules_ > kMaxRules) error_ = too_many(rules_, " routes", kMaxRules);
  if (error_.empty() && ports > kMaxPorts) error_ = too_many(ports, " ports", kMaxPorts);
  if (error_.empty()) ports_.insert(ports_.end(), part.ports.begin(), part.ports.end());
  for (auto rule = part.rules.begin(); error_.empty() && rule != part.rules.end(); ++rule) error_ = add(*rule);
}

std::string RoutesBuilder::add(const RouteRule& rule) {
  if (std::string fault = fault_of(rule); !fault.empty()) return fault;
  SwitchRoutes::Route route;
  route.mac = rule.mac;
  route.port = rule.ports.size() == 1 ? rule.ports[0] : 0;
  route.since_ns = rule.changing ? kNever : SwitchRoutes::kWithVersion;
  if (const SwitchRoutes* known = earlier_ == nullptr ? nullptr : earlier_->of(rule.switch_name)) {
    const SwitchRoutes::Route* same = known->find(rule.mac);
    const bool stays = same != nullptr && same->port == route.port && same->since_ns != kNever && !rule.changing;
    if (stays) route.since_ns = known->since(*same);
  }
  SwitchRoutes& routes = routes_->switches_[rule.switch_name];
  if (!routes.insert(route)) {
    return "switch '" + rule.switch_name + "' has two routes to " + mac_text(rule.mac) +
           "; give all its ports in one route";
  }
  routes.used_.insert(rule.ports.begin(), rule.ports.end());
  return "";
}

// REQUIRES: all routes have been added.
std::string RoutesBuilder::add(const PortRule& rule) {
  const std::string name = "port " + std::to_string(rule.number) + " of switch '" + rule.switch_name + "'";
  if (rule.switch_name.empty()) return "a port has no switch";
  if (rule.number == 0) return "switch '" + rule.switch_name + "' has port 0; port numbers start at 1";
  if (rule.neighbour.empty() != (rule.neighbour_port == 0)) {
    return name + " needs the neighbour's name and the neighbour's port, or neither";
  }
  SwitchRoutes::Port port;
  port.bits_per_second = rule.bits_per_second;
  port.leads_to_switch = !rule.neighbour.empty();
  port.neighbour = routes_->of(rule.neighbour);
  port.neighbour_port = rule.neighbour_port;
  // A port of a switch without routes is not needed.
  const auto found = routes_->switches_.find(rule.switch_name);
  if (found != routes_->switches_.end() && !found->second.ports_.emplace(rule.number, port).second) {
    return name + " is given twice";
  }
  return "";
}

std::unique_ptr<const Routes> RoutesBuilder::finish(int64_t since_ns, std::string* error) {
  for (auto port = ports_.begin(); error_.empty() && port != ports_.end(); ++port) error_ = add(*port);
  *error = error_;
  if (!error_.empty()) return nullptr;
  for (auto& [name, routes] : routes_->switches_) routes.version_since_ns_ = since_ns;
  return std::move(routes_);
}

std::unique_ptr<const Routes> Routes::make(uint64_t version, const RouteTable& table, const Routes* earlier,
                                           int64_t since_ns, std::string* error) {
  RoutesBuilder builder(version, earlier);
  builder.add(table);
  return builder.finish(since_ns, error);
}

size_t Routes::size() const {
  size_t size = 0;
  for (const auto& [name, routes] : switches_) size += routes.size_;
  return size;
}

}  // namespace tapline
