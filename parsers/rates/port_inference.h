#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/api/parser.h"
#include "parsers/api/tap.h"
#include "parsers/rates/port_mark.h"
#include "parsers/routes/route_feed.h"

namespace tapline::rates {

// The output ports of copies: as the switch marked them or, for unmarked copies of a tap that is named by its switch
// alone, as the switch's routes say (Planck section 3.2.1). A port that can't be inferred is unknown, and the packet is
// counted by the reason. Infers nothing while there are no routes.
class PortInference {
 public:
  // The routes in force stay the same for the length of a burst.
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

  // REQUIRES: the burst of the latest begin() lasts.
  CopyPort port_of(const Packet& packet, Emitter& out) const {
    const CopyPort marked = marked_port_of(packet);
    if (marked.separates_ports || known_id_ == 0 || packet.tap >= infers_.size() || !infers_[packet.tap]) [[likely]]
      return marked;
    const InferredPort port = inferred(packet);
    if (port.number == 0) [[unlikely]]
      out.lose(port.reason, 1, packet.queries);
    return {.number = port.number, .separates_ports = true};
  }

 private:
  static constexpr uint32_t kEthernetBytes = 14;

  void find_switches(const Routes* routes) {
    switches_.assign(taps_.size(), nullptr);
    infers_.assign(taps_.size(), false);
    if (routes == nullptr) return;
    for (size_t tap = 0; tap < taps_.size(); ++tap) {
      infers_[tap] = !taps_[tap].switch_name.empty() && taps_[tap].port.empty();
      switches_[tap] = routes->of(taps_[tap].switch_name);
    }
  }

  InferredPort inferred(const Packet& packet) const {
    const SwitchRoutes* routes = switches_[packet.tap];
    if (routes == nullptr) return {0, LossReason::kSwitchUnknown};
    // A datagram that was reassembled begins with its IP header.
    if (packet.ip_offset < kEthernetBytes) return {0, LossReason::kRouteUnknown};
    uint64_t mac = 0;
    for (int i = 0; i < 6; ++i) mac = mac << 8 | packet.data[i];
    return routes->port_of(mac, packet.time_ns);
  }

  RouteFeed::Reader* reader_ = nullptr;
  std::vector<TapNames> taps_;
  uint64_t known_id_ = 0;                      // id of the routes that the following belong to; 0: none
  std::vector<const SwitchRoutes*> switches_;  // by tap; null: unknown
  std::vector<bool> infers_;                   // by tap
};

}  // namespace tapline::rates
