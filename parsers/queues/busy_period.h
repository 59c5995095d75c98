#pragma once

#include <cstdint>
#include <vector>

#include "parsers/queues/departure_log.h"
#include "parsers/queues/flow_table.h"

namespace tapline::queues {

// Attributes the waits of a busy period's victims to the flows that caused them. A victim is a packet that waited for
// victim_delay_ns or more. A busy period lasts from a packet that finds the queue empty to the next one that does. Not
// thread-safe.
//
//   direct     left while the victim waited
//   indirect   left in the busy period before the victim arrived
//   original   raised the queue to a level that still existed when the victim arrived
//
// Each is the sum, over all victims, of the bytes of such packets. The direct culprits of one victim are the
// contents of the queue that it found. So are the original ones, but counted by level instead of by packet, so both
// sums are equal over all flows.
//
//   levels_   bottom ─▶ top: the flow that raised the queue by this many bytes. An arriving packet truncates the levels
//             to the queue that it finds, then adds its bytes.
//
// With v = the number of victims so far, a sum over victims of a flow's bytes in a set is
//
//   Σ (v when a packet left the set - v when it entered) × bytes   =   settled + v × bytes in the set
//
// so a packet costs amortised constant time. Sums wrap around, and are correct once all terms are added.
class BusyPeriod {
 public:
  struct Culprit {
    uint64_t direct = 0, indirect = 0, original = 0;  // byte × victims
  };
  // The waits of a flow's packets whose arrivals are known.
  struct Waits {
    uint64_t victims = 0;
    int64_t max_ns = 0, sum_ns = 0;
  };

  // Starts a new period, with all sums 0, after `bytes_before` bytes have left. REQUIRES: the window is empty, or the
  // period is restarted once it is.
  void restart(uint64_t bytes_before) {
    ++period_;
    begin_ = bytes_before;
    victims_ = 0;
    levels_.clear();
    depth_ = 0;
    flows_.clear();
  }

  // Record that the window gained or lost a departure.
  void entered(const DepartureLog::Departure& departure) {
    OfFlow& flow = of(departure.flow);
    flow.direct.add(departure.bytes, victims_);
    if (departure.bytes_before >= left_end_) return;
    left_end_ = departure.bytes_before;  // the window's beginning moved back
    if (departure.bytes_before >= begin_) flow.indirect.add(-uint64_t{departure.bytes}, victims_);
  }
  void left(const DepartureLog::Departure& departure) {
    OfFlow& flow = of(departure.flow);
    flow.direct.add(-uint64_t{departure.bytes}, victims_);
    if (departure.bytes_before >= begin_) flow.indirect.add(departure.bytes, victims_);
    left_end_ = departure.bytes_before + departure.bytes;
  }

  // Adds the flow to the period's flows.
  void join(uint32_t flow) { of(flow); }
  // Adds a packet of the flow that found found_bytes in the queue and waited for delay_ns. `victim` is true if delay_ns
  // is victim_delay_ns or more.
  void arrive(uint32_t flow, uint32_t bytes, uint64_t found_bytes, int64_t delay_ns, bool victim) {
    truncate(found_bytes);
    // Packets with unknown arrivals account for the rest of the queue.
    if (depth_ < found_bytes) raise(FlowTable::kOthers, found_bytes - depth_);
    victims_ += victim;
    raise(flow, bytes);
    Waits& waits = of(flow).waits;
    waits.victims += victim;
    waits.max_ns = delay_ns > waits.max_ns ? delay_ns : waits.max_ns;
    waits.sum_ns += delay_ns;
  }

  uint64_t victims() const { return victims_; }
  // Returns the flows of the period, without duplicates.
  const std::vector<uint32_t>& flows() const { return flows_; }
  Culprit culprit(uint32_t flow) const {
    const OfFlow& own = of_flow_[flow];
    if (own.period != period_) return {};
    return {own.direct.sum(victims_), own.indirect.sum(victims_), own.original.sum(victims_)};
  }
  Waits waits(uint32_t flow) const { return of_flow_[flow].period == period_ ? of_flow_[flow].waits : Waits(); }

 private:
  struct Sum {
    uint64_t settled = 0;
    uint64_t bytes = 0;  // bytes in the set
    void add(uint64_t more, uint64_t victims) {
      bytes += more;
      settled -= victims * more;
    }
    uint64_t sum(uint64_t victims) const { return settled + victims * bytes; }
  };
  struct OfFlow {
    Sum direct, indirect, original;
    Waits waits;
    uint64_t period = 0;
  };
  struct Level {
    uint32_t flow;
    uint64_t bytes;
  };

  OfFlow& of(uint32_t flow) {
    if (flow >= of_flow_.size()) of_flow_.resize(flow + flow / 2 + 1);
    OfFlow& own = of_flow_[flow];
    if (own.period != period_) {
      own = {};
      own.period = period_;
      flows_.push_back(flow);
    }
    return own;
  }

  void truncate(uint64_t depth) {
    while (depth_ > depth) {
      Level& top = levels_.back();
      const uint64_t gone = depth_ - depth < top.bytes ? depth_ - depth : top.bytes;
      of(top.flow).original.add(-gone, victims_);
      depth_ -= gone;
      top.bytes -= gone;
      if (top.bytes == 0) levels_.pop_back();
    }
  }

  void raise(uint32_t flow, uint64_t bytes) {
    of(flow).original.add(bytes, victims_);
    depth_ += bytes;
    if (!levels_.empty() && levels_.back().flow == flow) {
      levels_.back().bytes += bytes;
    } else {
      levels_.push_back({flow, bytes});
    }
  }

  uint64_t period_ = 1;
  uint64_t victims_ = 0;
  uint64_t depth_ = 0;     // Σ bytes of levels_
  uint64_t begin_ = 0;     // bytes that had left when the period began
  uint64_t left_end_ = 0;  // bytes that had left the window
  std::vector<Level> levels_;
  std::vector<OfFlow> of_flow_ = {{}};  // by number; the first is FlowTable::kOthers
  std::vector<uint32_t> flows_;
};

}  // namespace tapline::queues
