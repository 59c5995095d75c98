#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/api/parser.h"
#include "parsers/api/tap.h"
#include "parsers/rates/port_mark.h"
#include "parsers/routes/route_feed.h"

namespace tapline::rates {

// Finds the ports of copies: from the switch's mark or, for unmarked copies of a tap that is named by its switch alone,
// from the routes (Planck section 3.2.1). A port that can't be inferred is unknown. If the output port is unknown, the
// packet is counted under the reason. Infers nothing while there are no routes.
//
// The routes also contain the speeds of links.
class PortInference {
 public:
  // Keeps the current routes unchanged while it exists (during a burst).
  class Burst {
   public:
    explicit Burst(RouteFeed::Reader* reader) : reader_(reader) {}
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;
    ~Burst() {
      if (reader_ != nullptr) reader_->leave();
    }

   private:
    RouteFeed::Reader* reader_;
  };

  void set_feed(RouteFeed* feed) { reader_ = feed == nullptr ? nullptr : feed->add_reader(); }
  void set_taps(std::span<const TapNames> taps) {
    taps_.assign(taps.begin(), taps.end());
    known_id_ = 0;
  }

  [[nodiscard]] Burst begin() {
    const Routes* routes = reader_ == nullptr ? nullptr : reader_->enter();
    const uint64_t id = routes == nullptr ? 0 : routes->id();
    if (id != known_id_) [[unlikely]]
      find_switches(routes);
    known_id_ = id;
    return Burst(reader_);
  }

  // REQUIRES: the Burst of the latest begin() exists.
  CopyPort port_of(const Packet& packet, Emitter& out) const {
    const CopyPort marked = marked_port_of(packet);
    if (marked.separates_ports || known_id_ == 0 || packet.tap >= infers_.size() || !infers_[packet.tap]) [[likely]]
      return marked;
    const InferredPort port = inferred(packet);
    if (port.number == 0) [[unlikely]]
      out.lose(port.reason, 1, packet.queries);
    return {.number = port.number, .separates_ports = true};
  }

  // Returns the port by which the packet entered the switch, or 0 if unknown. Follows the packet's path from switch to
  // switch, which takes a few hundred cycles. REQUIRES: the Burst of the latest begin() exists.
  uint16_t input_port_of(const Packet& packet) const {
    if (is_marked(packet)) return marked_input_port_of(packet);
    if (known_id_ == 0 || packet.tap >= infers_.size() || !infers_[packet.tap]) return 0;
    const SwitchRoutes* routes = switches_[packet.tap];
    if (routes == nullptr || packet.ip_offset < kEthernetBytes) return 0;
    return routes->input_port_of(address_at(packet, 6), address_at(packet, 0), packet.time_ns).number;
  }

  // Returns an ID that distinguishes the routes of the latest begin() from all others, or 0 if there are none.
  uint64_t id() const { return known_id_; }

  // Returns the speed, in bits per second, of the link at this port of the tap's switch or, if the tap has a port, at
  // the tap's port; 0 if unknown.
  uint64_t link_speed(uint8_t tap, uint16_t port) const {
    if (tap >= speeds_.size()) return 0;
    const auto found = speeds_[tap].find(own_ports_[tap] != 0 ? own_ports_[tap] : port);
    return found == speeds_[tap].end() ? 0 : found->second;
  }
  // Return the speed of the slowest and the fastest link among the ports that routes of the taps' switches use, or 0 if
  // none is known.
  uint64_t slowest_link() const { return slowest_link_; }
  uint64_t fastest_link() const { return fastest_link_; }

 private:
  static constexpr uint32_t kEthernetBytes = 14;

  void find_switches(const Routes* routes) {
    switches_.assign(taps_.size(), nullptr);
    infers_.assign(taps_.size(), false);
    speeds_.assign(taps_.size(), {});
    own_ports_.assign(taps_.size(), 0);
    slowest_link_ = fastest_link_ = 0;
    if (routes == nullptr) return;
    for (size_t tap = 0; tap < taps_.size(); ++tap) {
      const TapNames& names = taps_[tap];
      infers_[tap] = !names.switch_name.empty() && names.port.empty();
      switches_[tap] = routes->of(names.switch_name);
      own_ports_[tap] = number_of(names.port);
      if (switches_[tap] != nullptr) find_speeds(tap);
    }
  }

  // Returns the port's number if its name is a number, or 0 for any other name, such as that of a neighbour
  // ("2nd-floor").
  static uint16_t number_of(const std::string& port) {
    uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    return error == std::errc() && end == port.data() + port.size() ? number : 0;
  }

  void find_speeds(size_t tap) {
    speeds_[tap] = switches_[tap]->speeds();
    for (const auto& [port, speed] : speeds_[tap]) {
      if (!switches_[tap]->uses(port)) continue;
      slowest_link_ = slowest_link_ == 0 ? speed : std::min(slowest_link_, speed);
      fastest_link_ = std::max(fastest_link_, speed);
    }
  }

  static uint64_t address_at(const Packet& packet, size_t offset) {
    uint64_t mac = 0;
    for (size_t i = 0; i < 6; ++i) mac = mac << 8 | packet.data[offset + i];
    return mac;
  }

  InferredPort inferred(const Packet& packet) const {
    const SwitchRoutes* routes = switches_[packet.tap];
    if (routes == nullptr) return {0, LossReason::kSwitchUnknown};
    // A datagram that was reassembled begins with its IP header.
    if (packet.ip_offset < kEthernetBytes) return {0, LossReason::kRouteUnknown};
    return routes->port_of(address_at(packet, 0), packet.time_ns);
  }

  RouteFeed::Reader* reader_ = nullptr;
  std::vector<TapNames> taps_;
  uint64_t known_id_ = 0;                             // ID of the routes that the fields below come from; 0: none
  std::vector<const SwitchRoutes*> switches_;         // by tap; null: unknown
  std::vector<bool> infers_;                          // by tap
  std::vector<std::map<uint16_t, uint64_t>> speeds_;  // by tap and port, in bits per second
  std::vector<uint16_t> own_ports_;                   // by tap: the port in its name; 0: none
  uint64_t slowest_link_ = 0, fastest_link_ = 0;
};

}  // namespace tapline::rates
