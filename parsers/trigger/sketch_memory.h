#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "parsers/engine/zeroed_array.h"

namespace tapline::trigger {

// Memory for sketches, in blocks of 64 bytes to 64 KiB. Its size is fixed; pages are used as they are needed. A block
// that is given back is used again for blocks of its size, and once all blocks have been given back, for blocks of any
// size. Not thread-safe.
class SketchMemory {
 public:
  static constexpr size_t bytes_of(uint8_t size) { return size_t{64} << size; }
  static constexpr uint8_t kMaxSize = 10;

  explicit SketchMemory(size_t bytes) : bytes_(bytes), memory_(bytes) {
    std::random_device random;
    key_ = (uint64_t{random()} << 32 | random()) | 1;
  }

  // Returns a block of bytes_of(size) zero bytes, or null if there is no room.
  std::byte* take(uint8_t size) {
    std::byte* block = free_[size];
    if (block != nullptr) {
      std::memcpy(&free_[size], block, sizeof block);
    } else if (bytes_ - used_ >= bytes_of(size)) {
      block = memory_.data() + used_;
      used_ += bytes_of(size);
    } else {
      return nullptr;
    }
    ++taken_;
    std::memset(block, 0, bytes_of(size));
    return block;
  }
  void give_back(std::byte* block, uint8_t size) {
    if (--taken_ == 0) return free_all();
    std::memcpy(block, &free_[size], sizeof block);
    free_[size] = block;
  }
  // Takes all blocks back, and resets the number of missed values.
  void clear() {
    free_all();
    missed_ = 0;
  }

  // Records that a sketch had no room for this many values.
  void miss(uint64_t values) { missed_ += values; }
  // Returns the number of values that had no room since clear(). A value that is added repeatedly counts each time.
  uint64_t missed() const { return missed_; }

  // Returns a random odd number for the hash tables in its blocks, so that no sender can choose values that collide.
  uint64_t key() const { return key_; }
  void populate(size_t bytes) const { memory_.populate(bytes); }

 private:
  void free_all() {
    used_ = taken_ = 0;
    free_ = {};
  }

  size_t bytes_;
  ZeroedArray memory_;
  size_t used_ = 0;   // bytes that were in blocks since all were last free
  size_t taken_ = 0;  // blocks
  uint64_t missed_ = 0;
  // The first free block of each size; a free block begins with the address of the next one.
  std::array<std::byte*, kMaxSize + 1> free_ = {};
  uint64_t key_;
};

}  // namespace tapline::trigger
