#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/api/telemetry.h"
#include "parsers/api/time.h"

namespace tapline::queues {

// Counts of hops. Each hop is usable, or counted under one of the reasons why it is not.
struct HopStatistics {
  uint64_t hops = 0;
  uint64_t usable = 0;
  uint64_t incomplete = 0;     // switch ID, egress port, latency or time were not requested, or the switch lacks them
  uint64_t untimely = 0;       // departures more than kMaxAgeNs before the packet's capture, or kMaxAheadNs after it
  uint64_t beyond = 0;         // hops beyond the first Telemetry::kMaxHops of a packet
  uint64_t without_room = 0;   // hops of queues beyond kMaxQueues
  uint64_t contradictory = 0;  // packets, not hops: their telemetry is contradictory
};

// A packet's passage through one queue on its path, with times of the switch's clock.
struct QueueHop {
  uint32_t queue = 0;
  int64_t arrival_ns = 0, departure_ns = 0;
};

// Numbers the queues that switches name in packets by switch ID, egress port and queue ID. Bounded. A number may be
// reused once no packet of its queue has been captured for kIdleNs. Not thread-safe.
class HopQueues {
 public:
  static constexpr uint32_t kMaxQueues = 256;
  static constexpr int64_t kIdleNs = 30 * kNsPerSecond;
  // Longest time from a departure to the packet's capture, including the difference between the two clocks.
  static constexpr int64_t kMaxAgeNs = 10 * kNsPerSecond;
  // Longest time by which a switch's clock may be ahead of the monitor's.
  static constexpr int64_t kMaxAheadNs = kNsPerSecond;

  // Calls use(const QueueHop&) for each usable hop of the packet, in path order. Before a number is reused for another
  // queue, calls reuse(number). Returns the number of unusable hops; a packet with contradictory telemetry counts as
  // one.
  template <typename Use, typename Reuse>
  uint64_t read(const Packet& packet, Use&& use, Reuse&& reuse) {
    Telemetry telemetry;
    if (!read_telemetry(packet, &telemetry)) {
      ++statistics_.contradictory;
      return 1;
    }
    statistics_.hops += telemetry.hops;
    const uint32_t read = telemetry.hops < Telemetry::kMaxHops ? telemetry.hops : Telemetry::kMaxHops;
    statistics_.beyond += telemetry.hops - read;
    uint64_t usable = 0;
    for (uint32_t i = 0; i < read; ++i) {
      const Hop& hop = telemetry.path[i];
      QueueHop queue_hop;
      if (!times_of(telemetry, hop, packet.time_ns, &queue_hop)) continue;
      if (!find(hop, packet.time_ns, &queue_hop.queue, reuse)) continue;
      ++usable;
      use(queue_hop);
    }
    statistics_.usable += usable;
    return telemetry.hops - usable;
  }

  uint32_t size() const { return static_cast<uint32_t>(queues_.size()); }
  // Returns "SWITCH-ID:PORT" or, if the switch reports a queue ID, "SWITCH-ID:PORT.QUEUE-ID".
  const std::string& name(uint32_t queue) const { return queues_[queue].name; }
  const HopStatistics& statistics() const { return statistics_; }

 private:
  struct Queue {
    uint64_t key;
    int64_t latest_ns;  // capture time of its latest packet
    std::string name;
  };

  bool times_of(const Telemetry& telemetry, const Hop& hop, int64_t captured_ns, QueueHop* queue_hop) {
    const bool complete = telemetry.has_switch_id && telemetry.has_latency && telemetry.has_time &&
                          hop.switch_id != UINT32_MAX && hop.egress_port != Hop::kNoPort &&
                          hop.latency_ns != Hop::kNoLatency && hop.time_ns != UINT64_MAX;
    if (!complete) {
      ++statistics_.incomplete;
      return false;
    }
    if (hop.time_ns > static_cast<uint64_t>(kLatestTimeNs)) {
      ++statistics_.untimely;
      return false;
    }
    const auto time_ns = static_cast<int64_t>(hop.time_ns);
    queue_hop->arrival_ns = telemetry.has_departure_time ? time_ns - hop.latency_ns : time_ns;
    queue_hop->departure_ns = queue_hop->arrival_ns + hop.latency_ns;
    const int64_t age_ns = captured_ns - queue_hop->departure_ns;
    if (age_ns >= -kMaxAheadNs && age_ns <= kMaxAgeNs) return true;
    ++statistics_.untimely;
    return false;
  }

  template <typename Reuse>
  bool find(const Hop& hop, int64_t captured_ns, uint32_t* queue, Reuse&& reuse) {
    const uint64_t key = uint64_t{hop.switch_id} << 24 | uint64_t{hop.egress_port} << 8 | hop.queue_id;
    if (const auto known = numbers_.find(key); known != numbers_.end()) {
      *queue = known->second;
      if (captured_ns > queues_[*queue].latest_ns) queues_[*queue].latest_ns = captured_ns;
      return true;
    }
    if (queues_.size() < kMaxQueues) {
      *queue = size();
      queues_.push_back({});
    } else if (idle(captured_ns, queue)) {
      reuse(*queue);
      numbers_.erase(queues_[*queue].key);
    } else {
      ++statistics_.without_room;
      return false;
    }
    numbers_.emplace(key, *queue);
    queues_[*queue] = {key, captured_ns, name_of(hop)};
    return true;
  }

  // Finds a queue without recent packets. After a search that finds none, returns false for kSearchNs, so that a
  // flood of spoofed queues is cheap.
  bool idle(int64_t now_ns, uint32_t* queue) {
    if (now_ns < next_search_ns_) return false;
    for (uint32_t i = 0; i < size(); ++i) {
      if (now_ns - queues_[i].latest_ns < kIdleNs) continue;
      *queue = i;
      return true;
    }
    next_search_ns_ = now_ns + kSearchNs;
    return false;
  }

  static std::string name_of(const Hop& hop) {
    std::string name = std::to_string(hop.switch_id) + ":" + std::to_string(hop.egress_port);
    if (hop.queue_id != Hop::kNoQueue) name += "." + std::to_string(hop.queue_id);
    return name;
  }

  static constexpr int64_t kSearchNs = kNsPerMs;

  std::unordered_map<uint64_t, uint32_t> numbers_;  // a queue's number, by its key
  std::vector<Queue> queues_;
  int64_t next_search_ns_ = INT64_MIN;
  HopStatistics statistics_;
};

}  // namespace tapline::queues
