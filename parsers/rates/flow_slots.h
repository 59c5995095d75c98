#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapline::rates {

// Refers to an entry of FlowSlots; kept where the flow is found again. Zero-initialised: none.
struct SlotRef {
  uint32_t index = 0;  // from 1
  uint32_t generation = 0;
};

// A bounded number of entries for flows. A flood of flows can't take entries from flows that send:
//
//   newcomers                         established
//   ┌──────────────┐  third sample   ┌───────────────────────────────────────────────┐
//   │ 1/8, in turn │ ───────────────▶│ 7/8, the hand takes the first cold one that   │
//   └──────────────┘                 │ it meets, and cools those that it passes      │
//                                    └───────────────────────────────────────────────┘
//
// A new flow takes a place among the established that is free or whose flow has had no second sample, else that of the
// oldest newcomer: it displaces none that was seen twice. Only a third sample makes the hand move. Each eviction is
// counted, and reported to `Evict`, a functor called with the entry. Memory is allocated once and touched on use;
// finding is an index and a comparison. An entry is copied once, when its flow becomes established. Not thread-safe.
template <typename Entry, typename Evict>
class FlowSlots {
 public:
  // REQUIRES: capacity >= 16.
  FlowSlots(uint32_t capacity, Evict evict)
      : evict_(std::move(evict)),
        newcomers_(capacity / 8),
        entries_(std::allocator<Entry>().allocate(capacity)),
        slots_(capacity) {}
  ~FlowSlots() { std::allocator<Entry>().deallocate(entries_, slots_.size()); }
  FlowSlots(const FlowSlots&) = delete;
  FlowSlots& operator=(const FlowSlots&) = delete;

  // The flow's entry, or null if it has none. Counts a sample of the flow: call it once for each. May move the entry.
  Entry* find(SlotRef* ref) {
    if (!is_valid(*ref)) return nullptr;
    Slot& slot = slots_[ref->index - 1];
    slot.heat = static_cast<uint8_t>(std::min(slot.heat + 1, 255));
    if (ref->index <= newcomers_ && slot.heat >= kEstablished) establish(ref);
    return &entries_[ref->index - 1];
  }

  // The same without counting a sample.
  Entry* peek(const SlotRef& ref) { return is_valid(ref) ? &entries_[ref.index - 1] : nullptr; }

  // A new entry. Always succeeds.
  Entry& take(SlotRef* ref) {
    uint32_t index = find_cold(kSeekSteps, false, &seek_);
    if (index == kNone) {
      index = next_newcomer_;
      next_newcomer_ = (next_newcomer_ + 1) % newcomers_;
      if (slots_[index].used) evict(index);
    }
    occupy(index, ref);
    return *new (&entries_[index]) Entry();
  }

  // The flow is over.
  void release(SlotRef* ref) {
    if (is_valid(*ref)) vacate(ref->index - 1);
    *ref = SlotRef();
  }

  uint64_t evicted() const { return evicted_; }
  uint32_t used() const { return used_; }

 private:
  static_assert(std::is_trivially_copyable<Entry>::value && std::is_trivially_destructible<Entry>::value,
                "entries are copied and forgotten");
  static constexpr int kEstablished = 2;  // samples after the one that took the entry
  static constexpr uint32_t kHandSteps = 64;
  static constexpr uint32_t kSeekSteps = 16;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Slot {
    uint32_t generation = 0;
    uint8_t heat = 0;  // samples since the hand passed, and half of those before
    bool used = false;
  };

  bool is_valid(const SlotRef& ref) const {
    return ref.index != 0 && slots_[ref.index - 1].generation == ref.generation;
  }

  void establish(SlotRef* ref) {
    const uint32_t index = find_cold(kHandSteps, true, &hand_);
    if (index == kNone) return;
    new (&entries_[index]) Entry(entries_[ref->index - 1]);
    vacate(ref->index - 1);
    occupy(index, ref);
    slots_[index].heat = kEstablished;
  }

  // A place among the established that is free, or has been made so.
  uint32_t find_cold(uint32_t steps, bool cool, uint32_t* at) {
    const auto capacity = static_cast<uint32_t>(slots_.size());
    for (; steps > 0; --steps) {
      if (*at < newcomers_ || *at >= capacity) *at = newcomers_;
      const uint32_t index = (*at)++;
      Slot& slot = slots_[index];
      if (!slot.used) return index;
      if (slot.heat == 0) {
        evict(index);
        return index;
      }
      if (cool) slot.heat /= 2;
    }
    return kNone;
  }

  void occupy(uint32_t index, SlotRef* ref) {
    Slot& slot = slots_[index];
    slot.used = true;
    slot.heat = 0;
    ++used_;
    ref->index = index + 1;
    ref->generation = slot.generation;
  }

  void vacate(uint32_t index) {
    ++slots_[index].generation;
    slots_[index].used = false;
    --used_;
  }

  void evict(uint32_t index) {
    evict_(entries_[index]);
    ++evicted_;
    vacate(index);
  }

  Evict evict_;
  uint32_t newcomers_;
  Entry* entries_;
  std::vector<Slot> slots_;
  uint32_t next_newcomer_ = 0;
  uint32_t hand_ = 0;
  uint32_t seek_ = 0;
  uint32_t used_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace tapline::rates
