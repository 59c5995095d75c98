#include "multilog/aggregate/sketches.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tapline::multilog {

uint64_t SketchHash(uint64_t key) {
  key += 0x9e3779b97f4a7c15;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  return key ^ key >> 31;
}

void DistinctSketch::Add(Cells state, uint64_t key) {
  const uint64_t hash = SketchHash(key);
  const uint64_t index = hash >> (64 - kIndexBits);
  const uint64_t rank =
      static_cast<uint64_t>(std::countl_zero(hash << kIndexBits | uint64_t{1} << (kIndexBits - 1))) + 1;
  const uint64_t word = state.Get(index / 8), shift = index % 8 * 8;
  if (rank > (word >> shift & 255)) state.Set(index / 8, (word & ~(uint64_t{255} << shift)) | rank << shift);
}

void DistinctSketch::Merge(Cells into, Cells from) {
  for (size_t i = 0; i < kWords; ++i) {
    uint64_t a = into.Get(i);
    const uint64_t b = from.Get(i);
    uint64_t merged = 0;
    for (uint32_t shift = 0; shift < 64; shift += 8) merged |= std::max(a >> shift & 255, b >> shift & 255) << shift;
    if (merged != a) into.Set(i, merged);
  }
}

double DistinctSketch::Estimate(Cells state) {
  constexpr double kRegisters = 1 << kIndexBits;
  double sum = 0, zeros = 0;
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t word = state.Get(i);
    for (uint32_t shift = 0; shift < 64; shift += 8) {
      const auto rank = static_cast<int>(word >> shift & 255);
      sum += std::ldexp(1.0, -rank);
      zeros += rank == 0;
    }
  }
  const double estimate = 0.7213 / (1 + 1.079 / kRegisters) * kRegisters * kRegisters / sum;
  return estimate <= 2.5 * kRegisters && zeros > 0 ? kRegisters * std::log(kRegisters / zeros) : estimate;
}

uint32_t QuantileSketch::CounterOf(uint64_t value) {
  constexpr uint64_t kSubs = uint64_t{1} << kSubBits;
  if (value < kSubs) return static_cast<uint32_t>(value);
  const auto shift = static_cast<uint32_t>(63 - std::countl_zero(value)) - kSubBits;
  return static_cast<uint32_t>((shift + 1) * kSubs + (value >> shift & (kSubs - 1)));
}

uint64_t QuantileSketch::LeastOf(uint32_t counter) {
  constexpr uint64_t kSubs = uint64_t{1} << kSubBits;
  if (counter < kSubs) return counter;
  const uint64_t shift = counter / kSubs - 1;
  return (kSubs + counter % kSubs) << shift;
}

void QuantileSketch::Add(Cells state, uint64_t value) {
  const uint32_t counter = CounterOf(value);
  state.Set(counter, state.Get(counter) + 1);
}

void QuantileSketch::Merge(Cells into, Cells from) {
  for (size_t i = 0; i < kWords; ++i) {
    if (const uint64_t more = from.Get(i); more != 0) into.Set(i, into.Get(i) + more);
  }
}

Number QuantileSketch::Quantile(Cells state, double quantile) {
  uint64_t total = 0;
  for (size_t i = 0; i < kWords; ++i) total += state.Get(i);
  if (total == 0) return {};
  const auto rank =
      static_cast<uint64_t>(std::min(quantile * static_cast<double>(total), static_cast<double>(total - 1)));
  uint64_t below = 0;
  for (uint32_t i = 0; i < kWords; ++i) {
    below += state.Get(i);
    if (below <= rank) continue;
    const uint64_t least = LeastOf(i), next = i + 1 < kWords ? LeastOf(i + 1) : ~uint64_t{0};
    return Number::Whole(least + (next - least - 1) / 2);
  }
  return {};
}

}  // namespace tapline::multilog
