// Copies rows into a segment with non-temporal stores, since the segment is not read soon: filters and indexes take
// their data from the incoming rows. An ordinary store would first read the cache line.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tapline::multilog {

// Below this size in bytes, an ordinary copy is just as fast.
inline constexpr size_t kStreamBytes = 2048;

// Copies the rows, and issues the store fence that streaming requires. REQUIRES: a release store follows, which
// publishes the streamed lines.
inline void copy_rows(uint8_t* target, const uint8_t* source, size_t bytes) {
#if !defined(__SANITIZE_THREAD__)
  if (bytes >= kStreamBytes) {
    const size_t head = (64 - reinterpret_cast<uintptr_t>(target) % 64) % 64;
    std::memcpy(target, source, head);
    target += head, source += head, bytes -= head;
    for (; bytes >= 64; target += 64, source += 64, bytes -= 64) {
      auto* out = reinterpret_cast<__m128i*>(target);
      const auto* in = reinterpret_cast<const __m128i*>(source);
      const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2),
                    d = _mm_loadu_si128(in + 3);
      _mm_stream_si128(out, a);
      _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c);
      _mm_stream_si128(out + 3, d);
    }
    _mm_sfence();
  }
#endif
  std::memcpy(target, source, bytes);
}

}  // namespace tapline::multilog
