// A bounded single-producer, single-consumer queue whose entries are processed in place.
//
//   producer   room() → push()… → publish()     writes entries, then tail_ (release)
//   consumer   readable() → pop()               reads tail_ (acquire), the entries, then writes head_ (release)
//
// A consumer that sees a published entry sees everything that its producer did before publish(). Each side caches the
// other's index. It reads the real index, which is in another core's cache line, only when the cached one no longer
// suffices.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

namespace tapline {

template <typename Entry>
class SpscRing {
 public:
  // Rounds the capacity up to a power of two.
  explicit SpscRing(uint32_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), entries_(std::make_unique<Entry[]>(size_t{mask_} + 1)) {}

  // Producer: returns the number of entries that can be pushed, or a lower bound of it that is at least `wanted`.
  uint32_t room(uint32_t wanted) {
    if (mask_ + 1 - (next_ - head_seen_) < wanted) head_seen_ = head_.load(std::memory_order_acquire);
    return mask_ + 1 - (next_ - head_seen_);
  }
  // Producer: adds an entry, and returns the copy, which may be changed until it is published. REQUIRES: room(1) >= 1.
  Entry& push(const Entry& entry) { return entries_[next_++ & mask_] = entry; }
  void publish() { tail_.store(next_, std::memory_order_release); }
  // Producer: returns the number of entries pushed so far, modulo 2^32.
  uint32_t pushed() const { return next_; }

  // Consumer: returns the next contiguous entries, at most `max`.
  std::span<Entry> readable(uint32_t max) {
    if (first_ == tail_seen_) tail_seen_ = tail_.load(std::memory_order_acquire);
    const uint32_t index = first_ & mask_;
    return {&entries_[index], std::min({tail_seen_ - first_, mask_ + 1 - index, max})};
  }
  // Consumer: returns the first `count` entries to the producer.
  void pop(uint32_t count) {
    first_ += count;
    head_.store(first_, std::memory_order_release);
  }
  // Consumer: returns the number of entries popped so far, modulo 2^32.
  uint32_t popped() const { return first_; }

  // Any thread: returns the approximate number of waiting entries.
  uint32_t waiting() const { return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed); }
  // Producer: returns true once every pushed entry has been popped.
  bool drained() const { return head_.load(std::memory_order_acquire) == next_; }
  uint32_t capacity() const { return mask_ + 1; }

 private:
  const uint32_t mask_;
  std::unique_ptr<Entry[]> entries_;
  alignas(64) uint32_t next_ = 0;
  uint32_t head_seen_ = 0;
  alignas(64) std::atomic<uint32_t> tail_{0};
  alignas(64) uint32_t first_ = 0;
  uint32_t tail_seen_ = 0;
  alignas(64) std::atomic<uint32_t> head_{0};
};

}  // namespace tapline
