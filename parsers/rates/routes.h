#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tapline::rates {

// Why a port is not known.
enum class PortUnknown : uint8_t {
  kNo,          // it is known
  kAddress,     // the address is unknown, or a group's
  kNoRoute,     // the switch has no route to it
  kManyRoutes,  // it has several, and which one a packet takes depends on a hash that is not known
  kOffThePath,  // packets between these two addresses do not pass the switch
};

struct Port {
  uint32_t number = 0;  // as the switch counts, from 1; 0 = unknown
  PortUnknown unknown = PortUnknown::kAddress;
};

// Infers by which ports a packet entered and left a switch, from its Ethernet addresses alone (Planck section 3.2.1):
// copies from a mirror port carry nothing else. The output port follows from the switch's route to the destination, the
// input port from the routes of all switches on the way from the source. Fill it, then share it: reading is safe from
// any thread. Look-ups take a hash per switch on the path: make one per flow, not per packet.
class Routes {
 public:
  static constexpr uint32_t kMaxHops = 16;  // routes that lead in a circle end somewhere

  // The cable between two switches' ports.
  void add_link(uint32_t first, uint32_t first_port, uint32_t second, uint32_t second_port) {
    links_[key(first, first_port)] = {second, second_port};
    links_[key(second, second_port)] = {first, first_port};
    add_port(first, first_port);
    add_port(second, second_port);
  }
  void add_host(uint64_t address, uint32_t at_switch, uint32_t port) {
    hosts_[address] = {at_switch, port};
    add_port(at_switch, port);
  }
  // A second, different port for the same address makes the route ambiguous.
  void add_route(uint32_t at_switch, uint64_t destination, uint32_t port) {
    const auto [found, added] = routes_.try_emplace(key(at_switch, destination), port);
    if (!added && found->second != port) found->second = kSeveral;
  }

  Port output(uint32_t at_switch, uint64_t destination) const {
    const auto found = routes_.find(key(at_switch, destination));
    if (found == routes_.end()) {
      return {0, is_group(destination) ? PortUnknown::kAddress : PortUnknown::kNoRoute};
    }
    return found->second == kSeveral ? Port{0, PortUnknown::kManyRoutes} : Port{found->second, PortUnknown::kNo};
  }

  Port input(uint32_t at_switch, uint64_t source, uint64_t destination) const {
    const auto host = hosts_.find(source);
    if (host == hosts_.end()) return {0, PortUnknown::kAddress};
    End end = host->second;  // where the packet enters a switch
    for (uint32_t hop = 0; hop < kMaxHops && end.at_switch != at_switch; ++hop) {
      const Port out = output(end.at_switch, destination);
      if (out.number == 0) return out;
      const auto link = links_.find(key(end.at_switch, out.number));
      if (link == links_.end()) return {0, PortUnknown::kOffThePath};  // it has arrived
      end = link->second;
    }
    return end.at_switch == at_switch ? Port{end.port, PortUnknown::kNo} : Port{0, PortUnknown::kOffThePath};
  }

  // The ports of a switch that lead somewhere, as added.
  const std::vector<uint32_t>& ports(uint32_t at_switch) const {
    static const std::vector<uint32_t> kNone;
    const auto found = ports_.find(at_switch);
    return found == ports_.end() ? kNone : found->second;
  }

 private:
  struct End {
    uint32_t at_switch = 0;
    uint32_t port = 0;
  };
  static constexpr uint32_t kSeveral = UINT32_MAX;

  static bool is_group(uint64_t address) { return (address >> 40 & 1) != 0; }
  // Ethernet addresses and ports have at most 48 bits. REQUIRES: switches are numbered below 2^16.
  static uint64_t key(uint32_t at_switch, uint64_t rest) { return uint64_t{at_switch} << 48 | rest; }

  void add_port(uint32_t at_switch, uint32_t port) {
    std::vector<uint32_t>& ports = ports_[at_switch];
    for (const uint32_t each : ports) {
      if (each == port) return;
    }
    ports.push_back(port);
  }

  std::unordered_map<uint64_t, End> links_;
  std::unordered_map<uint64_t, End> hosts_;
  std::unordered_map<uint64_t, uint32_t> routes_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> ports_;
};

}  // namespace tapline::rates
