#pragma once

#include <cstdint>
#include <vector>

#include "parsers/queues/departure_log.h"

namespace tapline::queues {

// The exact traffic that left before a packet but not before a given time, by flow. If the time is the packet's
// arrival, this is the contents of the queue that it found (ConQuest section 3.1, definition 3.1). Among departures
// with the same time, their order decides: clocks are coarser than links. A view of a DepartureLog. Not thread-safe.
//
// Both ends move with the packets: in a FIFO queue only forward, so a packet costs amortised constant time, whatever
// its delay. If packets overtake each other, the beginning may move back.
class QueueWindow {
 public:
  struct Contents {
    uint64_t bytes = 0;
    uint64_t packets = 0;
  };

  // Makes room for a flow whose number is new to the window.
  void admit(uint32_t flow) {
    if (flow >= of_flow_.size()) of_flow_.resize(flow + flow / 2 + 1);
  }

  // Moves the window to the departures before number `end` but not before from_ns. Calls entered(departure) and
  // left(departure) for each departure that the window gains or loses. REQUIRES: `end` does not decrease.
  template <typename Entered, typename Left>
  void move(const DepartureLog& log, int64_t from_ns, uint64_t end, Entered&& entered, Left&& left) {
    for (; end_ < end; ++end_) {
      add(log[end_]);
      entered(log[end_]);
    }
    for (; begin_ < end_ && log[begin_].time_ns < from_ns; ++begin_) {
      remove(log[begin_]);
      left(log[begin_]);
    }
    while (begin_ > log.first() && log[begin_ - 1].time_ns >= from_ns) {
      add(log[--begin_]);
      entered(log[begin_]);
    }
  }
  void move(const DepartureLog& log, int64_t from_ns, uint64_t end) {
    const auto ignore = [](const DepartureLog::Departure&) {};
    move(log, from_ns, end, ignore, ignore);
  }

  // Removes the first departure, for which the log has no room. REQUIRES: the log still keeps it.
  template <typename Left>
  void give_up_first(const DepartureLog& log, Left&& left) {
    if (begin_ != log.first()) return;
    if (begin_ == end_) {
      ++begin_;
      ++end_;
      return;
    }
    remove(log[begin_]);
    left(log[begin_++]);
  }

  // The number of the first departure in the window: the log must keep it.
  uint64_t begin() const { return begin_; }

  const Contents& all() const { return all_; }
  const Contents& of(uint32_t flow) const { return of_flow_[flow]; }
  uint32_t flows() const { return flows_; }

 private:
  void add(const DepartureLog::Departure& departure) {
    Contents& own = of_flow_[departure.flow];
    flows_ += own.packets == 0;
    own.bytes += departure.bytes;
    ++own.packets;
    all_.bytes += departure.bytes;
    ++all_.packets;
  }
  void remove(const DepartureLog::Departure& departure) {
    Contents& own = of_flow_[departure.flow];
    own.bytes -= departure.bytes;
    --own.packets;
    flows_ -= own.packets == 0;
    all_.bytes -= departure.bytes;
    --all_.packets;
  }

  uint64_t begin_ = 0, end_ = 0;
  std::vector<Contents> of_flow_ = {{}};  // by number; the first is FlowTable::kOthers
  Contents all_;
  uint32_t flows_ = 0;
};

}  // namespace tapline::queues
