#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {

struct ViewOptions {
  // How long a packet is remembered, in packet time: more than the longest way, queues included, from its first tap to
  // its last.
  int64_t horizon_ns = 1'000'000'000;
  uint32_t max_packets = 1 << 20;  // remembered at a time, rounded up to a power of two
  uint32_t taps = 2;               // that may show a packet
};

// Recognises the views that several taps have of one packet. One per lane; not thread-safe.
//
// A packet is a repeated view if another tap has shown it within the horizon, and this tap has not: the oldest such
// packet is the one that it is a view of, since queues keep the order of equal packets. A packet that its own tap has
// shown before is a new one, such as a retransmission. Packets are equal if their digests are (packet_digest.h).
//
//   buckets_   digest ─▶ number of the latest packet      entries_   a ring by number; previous: same bucket, earlier
//
// Numbers grow, so a link to a packet that the ring has overwritten shows itself as too small, and nothing has to be
// unlinked. Takes 32 bytes for each packet and 8 for each bucket; memory is touched as packets need it.
class ViewFilter {
 public:
  static constexpr uint32_t kMostTaps = 64;

  ViewFilter(const ViewOptions& options, HashKey key);

  // Returns true if the packet is a repeated view. Remembers it otherwise. Times may go back, by less than the horizon.
  // REQUIRES: decode() returned kOk or kFragment; packet.tap < kMostTaps.
  bool is_repeated(const Packet& packet);

  // How many packets it remembers at a time.
  uint64_t capacity() const { return mask_ + 1; }
  // Packets that were forgotten within the horizon, and before all taps had shown them, for want of memory or among
  // more than kLongestWalk equal ones: each may have counted once more.
  uint64_t forgotten_early() const { return forgotten_early_; }

 private:
  // Equal packets share a bucket: this bounds the cost of a flood of them.
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
