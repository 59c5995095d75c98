// The states of one aggregate at one writer: a ring of time buckets, and one state for all rows whose buckets left the
// ring.
//
//   slot     | sequence | bucket + 1 | version | state words… |        slots 0 … n-1: bucket b lives in slot b mod n
//   slot n   the same values for all buckets that later ones have displaced ("evicted")
//
// Publication order: the writer makes `sequence` odd, changes the slot, writes `version` = the log position after the
// rows folded in, and makes `sequence` even, all before it publishes that position as its tail. A reader of the tail T
// copies a slot between two reads of the same, even sequence, and may use the copy only if version <= T: the copy then
// contains exactly the rows before T. If version > T, the slot is ahead of the reader, which folds the bucket's rows
// from the log instead (MultiLogImpl::fold). So no reader waits for a writer, even one that has stopped in the
// middle of a change. Every word is stored with release and loaded with acquire: a reader that has seen a changed word
// also sees the odd sequence.
//
// Only the one writer may call fold(), and only the trigger thread take_touched(); any thread may call the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "multilog/aggregate/function.h"

namespace tapline::multilog {

class Buckets {
 public:
  // REQUIRES: width_ns > 0, slots > 0.
  Buckets(std::shared_ptr<const AggregateFunction> function, uint64_t width_ns, uint32_t slots);

  // Aggregates rows, whose times may be in any order; `version` is the tail that will be published with them.
  void fold(RowPointers rows, uint64_t min_time, uint64_t max_time, uint32_t time_offset, uint64_t version);

  struct Copy {
    uint64_t bucket = 0;
    uint64_t version = 0;
    bool used = false;  // false if the slot is empty
    std::vector<uint64_t> state;
  };
  // Copies a slot. Returns false if the writer was changing it at each of a few attempts. Slot slots() is the evicted
  // state.
  bool read(uint32_t slot, Copy* copy) const;
  // Returns the slot's version without copying its state. While the slot is being changed, this may be the next
  // version.
  uint64_t version(uint32_t slot) const { return word(slot, kVersion); }

  uint32_t slots() const { return slots_; }
  uint32_t slot_of(uint64_t bucket) const { return static_cast<uint32_t>(bucket % slots_); }
  uint64_t width_ns() const { return width_ns_; }
  // Returns the greatest bucket with rows, plus 1; 0 if there is none.
  uint64_t newest() const { return newest_.load(std::memory_order_acquire); }
  // Returns the number of rows so late that their bucket had left the ring. They are folded into the evicted state.
  uint64_t late_rows() const { return late_rows_.load(std::memory_order_relaxed); }
  size_t bytes() const { return words_.size() * 8; }

  // Sets the lowest and highest bucket touched since the last call. Returns false if there are none. Must be called
  // only by the thread that evaluates triggers.
  bool take_touched(uint64_t* low, uint64_t* high);

 private:
  enum Header : uint32_t { kSequence, kBucket, kVersion, kState };
  uint64_t* words_of(uint32_t slot) const { return const_cast<uint64_t*>(words_.data()) + size_t{slot} * slot_words_; }
  uint64_t word(uint32_t slot, Header word) const { return __atomic_load_n(words_of(slot) + word, __ATOMIC_ACQUIRE); }
  void set(uint32_t slot, Header word, uint64_t value) {
    __atomic_store_n(words_of(slot) + word, value, __ATOMIC_RELEASE);
  }
  void fold_into(uint64_t bucket, RowPointers rows, uint64_t version);
  void change(uint32_t slot, uint64_t bucket, RowPointers rows, uint64_t version);
  void evict(uint32_t slot, uint64_t version);
  void touch(uint64_t bucket);

  const std::shared_ptr<const AggregateFunction> function_;
  const uint64_t width_ns_;
  const uint32_t slots_;
  const size_t slot_words_;
  std::vector<uint64_t> words_;
  std::atomic<uint64_t> newest_{0};
  std::atomic<uint64_t> late_rows_{0};
  std::atomic<uint64_t> touched_low_{~uint64_t{0}};
  std::atomic<uint64_t> touched_high_{0};
  // Writer only: the latest row's bucket, to avoid divisions.
  uint64_t last_begin_ = 1, last_end_ = 0, last_bucket_ = 0;
};

}  // namespace tapline::multilog
