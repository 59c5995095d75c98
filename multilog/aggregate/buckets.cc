#include "multilog/aggregate/buckets.h"

#include <algorithm>

namespace tapline::multilog {
namespace {

constexpr int kAttempts = 4;

}  // namespace

Buckets::Buckets(std::shared_ptr<const AggregateFunction> function, uint64_t width_ns, uint32_t slots)
    : function_(std::move(function)),
      width_ns_(width_ns),
      slots_(slots),
      slot_words_(kState + function_->words()),
      words_((size_t{slots} + 1) * slot_words_) {}

void Buckets::fold(RowPointers rows, uint64_t min_time, uint64_t max_time, uint32_t time_offset, uint64_t version) {
  auto is_last = [&](uint64_t time) { return time >= last_begin_ && time <= last_end_; };
  auto go_to = [&](uint64_t time) {
    if (is_last(time)) return;
    last_bucket_ = time / width_ns_;
    last_begin_ = last_bucket_ * width_ns_;
    last_end_ = last_begin_ + (width_ns_ - 1);
    if (last_end_ < last_begin_) last_end_ = ~uint64_t{0};
  };
  go_to(min_time);
  if (is_last(max_time)) return fold_into(last_bucket_, rows, version);
  for (size_t begin = 0, end; begin < rows.size(); begin = end) {
    go_to(load_as<uint64_t>(rows[begin] + time_offset));
    for (end = begin + 1; end < rows.size() && is_last(load_as<uint64_t>(rows[end] + time_offset)); ++end) {
    }
    fold_into(last_bucket_, rows.subspan(begin, end - begin), version);
  }
}

void Buckets::fold_into(uint64_t bucket, RowPointers rows, uint64_t version) {
  const uint32_t slot = slot_of(bucket);
  const uint64_t present = word(slot, kBucket);
  if (present > bucket + 1) {
    late_rows_.fetch_add(rows.size(), std::memory_order_relaxed);
    return change(slots_, 0, rows, version);
  }
  if (present != 0 && present != bucket + 1) evict(slot, version);
  change(slot, bucket, rows, version);
  touch(bucket);
}

void Buckets::change(uint32_t slot, uint64_t bucket, RowPointers rows, uint64_t version) {
  const uint64_t sequence = word(slot, kSequence);
  set(slot, kSequence, sequence + 1);
  set(slot, kBucket, bucket + 1);
  set(slot, kVersion, version);
  function_->add(Cells(words_of(slot) + kState), rows);
  set(slot, kSequence, sequence + 2);
}

// Merges the slot's state into the evicted state, and zeroes it.
void Buckets::evict(uint32_t slot, uint64_t version) {
  const uint64_t evicted = word(slots_, kSequence), sequence = word(slot, kSequence);
  set(slots_, kSequence, evicted + 1);
  set(slot, kSequence, sequence + 1);
  set(slots_, kBucket, 1);
  set(slots_, kVersion, version);
  set(slot, kVersion, version);
  function_->merge(Cells(words_of(slots_) + kState), Cells(words_of(slot) + kState));
  const Cells state(words_of(slot) + kState);
  for (size_t i = 0; i < function_->words(); ++i) state.set(i, 0);
  set(slot, kSequence, sequence + 2);
  set(slots_, kSequence, evicted + 2);
}

void Buckets::touch(uint64_t bucket) {
  if (bucket + 1 > newest_.load(std::memory_order_relaxed)) newest_.store(bucket + 1, std::memory_order_release);
  // The trigger thread may reset both values at any moment, so they are read and written atomically.
  uint64_t low = touched_low_.load(std::memory_order_relaxed);
  while (bucket < low && !touched_low_.compare_exchange_weak(low, bucket, std::memory_order_release)) {
  }
  uint64_t high = touched_high_.load(std::memory_order_relaxed);
  while (bucket + 1 > high && !touched_high_.compare_exchange_weak(high, bucket + 1, std::memory_order_release)) {
  }
}

bool Buckets::take_touched(uint64_t* low, uint64_t* high) {
  const uint64_t above = touched_high_.exchange(0, std::memory_order_acquire);
  const uint64_t touched_low = touched_low_.exchange(~uint64_t{0}, std::memory_order_acquire);
  if (above == 0 && touched_low == ~uint64_t{0}) return false;
  // If the writer had set only one of the two values by now, that one stands for both.
  *high = above == 0 ? touched_low : above - 1;
  *low = std::min(touched_low, *high);
  return true;
}

bool Buckets::read(uint32_t slot, Copy* copy) const {
  const size_t words = function_->words();
  copy->state.resize(words);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const uint64_t previous_word = word(slot, kSequence);
    if (previous_word % 2 != 0) continue;
    const uint64_t bucket = word(slot, kBucket);
    copy->version = word(slot, kVersion);
    const Cells state(words_of(slot) + kState);
    for (size_t i = 0; i < words; ++i) copy->state[i] = state.get(i);
    if (word(slot, kSequence) != previous_word) continue;
    copy->used = bucket != 0;
    copy->bucket = bucket - copy->used;
    return true;
  }
  return false;
}

}  // namespace tapline::multilog
