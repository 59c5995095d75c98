#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "parsers/engine/zeroed_array.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Flows named by an event. Their keys have addresses, ports, protocol, VLAN and network ID, with source and destination
// as in one of the packets.
class ExemplarFlows {
 public:
  static constexpr size_t kMax = 8;

  // Adds the flow unless it is already included. Returns false if there is no room.
  bool add(const GroupKey& flow) {
    const auto known = flows();
    if (std::find(known.begin(), known.end(), flow) != known.end()) return true;
    if (size_ == kMax) return false;
    flows_[size_++] = flow;
    return true;
  }
  std::span<const GroupKey> flows() const { return {flows_.data(), size_}; }

 private:
  std::array<GroupKey, kMax> flows_;
  size_t size_ = 0;
};

// Flows of the packets that a window counts: the flow of each counter's first packet, and the flows of a sample of all
// packets. Other packets cost almost nothing. Not thread-safe.
//
// A packet is sampled whenever the window has a sixteenth more packets than at the last sample, so about 160 of 150,000
// packets are sampled, and any burst with a sixteenth of the window's packets is represented in the sample. The latest
// kSampled are kept.
class Exemplars {
 public:
  static constexpr size_t kSampled = 128;

  // Allocates room for the first flows of this many counters.
  explicit Exemplars(size_t counters) : first_(counters * sizeof(GroupKey)) {}

  void populate(size_t bytes) const { first_.populate(bytes); }

  // REQUIRES, here and below: `place` is less than the number of counters.
  void set_first(size_t place, const Sample& sample) { first()[place] = flow_of(sample); }
  const GroupKey& first(size_t place) const { return first()[place]; }

  // Returns true if a packet must be sampled when the window has this many packets.
  bool due(uint64_t packets) const { return packets >= next_; }
  void wait(uint64_t packets) { next_ = packets + 1 + packets / 16; }
  // Adds a packet to the sample. `counter` identifies the packet's counter.
  void add(uint32_t counter, const Sample& sample) {
    const size_t slot = sampled_++ % kSampled;
    counters_[slot] = counter;
    flows_[slot] = flow_of(sample);
  }
  // Calls visit(counter, flow) for the sampled packets until it returns false.
  template <typename Visit>
  void visit(Visit visit) const {
    for (size_t slot = 0; slot < std::min(sampled_, kSampled); ++slot) {
      if (!visit(counters_[slot], flows_[slot])) return;
    }
  }

  void clear() { next_ = sampled_ = 0; }

 private:
  static GroupKey flow_of(const Sample& sample) {
    GroupKey flow;
    std::memcpy(flow.words, &sample.src_ip, sizeof flow.words);
    flow.words[4] &= 0xff'ffff'ffff;  // without TCP flags, IP version and number of packets
    return flow;
  }
  GroupKey* first() const { return reinterpret_cast<GroupKey*>(first_.data()); }

  ZeroedArray first_;
  uint64_t next_ = 0;
  size_t sampled_ = 0;
  std::array<uint32_t, kSampled> counters_;
  std::array<GroupKey, kSampled> flows_;
};

}  // namespace tapline::trigger
