#pragma once

#include <algorithm>
#include <cstdint>

#include "parsers/engine/zeroed_array.h"

namespace tapline {

// A piece of a stream that waits for the data before it.
struct Chunk {
  static constexpr uint32_t kBytes = 2048;
  static constexpr uint32_t kDataBytes = kBytes - 30;

  int64_t time_ns;
  uint64_t peer_offset;
  uint32_t next;  // chunk with a higher sequence number, 0 = none
  uint32_t seq;
  uint32_t length;  // number of sequence numbers that it covers
  bool peer_offset_known;
  bool missing;  // true if its bytes were sent but not captured; length may then exceed kDataBytes
  uint8_t data[kDataBytes];
};
static_assert(sizeof(Chunk) == Chunk::kBytes);

// A fixed budget of chunks, whose memory is touched on first use. Index 0 means no chunk.
class ChunkPool {
 public:
  explicit ChunkPool(uint64_t max_bytes)
      : capacity_(static_cast<uint32_t>(std::clamp<uint64_t>(max_bytes / Chunk::kBytes, 1, UINT32_MAX - 1))),
        memory_((uint64_t{capacity_} + 1) * Chunk::kBytes) {}

  Chunk& at(uint32_t index) const { return reinterpret_cast<Chunk*>(memory_.data())[index]; }

  // Returns the index of a free chunk, or 0 if the budget is used up.
  uint32_t take() {
    if (free_head_ != 0) {
      const uint32_t index = free_head_;
      free_head_ = at(index).next;
      ++in_use_;
      return index;
    }
    if (used_ == capacity_) return 0;
    ++in_use_;
    return ++used_;
  }
  void give_back(uint32_t index) {
    at(index).next = free_head_;
    free_head_ = index;
    --in_use_;
  }

  uint32_t in_use() const { return in_use_; }

 private:
  uint32_t capacity_;
  ZeroedArray memory_;
  uint32_t free_head_ = 0;
  uint32_t used_ = 0;
  uint32_t in_use_ = 0;
};

}  // namespace tapline
