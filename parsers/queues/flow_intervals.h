#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "parsers/queues/queue_contents.h"

namespace tapline::queues {

// The flows of one queue in the current interval, from its passages in order of departure. Not thread-safe.
//
// The flows of an interval are adjacent in memory, in the order of their first packets, so they stay in the cache
// regardless of the number of flows that the queue knows:
//
//   QueueFlow::interval_place ─▶ active_
class FlowIntervals {
 public:
  struct Wait {
    Finding finding;  // the contents that the packet found
    int64_t delay_ns = 0;
  };
  struct Flow {
    uint32_t number = 0;              // its number in the queue's contents
    uint32_t tag = 0;                 // tag of the flow's first passage in the interval
    Wait wait;                        // the longest one
    uint64_t packets = 0, bytes = 0;  // packets that left
    uint64_t error_bytes = 0;         // maximum over all findings
    bool cut = false;                 // true if some finding is cut
  };
  // Kept in QueueFlow until the interval ends.
  struct Sums {
    uint64_t waited_ns = 0;  // total wait of the flow's packets
    uint64_t blamed_ns = 0;  // total time that all packets waited while packets of the flow were sent
    uint64_t lost = 0;       // packets that never left
  };

  explicit FlowIntervals(const ContentsOptions& options) : contents_(options, nullptr) {}

  // Adds a passage. Returns true if the interval keeps the passage's tag until close().
  bool add(const Passage& passage) {
    const uint32_t number = contents_.record(passage);
    if (number == FlowTable::kOthers) {
      ++without_room_;
      return false;
    }
    const uint32_t place = contents_.flow(number).interval_place;
    if (place == 0) {
      begin_flow(number, passage);
      return true;
    }
    Flow& flow = active_[place - 1];
    // It is hard to predict which packet waited longest, and writing costs less than a misprediction.
    const bool longest = passage.arrival_known && passage.delay_ns() >= flow.wait.delay_ns;
    Wait* const targets[] = {&ignored_, &flow.wait};
    Wait& wait = *targets[longest];
    contents_.find(passage, number, &wait.finding);
    wait.delay_ns = passage.delay_ns();
    ++flow.packets;
    flow.bytes += passage.bytes;
    flow.error_bytes = std::max(flow.error_bytes, wait.finding.error_bytes);
    flow.cut |= wait.finding.cut;
    return false;
  }

  // Counts a packet of the flow that never left. The next interval, or the current one, in which another packet of the
  // flow leaves reports it. Does nothing if the flow has no packet among the departures that are kept.
  void lose(uint64_t flow_key) {
    const uint32_t number = contents_.flows().find(flow_key);
    if (number != FlowTable::kOthers) ++contents_.flow(number).lost;
  }

  // Ends the interval. Calls report(const Flow&, const Sums&) for each of its flows.
  template <typename Report>
  void close(Report report) {
    for (size_t i = 0; i < count_; ++i) {
      const Flow& flow = active_[i];
      QueueFlow& account = contents_.flow(flow.number);
      const Sums sums = {account.waited_ns, contents_.waits().blamed_ns(account), std::exchange(account.lost, 0)};
      contents_.waits().clear(account);
      report(flow, sums);
      account.interval_place = 0;
      contents_.release(flow.number);
    }
    count_ = 0;
  }

  // Returns the number of packets since the last call whose flows had no room.
  uint64_t take_without_room() { return std::exchange(without_room_, 0); }

 private:
  // Adds the flow of a passage to the interval.
  [[gnu::always_inline]] void begin_flow(uint32_t number, const Passage& passage) {
    contents_.hold(number);
    if (count_ == active_.size()) active_.emplace_back();
    Flow& flow = active_[count_++];
    contents_.flow(number).interval_place = static_cast<uint32_t>(count_);
    flow.number = number;
    flow.tag = passage.tag;
    contents_.find(passage, number, &flow.wait.finding);
    flow.wait.delay_ns = passage.delay_ns();
    flow.packets = 1;
    flow.bytes = passage.bytes;
    flow.error_bytes = flow.wait.finding.error_bytes;
    flow.cut = flow.wait.finding.cut;
    if (!passage.arrival_known) flow.wait = {};
  }

  QueueContents contents_;
  std::vector<Flow> active_;  // the first count_ are the interval's; the others keep their memory
  size_t count_ = 0;
  Wait ignored_;  // written instead of a flow's wait
  uint64_t without_room_ = 0;
};

}  // namespace tapline::queues
