#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "parsers/api/tuple.h"

namespace tapline {

// A switch's route to one destination address.
struct RouteRule {
  std::string switch_name;      // as taps name the switch
  uint64_t mac = 0;             // destination Ethernet address, 48 bits
  std::vector<uint16_t> ports;  // output ports, from 1; if there are several, the switch chooses one by an unknown hash
  bool changing = false;        // true if the switch is about to change it, so that any port may be wrong
};

// A port of a switch.
struct PortRule {
  std::string switch_name;       // as taps name the switch
  uint16_t number = 0;           // from 1
  uint64_t bits_per_second = 0;  // speed of its link; 0: unknown
  std::string neighbour = {};    // the switch behind the port; empty: a host, or nothing
  uint16_t neighbour_port = 0;   // the port by which packets enter that switch
};

// The rules of a version, or of a part of one.
struct RouteTable {
  std::vector<RouteRule> rules = {};
  std::vector<PortRule> ports = {};
};

// The port by which a packet left or entered a switch, or the reason why it is unknown.
struct InferredPort {
  uint16_t number = 0;  // 0: unknown
  LossReason reason = LossReason::kRouteUnknown;
};

// The routes of one switch: an open-addressing table, so that even 100,000 routes are freed in one step.
class SwitchRoutes {
 public:
  // Infers the output port of a packet from its destination address and the time at which its copy was captured.
  InferredPort port_of(uint64_t mac, int64_t time_ns) const {
    const Route* route = find(mac);
    if (route == nullptr) return {0, LossReason::kRouteUnknown};
    if (time_ns < since(*route)) return {0, LossReason::kRouteChanging};
    return {route->port, LossReason::kRouteAmbiguous};
  }

  // Infers the port by which a packet entered the switch: the last link of the path from the source's switch, along the
  // routes to the destination. The port is unknown if a route or a port of this path is unknown.
  InferredPort input_port_of(uint64_t source, uint64_t destination, int64_t time_ns) const;

  // Returns the speeds of the ports' links in bits per second, by port; unknown ones are absent.
  std::map<uint16_t, uint64_t> speeds() const;
  // Returns true if a route uses the port.
  bool uses(uint16_t port) const { return used_.count(port) != 0; }

 private:
  friend class Routes;
  friend class RoutesBuilder;
  static constexpr uint64_t kNoMac = ~uint64_t{0};
  static constexpr int64_t kWithVersion = INT64_MIN + 1;  // valid from the time of this version

  struct Route {
    uint64_t mac = kNoMac;
    // Copies captured before this time may come from packets that took another route.
    int64_t since_ns = INT64_MIN;
    uint16_t port = 0;  // 0: several
  };
  struct Port {
    uint64_t bits_per_second = 0;
    bool leads_to_switch = false;
    const SwitchRoutes* neighbour = nullptr;  // null if it leads to no switch, or to one without routes
    uint16_t neighbour_port = 0;
  };

  size_t place_of(uint64_t mac) const { return mac * 0x9e3779b97f4a7c15 >> shift_; }
  const Route* find(uint64_t mac) const {
    for (size_t i = place_of(mac);; i = (i + 1) & (routes_.size() - 1)) {
      if (routes_[i].mac == mac) return &routes_[i];
      if (routes_[i].mac == kNoMac) return nullptr;
    }
  }
  int64_t since(const Route& route) const {
    return route.since_ns == kWithVersion ? version_since_ns_ : route.since_ns;
  }
  // Returns false if the table already has a route to the address.
  bool insert(const Route& route);
  // Returns the next port on a packet's path, or null if it is unknown; *port then gives the reason.
  const Port* next(uint64_t mac, int64_t time_ns, InferredPort* port) const;

  static constexpr uint32_t kFirstBits = 4;
  std::vector<Route> routes_{size_t{1} << kFirstBits};  // at most half of it is in use
  uint32_t shift_ = 64 - kFirstBits;
  size_t size_ = 0;
  int64_t version_since_ns_ = INT64_MIN;
  std::unordered_map<uint16_t, Port> ports_;
  std::set<uint16_t> used_;  // ports of routes_
};

// One version of the routes of a network (Planck section 3.2.1). Immutable, so any number of threads may read it.
//
// A copy waits in its mirror port's queue. So for some time after a switch has changed a route, copies of packets that
// were forwarded by the earlier route still arrive. Each route therefore has a time at which it becomes valid; before
// that time, the port is unknown.
class Routes {
 public:
  // Creates a version from a single table, as RoutesBuilder does.
  static std::unique_ptr<const Routes> make(uint64_t version, const RouteTable& table, const Routes* earlier,
                                            int64_t since_ns, std::string* error);

  uint64_t version() const { return version_; }
  // Returns a number that distinguishes this object from all others of the process, including earlier ones at the same
  // address.
  uint64_t id() const { return id_; }
  size_t size() const;
  // Returns the routes of a switch, or null if the switch is unknown.
  const SwitchRoutes* of(const std::string& switch_name) const {
    const auto found = switches_.find(switch_name);
    return found == switches_.end() ? nullptr : &found->second;
  }

 private:
  friend class RoutesBuilder;
  Routes(uint64_t version, uint64_t id) : version_(version), id_(id) {}

  uint64_t version_;
  uint64_t id_;
  std::unordered_map<std::string, SwitchRoutes> switches_;
};

// Builds, in several steps, the version that follows `earlier`. Building a large version at once would delay all other
// work of the thread. `earlier` may be null and must outlive the builder.
class RoutesBuilder {
 public:
  static constexpr size_t kMaxRules = 1 << 20;
  static constexpr size_t kMaxPorts = 1 << 16;

  RoutesBuilder(uint64_t version, const Routes* earlier);
  void add(const RouteTable& part);
  // Completes the version. Routes that are the same in the earlier version keep their time; others apply to copies
  // captured at `since_ns` or later. Returns null and sets *error if rules are invalid, contradict each other or are
  // too many.
  std::unique_ptr<const Routes> finish(int64_t since_ns, std::string* error);

 private:
  // Return the reason why the rule is invalid, or an empty string if it was added.
  std::string add(const RouteRule& rule);
  std::string add(const PortRule& rule);

  const Routes* earlier_;
  std::unique_ptr<Routes> routes_;
  std::vector<PortRule> ports_;  // added last, since they refer to switches
  size_t rules_ = 0;
  std::string error_;  // the first one
};

// Returns the address as "02:00:00:00:00:01".
std::string mac_text(uint64_t mac);

}  // namespace tapline
