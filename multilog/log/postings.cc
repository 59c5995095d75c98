#include "multilog/log/postings.h"

#include <algorithm>
#include <bit>
#include <new>

namespace tapline::multilog {
namespace {

template <typename Visit>
auto with_keys(const Postings& postings, Visit&& visit) {
  switch (postings.key_bytes) {
    case 1:
      return visit(static_cast<const uint8_t*>(postings.keys));
    case 2:
      return visit(static_cast<const uint16_t*>(postings.keys));
    case 4:
      return visit(static_cast<const uint32_t*>(postings.keys));
    default:
      return visit(static_cast<const uint64_t*>(postings.keys));
  }
}

}  // namespace

uint64_t Postings::key(uint32_t i) const {
  return with_keys(*this, [&](const auto* all) { return static_cast<uint64_t>(all[i]); });
}
uint32_t Postings::lower_bound(uint64_t key) const {
  if (key <= min_key) return 0;
  if (key > max_key) return distinct;
  if (dense()) return static_cast<uint32_t>(key - min_key);
  return with_keys(
      *this, [&](const auto* all) { return static_cast<uint32_t>(std::lower_bound(all, all + distinct, key) - all); });
}
uint32_t Postings::upper_bound(uint64_t key) const {
  if (key < min_key) return 0;
  if (key >= max_key) return distinct;
  if (dense()) return static_cast<uint32_t>(key - min_key + 1);
  return with_keys(
      *this, [&](const auto* all) { return static_cast<uint32_t>(std::upper_bound(all, all + distinct, key) - all); });
}
uint32_t Postings::count(const KeyRanges& ranges) const {
  uint32_t count = 0;
  for (const KeyRange& range : ranges) count += starts[upper_bound(range.high)] - starts[lower_bound(range.low)];
  return count;
}

template <typename Key>
bool PostingsBuilder::counted(const Key* keys, uint32_t count, Key min, Key max, Postings* out,
                              const Allocate& allocate) {
  const uint32_t values = static_cast<uint32_t>(max - min) + 1;
  counts_.assign(values, 0);
  for (uint32_t i = 0; i < count; ++i) ++counts_[static_cast<Key>(keys[i] - min)];
  uint32_t distinct = 0;
  for (const uint32_t of_value : counts_) distinct += of_value != 0;
  auto* distinct_keys = static_cast<Key*>(allocate(distinct * sizeof(Key)));
  auto* starts = static_cast<uint32_t*>(allocate((distinct + size_t{1}) * sizeof(uint32_t)));
  auto* offsets = static_cast<uint16_t*>(allocate(count * sizeof(uint16_t)));
  if (distinct_keys == nullptr || starts == nullptr || offsets == nullptr) return false;
  uint32_t next = 0, at = 0;
  for (uint32_t value = 0; value < values; ++value) {
    const uint32_t of_value = counts_[value];
    counts_[value] = next;
    if (of_value == 0) continue;
    distinct_keys[at] = static_cast<Key>(min + value);
    starts[at++] = next;
    next += of_value;
  }
  starts[distinct] = count;
  for (uint32_t i = 0; i < count; ++i) offsets[counts_[static_cast<Key>(keys[i] - min)]++] = static_cast<uint16_t>(i);
  out->distinct = distinct;
  out->rows = count;
  out->keys = distinct_keys;
  out->starts = starts;
  out->offsets = offsets;
  return true;
}

template <typename Key>
bool PostingsBuilder::radixed(const Key* keys, uint32_t count, const std::vector<bool>* present, Key min, Key max,
                              Postings* out, const Allocate& allocate) {
  constexpr uint32_t kBits = 11;
  entries_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    if (present == nullptr || (*present)[i])
      entries_.push_back({static_cast<uint64_t>(keys[i]) - min, static_cast<uint16_t>(i)});
  }
  other_.resize(entries_.size());
  for (uint32_t shift = 0; shift < 64 && (static_cast<uint64_t>(max - min) >> shift) != 0; shift += kBits) {
    counts_.assign((1u << kBits) + 1, 0);
    constexpr uint64_t kMask = (1u << kBits) - 1;
    for (const Entry& entry : entries_) ++counts_[(entry.key >> shift & kMask) + 1];
    for (uint32_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
    for (const Entry& entry : entries_) other_[counts_[entry.key >> shift & kMask]++] = entry;
    entries_.swap(other_);
  }
  uint32_t distinct = 0;
  for (size_t i = 0; i < entries_.size(); ++i) distinct += i == 0 || entries_[i].key != entries_[i - 1].key;
  const auto rows = static_cast<uint32_t>(entries_.size());
  auto* distinct_keys = static_cast<Key*>(allocate(std::max<size_t>(1, distinct) * sizeof(Key)));
  auto* starts = static_cast<uint32_t*>(allocate((distinct + size_t{1}) * sizeof(uint32_t)));
  auto* offsets = static_cast<uint16_t*>(allocate(std::max<size_t>(1, rows) * sizeof(uint16_t)));
  if (distinct_keys == nullptr || starts == nullptr || offsets == nullptr) return false;
  uint32_t index = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    if (i == 0 || entries_[i].key != entries_[i - 1].key) {
      distinct_keys[index] = static_cast<Key>(min + entries_[i].key);
      starts[index++] = i;
    }
    offsets[i] = entries_[i].offset;
  }
  starts[distinct] = rows;
  out->distinct = distinct;
  out->rows = rows;
  out->keys = distinct_keys;
  out->starts = starts;
  out->offsets = offsets;
  return true;
}

template <typename Key>
Postings* PostingsBuilder::build_typed(const Key* keys, uint32_t count, const std::vector<bool>* present,
                                       const Allocate& allocate) {
  void* place = allocate(sizeof(Postings));
  if (place == nullptr || count == 0) return nullptr;
  auto* postings = new (place) Postings;
  Key min = keys[0], max = keys[0];
  bool ascending = true;
  for (uint32_t i = 1; i < count; ++i) {
    ascending &= keys[i] >= keys[i - 1];
    min = std::min(min, keys[i]);
    max = std::max(max, keys[i]);
  }
  postings->key_bytes = sizeof(Key);
  postings->min_key = min;
  postings->max_key = max;
  if (ascending && present == nullptr && sizeof(Key) == 8) {
    postings->sorted = true;
    postings->rows = count;
    return postings;
  }
  const bool narrow = static_cast<uint64_t>(max - min) < 65536;
  const bool built = narrow && present == nullptr ? counted(keys, count, min, max, postings, allocate)
                                                  : radixed(keys, count, present, min, max, postings, allocate);
  return built ? postings : nullptr;
}

Postings* PostingsBuilder::build(const void* keys, uint32_t key_bytes, uint32_t count, const std::vector<bool>* present,
                                 const Allocate& allocate) {
  switch (key_bytes) {
    case 1:
      return build_typed(static_cast<const uint8_t*>(keys), count, present, allocate);
    case 2:
      return build_typed(static_cast<const uint16_t*>(keys), count, present, allocate);
    case 4:
      return build_typed(static_cast<const uint32_t*>(keys), count, present, allocate);
    default:
      return build_typed(static_cast<const uint64_t*>(keys), count, present, allocate);
  }
}

}  // namespace tapline::multilog
