// Alternative designs of a trigger engine, for comparison with ours. Each design counts the same packets for the same
// triggers and tests the same conditions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "parsers/packets/sample.h"
#include "parsers/trigger/match_sets.h"
#include "parsers/trigger/program.h"

namespace tapline::bench {

class Design {
 public:
  virtual ~Design() = default;
  virtual void process(std::span<const Sample> burst) = 0;
  // Closes the last window.
  virtual void finish() = 0;
  uint64_t events() const { return events_; }
  uint64_t late_sweeps() const { return late_sweeps_; }

 protected:
  uint64_t events_ = 0;
  uint64_t late_sweeps_ = 0;
};

// Tests every filter on every packet.
class LinearScan final : public Design {
 public:
  explicit LinearScan(const std::vector<trigger::Trigger>& triggers);
  void process(std::span<const Sample> burst) override;
  void finish() override;

 private:
  std::vector<trigger::Trigger> triggers_;
  std::vector<uint64_t> bytes_, thresholds_;
  int64_t window_ns_, end_ns_ = 0;
};

// Matches packets as the engine does, then adds each packet to each of its triggers.
class UpdatePerTrigger final : public Design {
 public:
  explicit UpdatePerTrigger(const std::vector<trigger::Trigger>& triggers);
  void process(std::span<const Sample> burst) override;
  void finish() override;

 private:
  struct Counter {
    uint64_t packets, bytes;
  };
  std::shared_ptr<const trigger::Program> program_;
  trigger::MatchSets sets_;
  std::vector<Counter> counters_;
  std::vector<uint64_t> thresholds_;
  int64_t window_ns_, end_ns_ = 0;
};

// Trumpet's design. Packets are counted in a flow table, with prefetching. A new flow is matched by tuple-space search,
// with a hash table for each wildcard pattern. Between bursts, a sweep adds the flows of the last window to their
// triggers. Written for this comparison, without Trumpet's limits (16 triggers per flow, 65,536 flows): here a flow can
// match any number of triggers, and the table grows to 4 million flows.
class FlowTable final : public Design {
 public:
  explicit FlowTable(const std::vector<trigger::Trigger>& triggers);
  void process(std::span<const Sample> burst) override;
  void finish() override;

 private:
  static constexpr uint32_t kBuckets = 1 << 23, kMaxFlows = 1 << 22;
  static constexpr uint32_t kFlowsPerBurst = 64;  // flows swept after each burst
  struct alignas(64) Flow {
    uint64_t addresses;
    uint64_t ports;     // ports and protocol
    uint64_t bytes[2];  // indexed by the parity of the window
    uint32_t packets[2];
    uint32_t triggers;  // offset of the flow's list of triggers; flows share lists
    uint32_t window;    // the last window with packets
  };
  struct Masked {
    uint64_t addresses, ports;
    bool operator==(const Masked&) const = default;
  };
  struct Hash {
    size_t operator()(const Masked& key) const {
      return (key.addresses ^ key.ports * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 >> 20;
    }
  };
  struct Pattern {
    Masked mask;
    std::unordered_map<Masked, std::vector<uint32_t>, Hash> triggers;
  };

  static Masked key_of(const Sample& sample);
  uint32_t match(const Masked& key);
  void close_window();
  void sweep(uint32_t flows);
  void test();

  std::vector<Pattern> patterns_;
  std::map<std::vector<uint32_t>, uint32_t> known_lists_;
  std::vector<uint32_t> lists_;  // concatenated lists: the length, then the triggers
  std::vector<uint32_t> buckets_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> touched_[2];
  std::vector<uint64_t> bytes_, thresholds_;
  std::vector<uint32_t> scratch_;
  int64_t window_ns_, end_ns_ = 0;
  uint32_t window_ = 1;
  size_t swept_ = 0;
  bool tested_ = true;
};

}  // namespace tapline::bench
