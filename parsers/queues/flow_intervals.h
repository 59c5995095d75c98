#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "parsers/queues/departure_headers.h"
#include "parsers/queues/queue_contents.h"

namespace tapline::queues {

// The flows of one queue in the current interval, from its passages in order of departure. Not thread-safe.
//
// The sums of an interval lie one after another, in the order of the flows' first packets, so that a packet's sums stay
// in the cache regardless of the number of flows that the queue knows:
//
//   number of the flow ─▶ slots_ (4 bytes each) ─▶ active_
class FlowIntervals {
 public:
  struct Flow {
    uint32_t number = 0;              // its number in the queue's contents
    DepartureHeader latest;           // header of the flow's latest packet
    Finding finding;                  // the contents found by the packet that waited longest
    int64_t delay_ns = 0;             // wait of that packet
    uint64_t packets = 0, bytes = 0;  // packets that left
    uint64_t lost = 0;                // packets that never left
    uint64_t error_bytes = 0;         // the maximum of all findings
    bool cut = false;                 // true if some finding is
    uint64_t waited_ns = 0;           // total wait of the flow's packets
    uint64_t blamed_ns = 0;           // total wait of all packets while one of the flow's was sent
  };

  explicit FlowIntervals(const ContentsOptions& options) : contents_(options, nullptr) {}

  void add(const Passage& passage, const DepartureHeader& header) {
    const Finding found = contents_.add(passage);
    if (found.flow == FlowTable::kOthers) {
      ++without_room_;
      return;
    }
    Flow& flow = active_flow(found, passage.arrival_known);
    flow.latest = header;
    ++flow.packets;
    flow.bytes += passage.bytes;
    flow.error_bytes = std::max(flow.error_bytes, found.error_bytes);
    flow.cut |= found.cut;
    if (!passage.arrival_known || passage.delay_ns() < flow.delay_ns) return;
    flow.delay_ns = passage.delay_ns();
    flow.finding = found;
  }

  // A packet of this flow never left. Counts it if another packet of the flow has left in this interval.
  void lose(uint64_t flow_key) {
    const uint32_t number = contents_.flows().find(flow_key);
    if (number < slots_.size() && slots_[number] != 0) ++active_[slots_[number] - 1].lost;
  }
  void miss(int64_t until_ns) { contents_.miss(until_ns); }

  // Ends the interval: calls report(const Flow&) for each of its flows.
  template <typename Report>
  void close(Report report) {
    for (size_t i = 0; i < count_; ++i) {
      Flow& flow = active_[i];
      Sums& before = before_[flow.number];
      const Sums now = {contents_.waits().waited_ns(flow.number), contents_.waits().blamed_ns(flow.number)};
      flow.waited_ns = now.waited_ns - before.waited_ns;
      flow.blamed_ns = now.blamed_ns - before.blamed_ns;
      before = now;
      report(std::as_const(flow));
      slots_[flow.number] = 0;
      contents_.release(flow.number);
    }
    count_ = 0;
  }

  // Packets of flows without a separate entry, since the last call.
  uint64_t take_without_room() { return std::exchange(without_room_, 0); }

 private:
  struct Sums {
    uint64_t waited_ns = 0, blamed_ns = 0;
  };

  Flow& active_flow(const Finding& found, bool arrival_known) {
    if (found.flow >= slots_.size()) {
      slots_.resize(found.flow + found.flow / 2 + 1);
      before_.resize(slots_.size());
    }
    if (found.is_new) before_[found.flow] = {};
    uint32_t& slot = slots_[found.flow];
    if (slot != 0) return active_[slot - 1];
    contents_.hold(found.flow);
    if (count_ == active_.size()) active_.emplace_back();
    Flow& flow = active_[count_];
    slot = static_cast<uint32_t>(++count_);
    // The first packet sets the header, and the finding if its arrival is known.
    flow.number = found.flow;
    flow.delay_ns = 0;
    flow.packets = flow.bytes = flow.lost = flow.error_bytes = 0;
    flow.cut = false;
    if (!arrival_known) flow.finding = {};
    return flow;
  }

  QueueContents contents_;
  std::vector<uint32_t> slots_;  // index in active_ plus 1, by flow number; 0: no packet in this interval
  std::vector<Sums> before_;     // sums that earlier intervals reported, by flow number
  std::vector<Flow> active_;     // the first count_ are the interval's; the others keep their memory
  size_t count_ = 0;
  uint64_t without_room_ = 0;
};

}  // namespace tapline::queues
