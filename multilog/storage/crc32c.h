// Computes CRC-32C (Castagnoli) with the SSE4.2 crc32 instruction, which x86-64-v2 includes.
#pragma once

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tapline::multilog {

inline uint32_t crc32c(const void* data, size_t bytes, uint32_t seed = 0) {
  const auto* input = static_cast<const uint8_t*>(data);
  uint64_t crc = ~seed;
  for (; bytes >= 8; bytes -= 8, input += 8) {
    uint64_t word;
    std::memcpy(&word, input, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  for (; bytes > 0; --bytes, ++input) crc = _mm_crc32_u8(static_cast<uint32_t>(crc), *input);
  return ~static_cast<uint32_t>(crc);
}

}  // namespace tapline::multilog
