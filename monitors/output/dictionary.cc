#include "monitors/output/dictionary.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace tapline {

Dictionary::Dictionary(uint32_t max_entries) : mask_(std::bit_ceil(2 * max_entries) - 1), slots_(mask_ + 1) {
  ends_.reserve(max_entries);
}

uint32_t Dictionary::IndexOf(std::string_view text) {
  uint64_t hash = std::hash<std::string_view>()(text);
  auto tag = static_cast<uint32_t>(hash >> 32);
  uint32_t at = static_cast<uint32_t>(hash) & mask_;
  while (slots_[at].index_plus_one != 0) {
    if (slots_[at].tag == tag && entry(slots_[at].index_plus_one - 1) == text) return slots_[at].index_plus_one - 1;
    at = (at + 1) & mask_;
  }
  bytes_.append(text);
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  slots_[at] = {entries(), tag};
  return entries() - 1;
}

void Dictionary::Clear() {
  if (ends_.empty()) return;
  std::fill(slots_.begin(), slots_.end(), Slot{0, 0});
  bytes_.clear();
  ends_.clear();
}

}  // namespace tapline
