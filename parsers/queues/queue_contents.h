#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parsers/queues/busy_period.h"
#include "parsers/queues/departure_log.h"
#include "parsers/queues/flow_table.h"
#include "parsers/queues/max_delay.h"
#include "parsers/queues/passage.h"
#include "parsers/queues/queue_window.h"
#include "parsers/queues/wait_ledger.h"

namespace tapline::queues {

struct ContentsOptions {
  uint32_t max_flows = 1 << 16;     // flows in the queue at a time, or referenced
  uint32_t max_packets = 1 << 20;   // maximum number of stored departures: those during the longest wait
  int64_t reordering_ns = 100'000;  // how much earlier a packet may have arrived than one that left before it
  int64_t victim_delay_ns = 500'000;
  // 0: the contents are the packets that left while a packet waited. Otherwise they are the packets that left within
  // the longest recent delay of any class, which decays with this time constant (ConQuest section 3.6).
  int64_t across_classes_decay_ns = 0;
  // True if packets that are not added may pass through the queue. All findings are then cut, unless the link's speed
  // is known.
  bool incomplete = false;
  // Bounds the bytes that are missing from incomplete findings, since the link can't send more during a wait. 0:
  // unknown.
  uint64_t link_bits_per_second = 0;
};

// The contents that a packet found in the queue or, if its arrival is unknown, the most that it may have found.
struct Finding {
  uint64_t queue_bytes = 0;
  uint64_t own_bytes = 0;  // bytes of the packet's own flow
  uint32_t queue_packets = 0, own_packets = 0;
  uint32_t flow = FlowTable::kOthers;
  uint32_t flows = 0;
  // Maximum error of the bytes, due to an uncertain arrival or packets that were not added.
  uint64_t error_bytes = 0;
  bool arrival_known = false;
  // True if there may have been more bytes than these, even beyond error_bytes: packets were not added, or the log does
  // not reach back to the arrival.
  bool cut = false;

  double share() const {
    return queue_bytes == 0 ? 0 : static_cast<double>(own_bytes) / static_cast<double>(queue_bytes);
  }
};

// A busy period with victims. Times are those of the departures' clock.
struct Burst {
  struct Flow {
    uint64_t flow_key = 0;
    uint32_t flow = 0;
    BusyPeriod::Culprit bytes;  // byte × victims
    BusyPeriod::Waits waits;
    uint64_t blamed_ns = 0;  // time that packets of all flows waited while packets of this flow were sent
    bool is_main = false;    // true for the kMaxMain largest culprits, and for the other flows that waited most
  };
  static constexpr size_t kMaxCulprits = 16;
  static constexpr size_t kMaxMain = 8;
  static constexpr size_t kMaxFlows = kMaxCulprits + kMaxMain;

  int64_t begin_ns = 0;  // arrival of the packet that found the queue empty
  int64_t end_ns = 0;    // departure of the last packet
  int64_t max_delay_ns = 0;
  uint64_t peak_bytes = 0;
  uint64_t packets = 0, bytes = 0;  // packets that left
  uint64_t victims = 0;
  uint64_t lost = 0;  // packets that never left
  uint32_t flows = 0;
  // The largest culprits, and the flows whose packets waited longest in total: at most kMaxFlows, in order of direct
  // bytes.
  std::vector<Flow> reported;
  BusyPeriod::Culprit all;  // the sum over all flows
};

class BurstSink {
 public:
  virtual ~BurstSink() = default;
  virtual void burst(const Burst& burst) = 0;
};

// The exact contents of one queue, by flow, from its passages in order of departure. Not thread-safe. Bounded: a flow
// without room is counted as FlowTable::kOthers, and departures beyond max_packets are evicted, which findings show.
class QueueContents {
 public:
  // `bursts` may be null.
  QueueContents(const ContentsOptions& options, BurstSink* bursts);

  // REQUIRES: passage.departure_ns does not decrease.
  Finding add(const Passage& passage);
  // Records that a packet never left.
  void lose() { ++burst_.lost; }
  // Reports the current burst, if it has victims. REQUIRES: later packets find the queue empty, or none follow.
  void finish();
  bool in_burst() const { return burst_.packets > 0; }

  const FlowTable& flows() const { return flows_; }
  // Keeps a flow's number and sums until released.
  void hold(uint32_t flow) { flows_.add_reference(flow); }
  void release(uint32_t flow) { flows_.release(flow); }
  QueueFlow& flow(uint32_t number) { return flows_[number]; }

  void prefetch(uint64_t flow_key) const { flows_.prefetch(flow_key); }

  const WaitLedger& waits() const { return waits_; }
  const BusyPeriod& period() const { return period_; }
  const QueueWindow& window() const { return window_; }

  uint64_t evicted() const { return evicted_; }  // departures evicted because the log was full
  uint64_t packets_kept() const { return log_.end() - log_.first(); }
  uint64_t memory_bytes() const { return log_.memory_bytes(); }

 private:
  void make_room();
  // Returns true if the packets that a packet waited for may differ from those in its window.
  bool separate_waits() const { return options_.across_classes_decay_ns > 0; }
  void move(int64_t from_ns, int64_t arrival_ns, uint64_t end);
  void entered(QueueFlow& flow, uint64_t number);
  void left(QueueFlow& flow, uint64_t number);
  Finding finding(const Passage& passage, uint32_t flow, int64_t from_ns) const;
  bool bounds_missing() const { return options_.incomplete && options_.link_bits_per_second != 0; }
  uint64_t most_sent(int64_t time_ns) const;
  void begin_passage(const Passage& passage, uint32_t flow);
  void follow_period(const Passage& passage, const Finding& finding);
  void close_period();
  void hold_period_flows();
  void trim(int64_t from_ns);

  ContentsOptions options_;
  BurstSink* bursts_;
  FlowTable flows_;
  DepartureLog log_;
  QueueWindow window_;
  WaitLedger waits_;
  DepartureRange waits_range_;  // used if it differs from the window's
  BusyPeriod period_;
  MaxDelay max_delay_;
  Burst burst_;
  uint32_t longest_packet_bytes_ = 1514;    // an Ethernet frame, or a longer one that was added
  std::vector<uint64_t> blamed_before_ns_;  // by place in period_.flows(): the flow's blame before the busy period
  int64_t cut_until_ns_;
  uint64_t evicted_ = 0;
};

}  // namespace tapline::queues
