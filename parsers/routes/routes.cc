#include "parsers/routes/routes.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace tapline {
namespace {

constexpr uint64_t kMaxMac = 0xffff'ffff'ffff;
constexpr int64_t kNever = INT64_MAX;

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
           "' has port 0; ports count from 1";
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

std::unique_ptr<const Routes> Routes::make(uint64_t version, std::span<const RouteRule> rules, const Routes* earlier,
                                           int64_t since_ns, std::string* error) {
  if (rules.size() > kMaxRules) {
    *error = "there are " + std::to_string(rules.size()) + " routes, and a monitor takes at most " +
             std::to_string(kMaxRules) + "; send only those of its switches";
    return nullptr;
  }
  std::unique_ptr<Routes> routes(new Routes(version, ++last_id));
  for (const RouteRule& rule : rules) {
    *error = fault_of(rule);
    if (!error->empty()) return nullptr;
    SwitchRoutes::Route route;
    route.port = rule.ports.size() == 1 ? rule.ports[0] : 0;
    route.since_ns = rule.changing ? kNever : since_ns;
    if (const SwitchRoutes* known = earlier == nullptr ? nullptr : earlier->of(rule.switch_name)) {
      const auto same = known->routes_.find(rule.mac);
      const bool stays = same != known->routes_.end() && same->second.port == route.port &&
                         same->second.since_ns != kNever && !rule.changing;
      if (stays) route.since_ns = same->second.since_ns;
    }
    if (!routes->switches_[rule.switch_name].routes_.emplace(rule.mac, route).second) {
      *error = "switch '" + rule.switch_name + "' has two routes to " + mac_text(rule.mac) +
               "; give all its ports in one route";
      return nullptr;
    }
  }
  return routes;
}

size_t Routes::size() const {
  size_t size = 0;
  for (const auto& [name, routes] : switches_) size += routes.routes_.size();
  return size;
}

}  // namespace tapline
