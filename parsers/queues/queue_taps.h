#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/api/tap.h"

namespace tapline::queues {

// The side of a port's queue that a tap shows.
enum class QueueSide : uint8_t { kNone, kArrivals, kDepartures };

// Maps taps to the sides of port queues. A port with a tap on one side only has no queue here.
class QueueTaps {
 public:
  struct Place {
    uint32_t queue = 0;  // valid unless the side is kNone
    QueueSide side = QueueSide::kNone;
  };

  void set(std::span<const TapNames> taps) {
    places_.fill({});
    names_.clear();
    later_.clear();
    for (size_t arrivals = 0; arrivals < taps.size(); ++arrivals) {
      const TapNames& tap = taps[arrivals];
      if (tap.side != "arrivals") continue;
      const auto departures = std::find_if(taps.begin(), taps.end(), [&](const TapNames& existing) {
        return existing.side == "departures" && existing.switch_name == tap.switch_name && existing.port == tap.port;
      });
      if (departures == taps.end()) continue;
      const auto queue = static_cast<uint32_t>(names_.size());
      names_.push_back(tap.switch_name + ":" + tap.port);
      later_.push_back(tap.switch_name.empty() ? &tap : nullptr);
      places_[arrivals] = {queue, QueueSide::kArrivals};
      places_[static_cast<size_t>(departures - taps.begin())] = {queue, QueueSide::kDepartures};
    }
  }

  Place of(const Packet& packet) const { return places_[packet.tap]; }
  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }
  // Returns the queue's name, "SWITCH:PORT". REQUIRES: a packet of the queue has been seen.
  std::string name(uint32_t queue) const {
    return later_[queue] == nullptr ? names_[queue] : later_[queue]->switch_name + ":" + later_[queue]->port;
  }

 private:
  std::array<Place, 256> places_ = {};  // by tap
  std::vector<std::string> names_;
  std::vector<const TapNames*> later_;  // by queue: the names if the tap was named later, else null
};

}  // namespace tapline::queues
