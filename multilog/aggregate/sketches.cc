#include "multilog/aggregate/sketches.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tapline::multilog {

uint64_t sketch_hash(uint64_t key) {
  key += 0x9e3779b97f4a7c15;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  return key ^ key >> 31;
}

void DistinctSketch::add(Cells state, uint64_t key) {
  const uint64_t hash = sketch_hash(key);
  const uint64_t index = hash >> (64 - kIndexBits);
  const uint64_t rank =
      static_cast<uint64_t>(std::countl_zero(hash << kIndexBits | uint64_t{1} << (kIndexBits - 1))) + 1;
  const uint64_t word = state.get(index / 8), shift = index % 8 * 8;
  if (rank > (word >> shift & 255)) state.set(index / 8, (word & ~(uint64_t{255} << shift)) | rank << shift);
}

void DistinctSketch::merge(Cells target, Cells source) {
  for (size_t i = 0; i < kWords; ++i) {
    uint64_t a = target.get(i);
    const uint64_t b = source.get(i);
    uint64_t merged = 0;
    for (uint32_t shift = 0; shift < 64; shift += 8) merged |= std::max(a >> shift & 255, b >> shift & 255) << shift;
    if (merged != a) target.set(i, merged);
  }
}

double DistinctSketch::estimate(Cells state) {
  constexpr double kRegisters = 1 << kIndexBits;
  double sum = 0, zeros = 0;
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t word = state.get(i);
    for (uint32_t shift = 0; shift < 64; shift += 8) {
      const auto rank = static_cast<int>(word >> shift & 255);
      sum += std::ldexp(1.0, -rank);
      zeros += rank == 0;
    }
  }
  const double estimate = 0.7213 / (1 + 1.079 / kRegisters) * kRegisters * kRegisters / sum;
  return estimate <= 2.5 * kRegisters && zeros > 0 ? kRegisters * std::log(kRegisters / zeros) : estimate;
}

uint32_t QuantileSketch::counter_of(uint64_t value) {
  constexpr uint64_t kSubs = uint64_t{1} << kSubBits;
  if (value < kSubs) return static_cast<uint32_t>(value);
  const auto shift = static_cast<uint32_t>(63 - std::countl_zero(value)) - kSubBits;
  return static_cast<uint32_t>((shift + 1) * kSubs + (value >> shift & (kSubs - 1)));
}

uint64_t QuantileSketch::min_of(uint32_t counter) {
  constexpr uint64_t kSubs = uint64_t{1} << kSubBits;
  if (counter < kSubs) return counter;
  const uint64_t shift = counter / kSubs - 1;
  return (kSubs + counter % kSubs) << shift;
}

void QuantileSketch::add(Cells state, uint64_t value) {
  const uint32_t counter = counter_of(value);
  state.set(counter, state.get(counter) + 1);
}

void QuantileSketch::merge(Cells target, Cells source) {
  for (size_t i = 0; i < kWords; ++i) {
    if (const uint64_t more = source.get(i); more != 0) target.set(i, target.get(i) + more);
  }
}

Number QuantileSketch::quantile(Cells state, double quantile) {
  uint64_t total = 0;
  for (size_t i = 0; i < kWords; ++i) total += state.get(i);
  if (total == 0) return {};
  const auto rank =
      static_cast<uint64_t>(std::min(quantile * static_cast<double>(total), static_cast<double>(total - 1)));
  uint64_t below = 0;
  for (uint32_t i = 0; i < kWords; ++i) {
    below += state.get(i);
    if (below <= rank) continue;
    const uint64_t min = min_of(i), next = i + 1 < kWords ? min_of(i + 1) : ~uint64_t{0};
    return Number::of_whole(min + (next - min - 1) / 2);
  }
  return {};
}

}  // namespace tapline::multilog
