// x86-64-v4: AVX-512, 64 bytes at a time; comparisons yield bits directly.
#include "conditions/simd/kernels_impl.h"

namespace tapline::conditions::simd {
namespace {

template <>
uint64_t compare64(const uint8_t* keys, uint8_t mask, uint8_t low, uint8_t span) {
  const __m512i key = _mm512_and_si512(_mm512_loadu_si512(keys), _mm512_set1_epi8(static_cast<char>(mask)));
  return _mm512_cmple_epu8_mask(_mm512_sub_epi8(key, _mm512_set1_epi8(static_cast<char>(low))),
                                _mm512_set1_epi8(static_cast<char>(span)));
}

template <>
uint64_t compare64(const uint16_t* keys, uint16_t mask, uint16_t low, uint16_t span) {
  const __m512i m = _mm512_set1_epi16(static_cast<short>(mask)), l = _mm512_set1_epi16(static_cast<short>(low)),
                s = _mm512_set1_epi16(static_cast<short>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 2; ++i) {
    const __m512i key = _mm512_and_si512(_mm512_loadu_si512(keys + 32 * i), m);
    bits |= static_cast<uint64_t>(_mm512_cmple_epu16_mask(_mm512_sub_epi16(key, l), s)) << 32 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint32_t* keys, uint32_t mask, uint32_t low, uint32_t span) {
  const __m512i m = _mm512_set1_epi32(static_cast<int>(mask)), l = _mm512_set1_epi32(static_cast<int>(low)),
                s = _mm512_set1_epi32(static_cast<int>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    const __m512i key = _mm512_and_si512(_mm512_loadu_si512(keys + 16 * i), m);
    bits |= static_cast<uint64_t>(_mm512_cmple_epu32_mask(_mm512_sub_epi32(key, l), s)) << 16 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint64_t* keys, uint64_t mask, uint64_t low, uint64_t span) {
  const __m512i m = _mm512_set1_epi64(static_cast<int64_t>(mask)), l = _mm512_set1_epi64(static_cast<int64_t>(low)),
                s = _mm512_set1_epi64(static_cast<int64_t>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    const __m512i key = _mm512_and_si512(_mm512_loadu_si512(keys + 8 * i), m);
    bits |= static_cast<uint64_t>(_mm512_cmple_epu64_mask(_mm512_sub_epi64(key, l), s)) << 8 * i;
  }
  return bits;
}

}  // namespace

extern const Kernels kKernelsV4;
const Kernels kKernelsV4{"x86-64-v4", range<uint8_t>, range<uint16_t>, range<uint32_t>, range<uint64_t>};

}  // namespace tapline::conditions::simd
