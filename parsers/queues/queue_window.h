#pragma once

#include <cstdint>

#include "parsers/queues/departure_log.h"
#include "parsers/queues/departure_range.h"
#include "parsers/queues/flow_table.h"

namespace tapline::queues {

// The exact traffic that left before a packet but not before a given time, by flow. If the time is the packet's
// arrival, these are the contents of the queue that it found (ConQuest section 3.1, definition 3.1). Departures with
// the same time count in their order, since clocks are coarser than links. The departures themselves are in a
// DepartureLog. Not thread-safe.
class QueueWindow {
 public:
  using Departure = DepartureLog::Departure;

  // Moves the window to the departures before number `end` but not before from_ns. Calls entered(flow, departure,
  // service_ns) for each departure that the window gains, and left(flow, departure, service_ns) for each that it loses.
  // REQUIRES: `end` does not decrease.
  template <typename Entered, typename Left>
  [[gnu::always_inline]] void move(const DepartureLog& log, FlowTable& flows, int64_t from_ns, uint64_t end,
                                   Entered&& entered, Left&& left) {
    range_.move(
        log, from_ns, end,
        [&](const Departure& departure, int64_t service_ns) { entered(add(departure, flows), departure, service_ns); },
        [&](const Departure& departure, int64_t service_ns) { left(remove(departure, flows), departure, service_ns); });
  }

  // Removes the log's first departure, which the log is about to evict, if it is in the window.
  template <typename Left>
  void evict_first(const DepartureLog& log, FlowTable& flows, Left&& left) {
    range_.evict_first(log, [&](const Departure& departure, int64_t service_ns) {
      left(remove(departure, flows), departure, service_ns);
    });
  }

  const DepartureRange& range() const { return range_; }
  // REQUIRES: the log has a departure with number range().end().
  uint64_t bytes(const DepartureLog& log) const {
    return log[range_.end()].bytes_before - log[range_.begin()].bytes_before;
  }
  uint32_t packets() const { return static_cast<uint32_t>(range_.end() - range_.begin()); }
  uint32_t flows() const { return flow_count_; }

 private:
  QueueFlow& add(const Departure& departure, FlowTable& flows) {
    QueueFlow& flow = flows[departure.flow];
    flow_count_ += flow.window_packets == 0;
    flow.window_bytes += departure.bytes;
    ++flow.window_packets;
    return flow;
  }
  QueueFlow& remove(const Departure& departure, FlowTable& flows) {
    QueueFlow& flow = flows[departure.flow];
    flow.window_bytes -= departure.bytes;
    --flow.window_packets;
    flow_count_ -= flow.window_packets == 0;
    return flow;
  }

  DepartureRange range_;
  uint32_t flow_count_ = 0;
};

}  // namespace tapline::queues
