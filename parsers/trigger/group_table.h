#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "parsers/engine/zeroed_array.h"
#include "parsers/trigger/measure.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Hashes group keys with a random key, so that no sender can choose groups that collide. Lanes whose windows are swept
// together share a hasher.
class GroupHasher {
 public:
  GroupHasher();  // draws the key
  [[gnu::always_inline]] uint64_t operator()(const GroupKey& key) const {
    uint64_t sum = 0;
    for (int word = 0; word < kKeyWords; word += 2) {
      sum += fold(key.words[word] + key_[word], key.words[word + 1] + key_[word + 1]);
    }
    return fold(sum + key_[6], key_[7]);
  }

 private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t key_[8];
};

// The groups of one window and their counts: a counter per group and cell. The counters of a group are chained, and a
// bucket refers to the first one.
//
//   buckets (open addressing, at most half full)     entries, in order of arrival
//   ┌──────────┬────────┐                            ┌─────────────────────────┬──────────────────┐
//   │ tag (32) │ number │ ─────────────────────────▶ │ key, cell, next, bucket │ counter, n lines │
//   └──────────┴────────┘                            └─────────────────────────┴──────────────────┘
//
// The table has a fixed number of entries, and keeps all of them until the window has been swept.
class GroupTable {
 public:
  struct Entry {
    GroupKey key;
    uint32_t cell;
    uint32_t next;    // the same group's next counter; 0 = none
    uint32_t bucket;  // set in the first counter of a group; kNoBucket in the others
    // In the first counter of a group, after the window is closed, if windows have several panes:
    bool has_newer : 1;       // a later pane of the lane has the group
    uint32_t panes_back : 7;  // distance to the latest earlier pane that has the group; 0 = none
    uint32_t older : 24;      // the group's number there; in other counters of the group, the number of the first
    uint64_t* counter() { return reinterpret_cast<uint64_t*>(this + 1); }
    const uint64_t* counter() const { return reinterpret_cast<const uint64_t*>(this + 1); }
    bool is_first() const { return bucket != kNoBucket; }
  };
  static_assert(sizeof(Entry) == 64, "one cache line");

  // REQUIRES: 1 to 2^24 entries.
  GroupTable(uint32_t max_entries, int lines)
      : max_entries_(max_entries),
        stride_((1 + static_cast<size_t>(lines)) * 64),
        mask_(size_t{2} * std::bit_ceil(max_entries) - 1),
        buckets_((mask_ + 1) * sizeof(Bucket)),
        entries_((size_t{max_entries} + 1) * stride_) {}

  void populate(size_t bytes) const {
    buckets_.populate(bytes);
    entries_.populate(bytes);
  }
  void prefetch_bucket(uint64_t hash) const { __builtin_prefetch(bucket_at(hash)); }
  // Prefetches the group's entry. Call it after prefetch_bucket() for a whole burst.
  void prefetch_entry(uint64_t hash) const {
    const Bucket& bucket = *bucket_at(hash);
    const auto* entry = reinterpret_cast<const std::byte*>(&at(bucket.number));
    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + 64, 1);
  }

  // Returns the group's entry for the cell, with a counter of zero if it is new. Returns null if the table is full.
  Entry* find_or_add(const GroupKey& key, uint64_t hash, uint32_t cell) {
    uint32_t place;
    Entry* first = find_place(key, hash, &place);
    if (first == nullptr) {
      Entry* made = add(key, cell);
      if (made == nullptr) return nullptr;
      *(buckets() + place) = {tag_of(hash), size_};
      made->bucket = place;
      return made;
    }
    Entry* entry = first;
    while (entry->cell != cell && entry->next != 0) entry = &at(entry->next);
    if (entry->cell == cell) return entry;
    Entry* made = add(key, cell);
    if (made == nullptr) return nullptr;
    entry->next = size_;
    made->bucket = kNoBucket;
    made->older = (buckets() + place)->number & 0xffffff;
    first->counter()[kTouched] = 0;  // the new cell's triggers may have reached their limits
    return made;
  }

  // Returns the number of the group's first entry, or 0.
  uint32_t find(const GroupKey& key, uint64_t hash) const {
    uint32_t place;
    return find_place(key, hash, &place) == nullptr ? 0 : (buckets() + place)->number;
  }

  // Returns the number of the group's entry for the cell, or 0.
  uint32_t find(const GroupKey& key, uint64_t hash, uint32_t cell) const {
    uint32_t number = find(key, hash);
    while (number != 0 && at(number).cell != cell) number = at(number).next;
    return number;
  }

  uint32_t number_of(const Entry& entry) const {
    return static_cast<uint32_t>((reinterpret_cast<const std::byte*>(&entry) - entries_.data()) /
                                 static_cast<ptrdiff_t>(stride_));
  }
  uint32_t size() const { return size_; }
  // REQUIRES: number from 1 to size().
  Entry& entry(uint32_t number) const { return at(number); }

  void prefetch_entry_number(uint32_t number) const {
    const auto* entry = reinterpret_cast<const std::byte*>(&at(number));
    __builtin_prefetch(entry);
    __builtin_prefetch(entry + 64);
  }

  // Removes up to `entries` entries, the last ones first. REQUIRES: no find() before all are removed.
  void forget(uint32_t entries) {
    for (; entries > 0 && size_ > 0; --entries, --size_) {
      const Entry& last = at(size_);
      if (last.is_first()) buckets()[last.bucket] = {0, 0};
    }
  }

 private:
  static constexpr uint32_t kNoBucket = UINT32_MAX;
  struct Bucket {
    uint32_t tag;
    uint32_t number;  // 0 = empty
  };

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  Bucket* buckets() const { return reinterpret_cast<Bucket*>(buckets_.data()); }
  Bucket* bucket_at(uint64_t hash) const { return buckets() + (hash & mask_); }
  Entry& at(uint32_t number) const {
    return *reinterpret_cast<Entry*>(entries_.data() + static_cast<size_t>(number) * stride_);
  }

  // Returns the group's first entry, or null. Sets *place to its bucket, or to the one that it would get.
  Entry* find_place(const GroupKey& key, uint64_t hash, uint32_t* place) const {
    for (*place = static_cast<uint32_t>(hash & mask_);; *place = static_cast<uint32_t>((*place + 1) & mask_)) {
      const Bucket& bucket = buckets()[*place];
      if (bucket.number == 0) return nullptr;
      if (bucket.tag != tag_of(hash)) continue;
      Entry& entry = at(bucket.number);
      if (std::memcmp(&entry.key, &key, sizeof key) == 0) return &entry;
    }
  }

  Entry* add(const GroupKey& key, uint32_t cell) {
    if (size_ == max_entries_) return nullptr;
    Entry& made = at(++size_);
    made.key = key;
    made.cell = cell;
    made.next = 0;
    made.has_newer = false;
    made.panes_back = 0;
    std::memset(made.counter(), 0, stride_ - sizeof(Entry));
    return &made;
  }

  uint32_t max_entries_;
  size_t stride_;
  uint64_t mask_;
  ZeroedArray buckets_;
  ZeroedArray entries_;  // entry 0 is never used
  uint32_t size_ = 0;
};

}  // namespace tapline::trigger
