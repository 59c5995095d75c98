#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "parsers/api/tuple.h"

namespace tapline {

// A switch's route to one destination address.
struct RouteRule {
  std::string switch_name;      // as taps name the switch
  uint64_t mac = 0;             // destination Ethernet address, 48 bits
  std::vector<uint16_t> ports;  // output ports, from 1; several: the switch chooses one by a hash that is not known
  bool changing = false;        // the switch is about to change it, so any port may be wrong
};

// The port by which a packet left a switch, or the reason why it is unknown.
struct InferredPort {
  uint16_t number = 0;  // 0: unknown
  LossReason reason = LossReason::kRouteUnknown;
};

// The routes of one switch.
class SwitchRoutes {
 public:
  // Infers the output port of a packet from its destination address and the time at which its copy was captured.
  InferredPort port_of(uint64_t mac, int64_t time_ns) const {
    const auto route = routes_.find(mac);
    if (route == routes_.end()) return {0, LossReason::kRouteUnknown};
    if (time_ns < route->second.since_ns) return {0, LossReason::kRouteChanging};
    return {route->second.port, LossReason::kRouteAmbiguous};
  }

 private:
  friend class Routes;
  struct Route {
    uint16_t port = 0;  // 0: several
    // Copies that were captured earlier may be of packets that took another route.
    int64_t since_ns = INT64_MIN;
  };
  std::unordered_map<uint64_t, Route> routes_;
};

// One version of the routes of a network (Planck section 3.2.1). Immutable, so any number of threads may read it.
//
// A copy waits in its mirror port's queue, so for some time after a switch has changed a route copies still arrive that
// were forwarded by the earlier one. Each route therefore has a time since which it counts, and before that the port is
// unknown.
class Routes {
 public:
  static constexpr size_t kMaxRules = 1 << 20;

  // Makes the version that follows `earlier`, which may be null. Routes that `earlier` has in the same form stay in
  // force; others count for copies captured since `since_ns`. Returns null and sets *error if the rules contradict
  // each other or are invalid.
  static std::unique_ptr<const Routes> make(uint64_t version, std::span<const RouteRule> rules, const Routes* earlier,
                                            int64_t since_ns, std::string* error);

  uint64_t version() const { return version_; }
  // Distinguishes it from all other objects of the process, also from ones that had its address before.
  uint64_t id() const { return id_; }
  size_t size() const;
  // Null if the switch is unknown.
  const SwitchRoutes* of(const std::string& switch_name) const {
    const auto found = switches_.find(switch_name);
    return found == switches_.end() ? nullptr : &found->second;
  }

 private:
  Routes(uint64_t version, uint64_t id) : version_(version), id_(id) {}

  uint64_t version_;
  uint64_t id_;
  std::unordered_map<std::string, SwitchRoutes> switches_;
};

// "02:00:00:00:00:01"
std::string mac_text(uint64_t mac);

}  // namespace tapline
