#include "multilog/log/segment.h"

#include <algorithm>
#include <new>

namespace tapline::multilog {

Segment::Segment(uint64_t first, uint32_t capacity, uint32_t row_bytes, uint8_t* arena, size_t arena_bytes,
                 std::atomic<size_t>* heap_account)
    : first_(first),
      capacity_(capacity),
      row_bytes_(row_bytes),
      arena_(arena),
      arena_bytes_(arena_bytes),
      used_((size_t{capacity} * row_bytes + 63) / 64 * 64),
      zones_(std::make_unique<Zone[]>(zones())),
      filters_(std::make_unique<std::atomic<FilterPostings*>[]>(kMaxFilters)),
      indexes_(std::make_unique<std::atomic<const Postings*>[]>(kMaxIndexes)),
      heap_account_(heap_account) {}

Segment::~Segment() {
  if (heap_account_ != nullptr) heap_account_->fetch_sub(heap_bytes_, std::memory_order_relaxed);
}

void* Segment::allocate(size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (arena_ != nullptr && bytes < arena_bytes_ && used_.load(std::memory_order_relaxed) + bytes <= arena_bytes_) {
    const size_t offset = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (offset + bytes <= arena_bytes_) return arena_ + offset;
  }
  const std::lock_guard lock(heap_mutex_);
  std::unique_ptr<uint8_t[]> block(new (std::nothrow) uint8_t[bytes]);
  if (!block) return nullptr;
  heap_bytes_ += bytes;
  if (heap_account_ != nullptr) heap_account_->fetch_add(bytes, std::memory_order_relaxed);
  heap_.push_back(std::move(block));
  return heap_.back().get();
}

void Segment::widen_zones(uint32_t offset, uint32_t count, uint64_t earliest, uint64_t latest) {
  for (uint32_t zone = offset / kChunkRows; zone <= (offset + count - 1) / kChunkRows; ++zone) {
    if (earliest < zone_low(zone)) zones_[zone].low.store(earliest, std::memory_order_relaxed);
    if (latest > zone_high(zone)) zones_[zone].high.store(latest, std::memory_order_relaxed);
  }
  if (earliest < min_time()) min_time_.store(earliest, std::memory_order_relaxed);
  if (latest > max_time()) max_time_.store(latest, std::memory_order_relaxed);
}

void Segment::prefetch_tables(uint64_t filter, std::span<const uint64_t> indexes) const {
  __builtin_prefetch(&filters_[filter % kMaxFilters]);
  for (const uint64_t index : indexes) __builtin_prefetch(&indexes_[index % kMaxIndexes]);
  __builtin_prefetch(&zones_[0]);
}

void Segment::prefetch_postings(uint64_t filter, std::span<const uint64_t> indexes) const {
  __builtin_prefetch(filters_[filter % kMaxFilters].load(std::memory_order_acquire));
  for (const uint64_t index : indexes) {
    const Postings* postings = indexes_[index % kMaxIndexes].load(std::memory_order_acquire);
    __builtin_prefetch(postings);
    if (postings != nullptr) __builtin_prefetch(reinterpret_cast<const uint8_t*>(postings) + 64);
  }
}

void Segment::prefetch_keys(uint64_t filter, std::span<const uint64_t> indexes) const {
  constexpr uint32_t kLines = 16;
  if (const FilterPostings* postings = postings_of(filter)) {
    const auto* offsets = reinterpret_cast<const uint8_t*>(postings->offsets.load(std::memory_order_acquire));
    for (uint32_t offset = 0; offset < postings->count.load(std::memory_order_relaxed) * 2 && offset < kLines * 64;
         offset += 64)
      __builtin_prefetch(offsets + offset);
  }
  for (const uint64_t index : indexes) {
    const Postings* postings = index_of(index);
    if (postings == nullptr || postings->sorted) continue;
    const uint32_t key_bytes = postings->dense() ? 0 : postings->distinct * postings->key_bytes;
    const uint32_t start_bytes = postings->distinct * 4;
    for (uint32_t offset = 0; offset < key_bytes && offset < kLines * 64; offset += 64)
      __builtin_prefetch(static_cast<const uint8_t*>(postings->keys) + offset);
    for (uint32_t offset = 0; offset < start_bytes && offset < kLines * 64; offset += 64)
      __builtin_prefetch(reinterpret_cast<const uint8_t*>(postings->starts) + offset);
  }
}

const FilterPostings* Segment::postings_of(uint64_t filter) const {
  const FilterPostings* postings = filters_[filter % kMaxFilters].load(std::memory_order_acquire);
  return postings != nullptr && postings->filter == filter ? postings : nullptr;
}

FilterPostings* Segment::open_postings(uint64_t filter, uint32_t offset) {
  std::atomic<FilterPostings*>& slot = filters_[filter % kMaxFilters];
  FilterPostings* present = slot.load(std::memory_order_relaxed);
  if (present != nullptr && present->filter == filter) return present;
  void* place = allocate(sizeof(FilterPostings));
  if (place == nullptr) return nullptr;
  auto* postings = new (place) FilterPostings;
  postings->filter = filter;
  postings->covered_from.store(offset, std::memory_order_relaxed);
  slot.store(postings, std::memory_order_release);
  return postings;
}

bool Segment::append_postings(FilterPostings* postings, const uint32_t* offsets, uint32_t count) {
  const uint32_t present = postings->count.load(std::memory_order_relaxed);
  if (present + count > postings->capacity) {
    const uint32_t capacity = std::min(capacity_, std::max<uint32_t>({16, 2 * postings->capacity, present + count}));
    auto* larger = static_cast<uint16_t*>(allocate(capacity * sizeof(uint16_t)));
    if (larger == nullptr) return false;
    std::copy_n(postings->writable, present, larger);
    postings->writable = larger;
    postings->capacity = capacity;
    postings->offsets.store(larger, std::memory_order_release);
  }
  for (uint32_t i = 0; i < count; ++i) postings->writable[present + i] = static_cast<uint16_t>(offsets[i]);
  postings->count.store(present + count, std::memory_order_release);
  return true;
}

}  // namespace tapline::multilog
