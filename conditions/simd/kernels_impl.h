// The loop around compare64<T>, which maps 64 keys to 64 bits and is defined for each instruction set. Included only by
// kernels_*.cc.
#pragma once

#include <immintrin.h>

#include "conditions/simd/kernels.h"

namespace tapline::conditions::simd {
namespace {

template <typename T>
uint64_t compare64(const T* keys, T mask, T low, T span);

template <typename T>
void range(const void* keys, uint32_t count, uint64_t mask, uint64_t low, uint64_t span, uint64_t* bits) {
  const T* cursor = static_cast<const T*>(keys);
  const uint32_t words = (count + 63) / 64;
  for (uint32_t i = 0; i < words; ++i)
    bits[i] = compare64<T>(cursor + size_t{64} * i, static_cast<T>(mask), static_cast<T>(low), static_cast<T>(span));
  if (count % 64 != 0) bits[words - 1] &= (uint64_t{1} << count % 64) - 1;
}

}  // namespace
}  // namespace tapline::conditions::simd
