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

  // Adds a passage. Returns what its packet found. REQUIRES: passage.departure_ns does not decrease.
  Finding add(const Passage& passage) {
    Finding finding;
    find(passage, record(passage), &finding);
    return finding;
  }
  // The two halves of add(). record() adds a passage and returns the number of its flow; then, find() writes what its
  // packet found directly to its destination. Copying a finding that was just written would stall the CPU, because a
  // load that is wider than the preceding stores can't be forwarded from the store buffer.
  [[gnu::always_inline]] uint32_t record(const Passage& passage) {
    return is_simple_ ? record_as<true>(passage) : record_any(passage);
  }
  [[gnu::always_inline]] void find(const Passage& passage, uint32_t flow, Finding* finding) const;
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
  using Departure = DepartureLog::Departure;

  // Trimming many departures together costs less than trimming after each packet.
  static constexpr uint64_t kTrimEvery = 32;

  // record() for any queue, or for a simple one, which has no bursts, no classes and no bound of missing bytes. The
  // code for simple queues omits these, which saves 60 instructions per packet.
  template <bool kSimple>
  [[gnu::always_inline]] uint32_t record_as(const Passage& passage);
  uint32_t record_any(const Passage& passage);

  void make_room(int64_t from_ns);
  void evict_first();
  // Returns true if the packets that a packet waited for may differ from those in its window.
  bool separate_waits() const { return options_.across_classes_decay_ns > 0; }
  static int64_t earliest_ns(const Passage& passage) {
    return passage.arrival_known ? passage.arrival_ns : passage.earliest_ns;
  }
  // Returns the time since which the packets left that a packet found.
  int64_t from_ns(const Passage& passage) const {
    return separate_waits() ? passage.departure_ns - max_delay_.delay_ns() : earliest_ns(passage);
  }
  template <bool kSimple>
  [[gnu::always_inline]] void move(int64_t from_ns, int64_t arrival_ns, uint64_t end);
  template <bool kSimple>
  [[gnu::always_inline]] void entered(QueueFlow& flow, const Departure& departure, int64_t service_ns);
  template <bool kSimple>
  [[gnu::always_inline]] void left(QueueFlow& flow, const Departure& departure, int64_t service_ns);
  bool bounds_missing() const { return options_.incomplete && options_.link_bits_per_second != 0; }
  uint64_t most_sent(int64_t time_ns) const;
  void begin_passage(const Passage& passage, uint32_t flow);
  void follow_period(const Passage& passage, uint32_t flow);
  void close_period();
  void hold_period_flows();

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
  bool is_simple_;
  int64_t cut_until_ns_;
  uint64_t room_until_ = 0;  // record() makes room before it adds the departure with this number
  uint64_t evicted_ = 0;
};

template <bool kSimple>
inline uint32_t QueueContents::record_as(const Passage& passage) {
  const int64_t earliest = earliest_ns(passage);
  int64_t from = earliest;
  if (!kSimple) {
    longest_packet_bytes_ = std::max(longest_packet_bytes_, passage.bytes);
    if (separate_waits() && passage.arrival_known) max_delay_.observe(passage.departure_ns, passage.delay_ns());
    from = from_ns(passage);
  }
  if (log_.end() >= room_until_) make_room(std::min(from, passage.earliest_ns));
  const uint32_t flow = flows_.hold(passage.flow_key);
  const uint64_t number = log_.push(passage.departure_ns, earliest, flow, passage.bytes);
  move<kSimple>(from, earliest, number);
  if (!kSimple && bursts_ != nullptr) begin_passage(passage, flow);
  if (passage.arrival_known) {
    const DepartureRange& waits = !kSimple && separate_waits() ? waits_range_ : window_.range();
    waits_.settle(passage, flows_[flow], waits.end_start_ns(), flows_[log_[waits.begin()].flow],
                  waits.begin_start_ns());
  }
  if (!kSimple && bursts_ != nullptr) follow_period(passage, flow);
  return flow;
}

// Moves the window to the departures since from_ns, and the ledger's window to those since the packet arrived.
template <bool kSimple>
inline void QueueContents::move(int64_t from_ns, int64_t arrival_ns, uint64_t end) {
  window_.move(
      log_, flows_, from_ns, end,
      [this](QueueFlow& flow, const Departure& departure, int64_t service_ns) {
        entered<kSimple>(flow, departure, service_ns);
      },
      [this](QueueFlow& flow, const Departure& departure, int64_t service_ns) {
        left<kSimple>(flow, departure, service_ns);
      });
  if (kSimple || !separate_waits()) return;
  waits_range_.move(
      log_, arrival_ns, end,
      [this](const Departure& departure, int64_t service_ns) { waits_.entered(flows_[departure.flow], service_ns); },
      [this](const Departure& departure, int64_t service_ns) { waits_.left(flows_[departure.flow], service_ns); });
}

template <bool kSimple>
inline void QueueContents::entered(QueueFlow& flow, const Departure& departure, int64_t service_ns) {
  if (kSimple || !separate_waits()) waits_.entered(flow, service_ns);
  if (!kSimple && bursts_ != nullptr) period_.entered(departure);
}

template <bool kSimple>
inline void QueueContents::left(QueueFlow& flow, const Departure& departure, int64_t service_ns) {
  if (kSimple || !separate_waits()) waits_.left(flow, service_ns);
  if (!kSimple && bursts_ != nullptr) period_.left(departure);
}

inline void QueueContents::find(const Passage& passage, uint32_t flow, Finding* finding) const {
  const QueueFlow& own = flows_[flow];
  finding->queue_bytes = window_.bytes(log_);
  finding->own_bytes = own.window_bytes;
  finding->queue_packets = window_.packets();
  finding->own_packets = own.window_packets;
  finding->flow = flow;
  finding->flows = window_.flows();
  finding->error_bytes = 0;
  finding->arrival_known = passage.arrival_known;
  finding->cut = from_ns(passage) <= cut_until_ns_;
  if (passage.earliest_ns < passage.latest_ns)
    finding->error_bytes = log_.bytes_between(passage.earliest_ns, std::min(passage.latest_ns, passage.departure_ns));
  if (bounds_missing()) [[unlikely]] {
    const uint64_t most = most_sent(passage.departure_ns - from_ns(passage));
    finding->error_bytes = most - std::min(most, finding->queue_bytes);
    finding->cut |= finding->queue_bytes > most;  // the link is faster, so its speed bounds nothing
  }
}

}  // namespace tapline::queues
