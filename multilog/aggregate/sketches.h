// Mergeable sketches over arrays of 64-bit words, as defined in schema/sketches.md.
#pragma once

#include <cstdint>

#include "multilog/aggregate/function.h"

namespace tapline::multilog {

// Hashes a key (SplitMix64). All implementations that read the sketches, in any language, must use the same function.
uint64_t sketch_hash(uint64_t key);

// HyperLogLog with 2048 one-byte registers, 8 to a word. The standard error is 2.3 %.
struct DistinctSketch {
  static constexpr uint32_t kIndexBits = 11;
  static constexpr size_t kWords = (size_t{1} << kIndexBits) / 8;
  static void add(Cells state, uint64_t key);
  static void merge(Cells target, Cells source);
  static double estimate(Cells state);
};

// Counts values in 32 steps per power of two: quantiles are within 1.6 % of the value, and integers below 32 are exact.
struct QuantileSketch {
  static constexpr uint32_t kSubBits = 5;
  static constexpr size_t kWords = (64 - kSubBits + 1) << kSubBits;
  static void add(Cells state, uint64_t value);
  static void merge(Cells target, Cells source);
  // Returns the middle of the counter's range that contains the quantile, or a missing number if there are no values.
  static Number quantile(Cells state, double quantile);

  static uint32_t counter_of(uint64_t value);
  static uint64_t min_of(uint32_t counter);
};

}  // namespace tapline::multilog
