#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace tapline::queues {

// A bounded queue of packets that finds and removes the oldest one with a given digest. Not thread-safe.
//
//   buckets_   digest ─▶ oldest, newest        slots_   a ring in order of push(); next: same bucket, later
//
// A bucket's chain is in ring order. So the oldest packet of the queue is the first in its chain, and the first match
// is the oldest with its digest: each operation takes constant time even if all packets are equal. Digests are keyed
// hashes, so no sender can aim different packets at one bucket. The memory of slots is touched only on use.
template <typename Item>
class DigestQueue {
 public:
  // Rounds the capacity up to a power of two. REQUIRES: capacity <= 2^31.
  explicit DigestQueue(uint32_t capacity)
      : mask_(std::bit_ceil(std::max(capacity, 2u)) - 1), slots_(new Slot[mask_ + 1]), buckets_(mask_ + 1) {}

  bool empty() const { return head_ == tail_; }
  // Returns true if the ring has no slot left. Removed packets may still occupy slots.
  bool full() const { return tail_ - head_ == mask_ + 1; }
  uint64_t size() const { return size_; }

  bool contains(uint64_t digest) const {
    uint32_t entry = buckets_[digest & mask_].oldest;
    while (entry != kNone && slots_[entry].digest != digest) entry = slots_[entry].next;
    return entry != kNone;
  }

  // REQUIRES: !full().
  void push(uint64_t digest, const Item& item) {
    Bucket& bucket = bucket_of(digest);
    const auto place = static_cast<uint32_t>(tail_++ & mask_);
    slots_[place] = {digest, item, kNone, true};
    (bucket.oldest == kNone ? bucket.oldest : slots_[bucket.newest].next) = place;
    bucket.newest = place;
    ++size_;
  }

  // Removes the oldest packet with this digest. Returns false if there is none. Otherwise, *has_more tells if another
  // one remains.
  bool take(uint64_t digest, Item* item, bool* has_more) {
    Bucket& bucket = bucket_of(digest);
    uint32_t before = kNone, at = bucket.oldest;
    while (at != kNone && slots_[at].digest != digest) {
      before = at;
      at = slots_[at].next;
    }
    if (at == kNone) return false;
    *item = slots_[at].item;
    uint32_t next = slots_[at].next;
    unlink(bucket, before, at);
    while (next != kNone && slots_[next].digest != digest) next = slots_[next].next;
    *has_more = next != kNone;
    return true;
  }

  // Returns the oldest packet. REQUIRES: !empty().
  const Item& front() const { return slots_[head_ & mask_].item; }
  void pop_front() {
    const auto place = static_cast<uint32_t>(head_ & mask_);
    unlink(bucket_of(slots_[place].digest), kNone, place);
  }

  void prefetch(uint64_t digest) const { __builtin_prefetch(&buckets_[digest & mask_]); }
  uint64_t memory_bytes() const { return (mask_ + 1) * (sizeof(Slot) + sizeof(Bucket)); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Slot {
    uint64_t digest;
    Item item;
    uint32_t next;
    bool queued;
  };
  struct Bucket {
    uint32_t oldest = kNone, newest = kNone;
  };

  Bucket& bucket_of(uint64_t digest) { return buckets_[digest & mask_]; }

  void unlink(Bucket& bucket, uint32_t before, uint32_t place) {
    const uint32_t next = slots_[place].next;
    (before == kNone ? bucket.oldest : slots_[before].next) = next;
    if (bucket.newest == place) bucket.newest = before;
    slots_[place].queued = false;
    --size_;
    while (head_ != tail_ && !slots_[head_ & mask_].queued) ++head_;
  }

  uint64_t mask_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<Bucket> buckets_;
  uint64_t head_ = 0, tail_ = 0;  // the oldest packet is at head_
  uint64_t size_ = 0;
};

}  // namespace tapline::queues
