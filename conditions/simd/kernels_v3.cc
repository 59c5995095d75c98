// x86-64-v3: AVX2, 32 bytes at a time.
#include "conditions/simd/kernels_impl.h"

namespace tapline::conditions::simd {
namespace {

__m256i load(const void* source) { return _mm256_loadu_si256(static_cast<const __m256i*>(source)); }

template <>
uint64_t compare64(const uint8_t* keys, uint8_t mask, uint8_t low, uint8_t span) {
  const __m256i m = _mm256_set1_epi8(static_cast<char>(mask)), l = _mm256_set1_epi8(static_cast<char>(low)),
                s = _mm256_set1_epi8(static_cast<char>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 2; ++i) {
    const __m256i d = _mm256_sub_epi8(_mm256_and_si256(load(keys + 32 * i), m), l);
    bits |=
        static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(d, s), d))))
        << 32 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint16_t* keys, uint16_t mask, uint16_t low, uint16_t span) {
  const __m256i m = _mm256_set1_epi16(static_cast<short>(mask)), l = _mm256_set1_epi16(static_cast<short>(low)),
                s = _mm256_set1_epi16(static_cast<short>(span));
  auto compare = [&](const uint16_t* source) {
    const __m256i d = _mm256_sub_epi16(_mm256_and_si256(load(source), m), l);
    return _mm256_cmpeq_epi16(_mm256_min_epu16(d, s), d);
  };
  uint64_t bits = 0;
  for (int i = 0; i < 2; ++i) {
    // Packing works within each 128-bit half, so a permutation restores the order of the quarters.
    const __m256i packed =
        _mm256_permute4x64_epi64(_mm256_packs_epi16(compare(keys + 32 * i), compare(keys + 32 * i + 16)), 0xd8);
    bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(packed))) << 32 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint32_t* keys, uint32_t mask, uint32_t low, uint32_t span) {
  const __m256i m = _mm256_set1_epi32(static_cast<int>(mask)), l = _mm256_set1_epi32(static_cast<int>(low)),
                s = _mm256_set1_epi32(static_cast<int>(span));
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    const __m256i d = _mm256_sub_epi32(_mm256_and_si256(load(keys + 8 * i), m), l);
    bits |=
        static_cast<uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_min_epu32(d, s), d))))
        << 8 * i;
  }
  return bits;
}

template <>
uint64_t compare64(const uint64_t* keys, uint64_t mask, uint64_t low, uint64_t span) {
  const __m256i m = _mm256_set1_epi64x(static_cast<int64_t>(mask)), l = _mm256_set1_epi64x(static_cast<int64_t>(low));
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN),
                s = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(span)), sign);
  uint64_t bits = 0;
  for (int i = 0; i < 16; ++i) {
    const __m256i d = _mm256_xor_si256(_mm256_sub_epi64(_mm256_and_si256(load(keys + 4 * i), m), l), sign);
    const auto above = static_cast<uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(d, s))));
    bits |= (~above & 15) << 4 * i;
  }
  return bits;
}

}  // namespace

extern const Kernels kKernelsV3;
const Kernels kKernelsV3{"x86-64-v3", range<uint8_t>, range<uint16_t>, range<uint32_t>, range<uint64_t>};

}  // namespace tapline::conditions::simd
