#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace tapline::queues {

// Gives each flow a small number, an index for the arrays of per-flow counts. A number stays with its flow while
// references to it exist, and is then reused. Not thread-safe.
//
// A flow that finds no room is counted under kOthers, which represents all such flows together.
class FlowTable {
 public:
  static constexpr uint32_t kOthers = 0;

  explicit FlowTable(uint32_t max_flows) : max_flows_(max_flows), buckets_(std::bit_ceil(uint64_t{max_flows} + 1)) {
    slots_.emplace_back();
  }

  // Adds a reference to the flow, which it may create: then *is_new is set, and array elements of its number are stale.
  // `key` is a keyed hash: its low bits select the bucket.
  uint32_t hold(uint64_t key, bool* is_new) {
    const uint32_t found = find(key);
    *is_new = false;
    if (found != kOthers) {
      ++slots_[found].holds;
      return found;
    }
    const uint32_t flow = take();
    if (flow == kOthers) {
      ++without_room_;
      return kOthers;
    }
    uint32_t& first = bucket(key);
    slots_[flow] = {key, 1, first};
    first = flow;
    *is_new = true;
    ++size_;
    return flow;
  }

  // REQUIRES: the flow has a reference.
  void hold_again(uint32_t flow) { slots_[flow].holds += flow != kOthers; }

  void release(uint32_t flow) {
    if (flow == kOthers || --slots_[flow].holds != 0) return;
    uint32_t* link = &bucket(slots_[flow].key);
    while (*link != flow) link = &slots_[*link].next;
    *link = slots_[flow].next;
    slots_[flow].next = free_;
    free_ = flow;
    --size_;
  }

  // kOthers if the flow has no number.
  uint32_t find(uint64_t key) const {
    uint32_t flow = buckets_[key & (buckets_.size() - 1)];
    while (flow != kOthers && slots_[flow].key != key) flow = slots_[flow].next;
    return flow;
  }

  void prefetch(uint64_t key) const { __builtin_prefetch(&buckets_[key & (buckets_.size() - 1)]); }

  uint64_t key_of(uint32_t flow) const { return slots_[flow].key; }
  uint32_t size() const { return size_; }
  uint32_t max_flows() const { return max_flows_; }
  uint64_t without_room() const { return without_room_; }  // references for which kOthers was returned

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t holds = 0;
    uint32_t next = kOthers;  // in the bucket, or in the free list
  };

  uint32_t& bucket(uint64_t key) { return buckets_[key & (buckets_.size() - 1)]; }

  uint32_t take() {
    if (free_ != kOthers) {
      const uint32_t flow = free_;
      free_ = slots_[flow].next;
      return flow;
    }
    if (slots_.size() > max_flows_) return kOthers;
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }

  uint32_t max_flows_;
  std::vector<uint32_t> buckets_;
  std::vector<Slot> slots_;  // by flow; the first one is kOthers
  uint32_t free_ = kOthers;
  uint32_t size_ = 0;
  uint64_t without_room_ = 0;
};

}  // namespace tapline::queues
