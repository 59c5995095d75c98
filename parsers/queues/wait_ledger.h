#pragma once

#include <cstdint>
#include <vector>

#include "parsers/queues/departure_log.h"

namespace tapline::queues {

// Accounts for the time that packets wait: each nanosecond is blamed on the flow of the packet that the link served
// then, including the waiting packet itself. So the waits of all flows together equal the blame of all flows together
// plus the service before the log begins. A view of a DepartureLog. Not thread-safe.
//
// A departure is blamed by each packet that waits while it is served: those that leave with it or later, until one
// arrives after it. With g = the number of packets settled so far, a flow's blame is
//
//   Σ (g when it left the window - g when it entered) × service time   =   settled + g × Σ service time in the window
//
// so a packet costs constant time, regardless of the number of packets that it waited for. Sums wrap around, and are
// correct once all terms are added.
class WaitLedger {
 public:
  // The number now belongs to this flow, which may be new to the ledger. REQUIRES: the log has no departures of this
  // number.
  void admit(uint32_t flow) {
    if (flow >= of_flow_.size()) of_flow_.resize(flow + flow / 2 + 1);
    of_flow_[flow] = {};
  }

  // Settles departure `number`, the log's last; arrival_ns is its arrival.
  void settle(const DepartureLog& log, uint64_t number, int64_t arrival_ns) {
    enter(log, number);
    ++end_;
    while (begin_ < end_ && log[begin_].time_ns <= arrival_ns) leave(log, begin_++);
    while (begin_ > log.first() && log[begin_ - 1].time_ns > arrival_ns) enter(log, --begin_);
    ++settled_;
    of_flow_[log[number].flow].waited_ns += static_cast<uint64_t>(log[number].time_ns - arrival_ns);
    if (begin_ == end_) return;
    // It waited for a part of the first one's service only.
    const int64_t start_ns = log.start_ns(begin_);
    if (arrival_ns >= start_ns) {
      of_flow_[log[begin_].flow].settled_ns -= static_cast<uint64_t>(arrival_ns - start_ns);
    } else {
      unknown_ns_ += static_cast<uint64_t>(start_ns - arrival_ns);
    }
  }
  // As settle(), for a packet whose earliest possible arrival alone is known: others blame it, and it blames none.
  void add(const DepartureLog& log, uint64_t number, int64_t earliest_ns) {
    enter(log, number);
    ++end_;
    while (begin_ < end_ && log[begin_].time_ns <= earliest_ns) leave(log, begin_++);
  }

  // Removes the first departure, for which the log has no room. REQUIRES: the log still keeps it.
  void give_up_first(const DepartureLog& log) {
    if (begin_ == log.first()) leave(log, begin_++);
  }

  uint64_t begin() const { return begin_; }

  uint64_t waited_ns(uint32_t flow) const { return of_flow_[flow].waited_ns; }
  uint64_t blamed_ns(uint32_t flow) const { return of_flow_[flow].settled_ns + settled_ * of_flow_[flow].service_ns; }
  // Time spent waiting for packets before the log's first one.
  uint64_t unknown_ns() const { return unknown_ns_; }

 private:
  struct OfFlow {
    uint64_t waited_ns = 0;
    uint64_t settled_ns = 0;
    uint64_t service_ns = 0;  // service time of its departures in the window
  };

  void enter(const DepartureLog& log, uint64_t number) { count(log, number, 1); }
  void leave(const DepartureLog& log, uint64_t number) { count(log, number, -uint64_t{1}); }
  void count(const DepartureLog& log, uint64_t number, uint64_t sign) {
    OfFlow& flow = of_flow_[log[number].flow];
    const uint64_t service_ns = sign * static_cast<uint64_t>(log[number].time_ns - log.start_ns(number));
    flow.service_ns += service_ns;
    flow.settled_ns -= settled_ * service_ns;
  }

  uint64_t begin_ = 0, end_ = 0;
  uint64_t settled_ = 0;
  uint64_t unknown_ns_ = 0;
  std::vector<OfFlow> of_flow_ = {{}};  // by number; the first is FlowTable::kOthers
};

}  // namespace tapline::queues
