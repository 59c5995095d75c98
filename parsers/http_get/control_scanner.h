#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tapline::http {

// Finds the control characters (below 0x20) of a string from front to back. In a message head, control characters end
// the lines, so one pass over the bytes, 64 at a time, finds all line ends. Calling memchr() for each line takes
// longer.
class ControlScanner {
 public:
  explicit ControlScanner(std::string_view text) : text_(text), controls_(controls_at(0)) {}

  // Returns the position of the first control character at or after `begin`, or npos. REQUIRES: `begin` never
  // decreases.
  size_t next(size_t begin) {
    for (; begin >= block_ + kBlock; controls_ = controls_at(block_)) block_ += kBlock;
    uint64_t controls = controls_ & (~uint64_t{0} << (begin - block_));
    while (controls == 0) {
      block_ += kBlock;
      if (block_ >= text_.size()) return std::string_view::npos;
      controls = controls_ = controls_at(block_);
    }
    return block_ + static_cast<size_t>(std::countr_zero(controls));
  }

 private:
  static constexpr size_t kBlock = 64;

  // Returns a bit for each byte of the block at `begin`, set for control characters.
  uint64_t controls_at(size_t begin) const {
    if (begin + kBlock <= text_.size()) [[likely]]
      return controls_in(text_.data() + begin);
    if (begin >= text_.size()) return 0;
    // Reads the last 64 bytes and drops those before `begin`. Copying the rest to a buffer first would cause a
    // store-forwarding stall.
    if (text_.size() >= kBlock)
      return controls_in(text_.data() + text_.size() - kBlock) >> (begin + kBlock - text_.size());
    char padded[kBlock];
    std::memset(padded, ' ', sizeof padded);
    std::memcpy(padded, text_.data() + begin, text_.size() - begin);
    return controls_in(padded);
  }

  static uint64_t controls_in(const char* block) {
    uint64_t controls = 0;
#ifdef __SSE2__
#pragma GCC unroll 4
    for (size_t offset = 0; offset < kBlock; offset += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + offset));
      const __m128i below = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
      controls |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(below))) << offset;
    }
#else
    for (size_t offset = 0; offset < kBlock; ++offset)
      controls |= uint64_t{static_cast<uint8_t>(block[offset]) < 0x20} << offset;
#endif
    return controls;
  }

  std::string_view text_;
  size_t block_ = 0;
  uint64_t controls_;
};

}  // namespace tapline::http
