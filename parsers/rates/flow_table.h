#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapline::rates {

// A bounded table of flows, keyed by a 64-bit keyed hash: two flows with equal hashes count as one. A bucket is a cache
// line of eight keys, so a search reads one line of keys:
//
//   keys    │ k0 k1 k2 k3 k4 k5 k6 k7 │ │ …        0: free
//   uses    │ u0 u1 u2 u3 u4 u5 u6 u7 │ │ …        samples since the flow took its slot, and the latest interval
//   entries │ e0 e1 e2 e3 e4 e5 e6 e7 │ │ …
//
// A new flow takes a free slot, else the slot of a flow without a sample for two intervals, else that of the flow with
// the fewest samples. So a flood of flows evicts mostly its own flows, and otherwise only one flow of each bucket that
// eight active flows fill. `Evict`, a functor, is called with the entry of each flow that loses its slot to another
// one, idle or not. Memory is allocated once; entries are touched only on use. Not thread-safe.
template <typename Entry, typename Evict>
class FlowTable {
 public:
  // Rounds the capacity up to a power of two. REQUIRES: capacity >= 8.
  FlowTable(uint32_t capacity, Evict evict) : evict_(std::move(evict)) {
    uint32_t buckets = 1;
    while (buckets * kWays < capacity) buckets *= 2;
    mask_ = buckets - 1;
    keys_.resize(buckets);
    uses_.resize(buckets);
    entries_ = std::allocator<Entry>().allocate(size_t{buckets} * kWays);
  }
  ~FlowTable() { std::allocator<Entry>().deallocate(entries_, keys_.size() * kWays); }
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  // Prefetch a flow's bucket, then its entry. For a burst, call prefetch_bucket() for all flows, then prefetch_entry()
  // for all, then find(), so that a chain of cache misses stalls once per burst instead of once per packet.
  void prefetch_bucket(uint64_t key) const {
    __builtin_prefetch(&keys_[bucket_of(key)]);
    __builtin_prefetch(&uses_[bucket_of(key)], 1);
  }
  void prefetch_entry(uint64_t key) const {
    const size_t bucket = bucket_of(key);
    const uint32_t way = way_of(bucket, key);
    if (way == kWays) return;
    const auto* entry = reinterpret_cast<const std::byte*>(&entries_[bucket * kWays + way]);
    for (size_t line = 0; line < sizeof(Entry); line += 64) __builtin_prefetch(entry + line, 1);
  }

  // Returns the flow's entry, or null if it has none. Counts a sample: call it once per sample.
  Entry* find(uint64_t key) {
    const size_t bucket = bucket_of(key);
    const uint32_t way = way_of(bucket, key);
    if (way == kWays) return nullptr;
    Use& use = uses_[bucket].of[way];
    use.samples = static_cast<uint8_t>(std::min(use.samples + 1, 255));
    use.interval = interval_;
    return &entries_[bucket * kWays + way];
  }

  // Does the same as find(), but counts no sample.
  Entry* peek(uint64_t key) {
    const size_t bucket = bucket_of(key);
    const uint32_t way = way_of(bucket, key);
    return way == kWays ? nullptr : &entries_[bucket * kWays + way];
  }

  // Returns a new entry for the flow. Always succeeds, but may evict another flow. REQUIRES: the flow has none.
  Entry& take(uint64_t key) {
    const size_t bucket = bucket_of(key);
    const uint32_t way = place_in(bucket);
    uint64_t& place = keys_[bucket].of[way];
    const size_t index = bucket * kWays + way;
    if (place != 0) evict_(entries_[index]);
    place = key_of(key);
    uses_[bucket].of[way] = {0, interval_};
    return *new (&entries_[index]) Entry();
  }

  // Frees the entry of a flow that has ended.
  void release(uint64_t key) {
    const size_t bucket = bucket_of(key);
    const uint32_t way = way_of(bucket, key);
    if (way != kWays) keys_[bucket].of[way] = 0;
  }

  // Calls visit(entry) for all entries.
  template <typename Visit>
  void for_each(Visit visit) {
    for (size_t bucket = 0; bucket < keys_.size(); ++bucket) {
      for (uint32_t way = 0; way < kWays; ++way) {
        if (keys_[bucket].of[way] != 0) visit(entries_[bucket * kWays + way]);
      }
    }
  }

  void next_interval() { ++interval_; }

 private:
  static_assert(std::is_trivially_copyable<Entry>::value && std::is_trivially_destructible<Entry>::value,
                "entries must be trivial, since they are discarded without calling a destructor");
  static constexpr uint32_t kWays = 8;
  static constexpr uint8_t kIdleIntervals = 2;

  struct alignas(64) Keys {
    uint64_t of[kWays] = {};
  };
  struct Use {
    uint8_t samples = 0;   // after the first one, up to 255
    uint8_t interval = 0;  // interval of the latest sample; wraps around, so a flow may look more recent than it is
  };
  struct Uses {
    Use of[kWays];
  };

  // Replaces the key 0, which marks a free slot.
  static uint64_t key_of(uint64_t key) { return key == 0 ? 1 : key; }
  // Uses the high bits, because the engine's connection table uses the low ones, which are equal for all flows of one
  // bucket there.
  size_t bucket_of(uint64_t key) const { return (key >> 32) & mask_; }

  uint32_t way_of(size_t bucket, uint64_t key) const {
    const Keys& keys = keys_[bucket];
    for (uint32_t way = 0; way < kWays; ++way) {
      if (keys.of[way] == key_of(key)) return way;
    }
    return kWays;
  }

  uint32_t place_in(size_t bucket) const {
    uint32_t place = 0;
    int min = 256;
    for (uint32_t way = 0; way < kWays; ++way) {
      if (keys_[bucket].of[way] == 0) return way;
      const Use& use = uses_[bucket].of[way];
      const bool idle = static_cast<uint8_t>(interval_ - use.interval) >= kIdleIntervals;
      const int samples = idle ? -1 : use.samples;
      if (samples < min) min = samples, place = way;
    }
    return place;
  }

  Evict evict_;
  uint32_t mask_ = 0;
  uint8_t interval_ = 0;
  std::vector<Keys> keys_;
  std::vector<Uses> uses_;
  Entry* entries_ = nullptr;
};

}  // namespace tapline::rates
