// x86-64-v2: SSE4.2, 16 bytes at a time.
#include "conditions/simd/kernels_impl.h"

namespace tapline::conditions::simd {
namespace {

__m128i load(const void* source) { return _mm_loadu_si128(static_cast<const __m128i*>(source)); }

template <>
uint64_t compare64(const uint8_t* keys, uint8_t mask, uint8_t low, uint8_t span) {
  const __m128i m = _mm_set1_epi8(static_cast<char>(mask)), l = _mm_set1_epi8(static_cast<char>(low)),
                s = _mm_set1_epi8(static_cast<char>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i d = _mm_sub_epi8(_mm_and_si128(load(keys + 16 * i), m), l);
    bits |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(d, s), d))) << 16 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint16_t* keys, uint16_t mask, uint16_t low, uint16_t span) {
  const __m128i m = _mm_set1_epi16(static_cast<short>(mask)), l = _mm_set1_epi16(static_cast<short>(low)),
                s = _mm_set1_epi16(static_cast<short>(span));
  auto compare = [&](const uint16_t* source) {
    const __m128i d = _mm_sub_epi16(_mm_and_si128(load(source), m), l);
    return _mm_cmpeq_epi16(_mm_min_epu16(d, s), d);
  };
  uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i packed = _mm_packs_epi16(compare(keys + 16 * i), compare(keys + 16 * i + 8));
    bits |= static_cast<uint64_t>(_mm_movemask_epi8(packed)) << 16 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint32_t* keys, uint32_t mask, uint32_t low, uint32_t span) {
  const __m128i m = _mm_set1_epi32(static_cast<int>(mask)), l = _mm_set1_epi32(static_cast<int>(low)),
                s = _mm_set1_epi32(static_cast<int>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 16; ++i) {
    const __m128i d = _mm_sub_epi32(_mm_and_si128(load(keys + 4 * i), m), l);
    bits |= static_cast<uint64_t>(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(_mm_min_epu32(d, s), d)))) << 4 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint64_t* keys, uint64_t mask, uint64_t low, uint64_t span) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; ++i) bits |= static_cast<uint64_t>((keys[i] & mask) - low <= span) << i;
  return bits;
}

}  // namespace

extern const Kernels kKernelsV2;
const Kernels kKernelsV2{"x86-64-v2", range<uint8_t>, range<uint16_t>, range<uint32_t>, range<uint64_t>};

}  // namespace tapline::conditions::simd
