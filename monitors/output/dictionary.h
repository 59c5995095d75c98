// Stores byte strings without duplicates, numbered in the order of first appearance. Serves one column of one batch.
//
// Uses open addressing in a table of at least twice its maximum number of entries, so neither adding nor clearing
// allocates once the buffers have grown. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapline {

class Dictionary {
 public:
  explicit Dictionary(uint32_t max_entries);

  // Returns the string's index, adding it if it is new. REQUIRES: fewer than max_entries distinct strings since
  // clear(), or this string is one of them.
  uint32_t index_of(std::string_view text) {
    // Methods, hosts and flags mostly repeat, and comparing with the latest entry costs less than hashing.
    if (latest_ < ends_.size() && entry(latest_) == text) return latest_;
    return latest_ = find(text);
  }
  void clear();

  uint32_t entries() const { return static_cast<uint32_t>(ends_.size()); }
  const std::string& bytes() const { return bytes_; }
  // Returns the end offset of each entry in bytes().
  const std::vector<uint32_t>& ends() const { return ends_; }
  std::string_view entry(uint32_t index) const {
    uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(begin, ends_[index] - begin);
  }

  // Hashes with a random key of this process, so that no sender can choose a slot.
  static uint64_t hash_of(std::string_view text);

 private:
  // `index_plus_one` is 0 if the slot is free. The upper half of the hash avoids most string comparisons.
  struct Slot {
    uint32_t index_plus_one;
    uint32_t tag;
  };

  uint32_t find(std::string_view text);

  uint32_t mask_;
  uint32_t latest_ = 0;  // result of the latest call of index_of()
  std::vector<Slot> slots_;
  std::vector<uint32_t> taken_;  // the slot of each entry
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

}  // namespace tapline
