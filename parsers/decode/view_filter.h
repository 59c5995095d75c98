#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {

struct ViewOptions {
  // The packet time for which a packet is remembered. It must exceed the longest delay, including queues, from a
  // packet's first tap to its last one.
  int64_t horizon_ns = 1'000'000'000;
  uint32_t max_packets = 1 << 20;  // packets remembered, rounded up to a power of two
  uint32_t taps = 2;               // taps that may show a packet
};

// Recognises repeated views of one packet at several taps. One per lane; not thread-safe.
//
// A packet is a repeated view if another tap has shown it within the horizon, and this tap has not. It is a view of the
// oldest such packet, since queues keep the order of equal packets. A packet that its own tap has shown before is a new
// packet, such as a retransmission. Packets with equal digests (packet_digest.h) count as equal.
//
//   buckets_   digest ─▶ number of the latest packet      entries_   a ring by number; previous: same bucket, earlier
//
// Numbers only grow, so a link to an overwritten packet is recognised by its small number, and nothing has to be
// unlinked. Takes 32 bytes per packet and 8 per bucket; memory is touched on use.
class ViewFilter {
 public:
  static constexpr uint32_t kMaxTaps = 64;

  ViewFilter(const ViewOptions& options, HashKey key);

  // Returns true if the packet is a repeated view. Remembers it otherwise. Times may run backwards, by less than the
  // horizon. REQUIRES: decode() returned kOk or kFragment; packet.tap < kMaxTaps.
  bool is_repeated(const Packet& packet);

  // Returns the number of packets that the filter can remember.
  uint64_t capacity() const { return mask_ + 1; }
  // Returns the number of packets that may have been counted again: those that were evicted within the horizon, before
  // all taps had shown them, because memory was full; and those that were looked up in a bucket with more than
  // kLongestWalk packets.
  uint64_t forgotten_early() const { return forgotten_early_; }

 private:
  // Equal packets share a bucket. This limit bounds the cost of a flood of equal packets.
  static constexpr int kLongestWalk = 64;

  struct Entry {
    uint64_t digest;
    int64_t time_ns;
    uint64_t taps;  // bit t is set if tap t has shown it
    uint64_t previous;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  template <typename T>
  using Zeroed = std::unique_ptr<T[], Free>;

  Entry& at(uint64_t number) { return entries_[number & mask_]; }
  bool remembers(uint64_t number) const { return number != 0 && number + mask_ + 1 >= next_; }
  bool is_recent(const Entry& entry, int64_t time_ns) const;
  Entry* find(uint64_t digest, const Packet& packet);
  void remember(uint64_t digest, const Packet& packet);

  ViewOptions options_;
  HashKey key_;
  uint64_t mask_;
  Zeroed<Entry> entries_;
  Zeroed<uint64_t> buckets_;  // number of the latest packet; 0: none
  uint64_t next_ = 1;
  uint64_t forgotten_early_ = 0;
};

}  // namespace tapline
