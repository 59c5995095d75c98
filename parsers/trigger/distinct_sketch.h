#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "parsers/trigger/interval.h"
#include "parsers/trigger/sketch_memory.h"

namespace tapline::trigger {

// Counts distinct values by their 64-bit hashes, like the stream job's `distinct`. Sketches can be merged, and the
// order of values does not matter. The count is exact up to kExact values; beyond that, it is estimated by a
// HyperLogLog sketch (Flajolet et al., AofA 2007) with the estimator of Ertl ("New cardinality estimation algorithms
// for HyperLogLog sketches", 2017), which is unbiased at any cardinality. An all-zero object is an empty sketch.
//
// The sketch's block is a hash table that grows up to 8 KiB; once the count is estimated, it contains the registers.
class DistinctSketch {
 public:
  static constexpr uint32_t kExact = 512;
  static constexpr int kLogRegisters = 12;
  static constexpr uint32_t kRegisters = 1u << kLogRegisters;
  // Relative standard error of an estimate; bounds are two standard errors away (95 %).
  static constexpr double kError = 1.04 / 64;

  // Adds a value, or counts it as missed if there is no memory for it.
  void add(uint64_t hash, SketchMemory* memory) {
    hash |= hash == 0;
    if (is_estimate_) return raise(hash);
    for (uint32_t slot = first_slot(hash); block_ != nullptr; slot = (slot + 1) & mask()) {
      if (slots()[slot] == hash) return;
      if (slots()[slot] == 0) break;
    }
    add_new(hash, memory);
  }
  // Adds the values of another sketch that uses the same hash function.
  void merge(const DistinctSketch& added, SketchMemory* memory) { merge(added, 0, added.slot_count(), memory); }
  // Adds the values in the slots from `begin` up to, but excluding, `end`. All registers count as a single slot. Missed
  // values are added with the last slot.
  void merge(const DistinctSketch& added, uint32_t begin, uint32_t end, SketchMemory* memory);
  // Returns the number of slots, at least 1.
  uint32_t slot_count() const { return block_ == nullptr || is_estimate_ ? 1 : mask() + 1; }

  bool empty() const { return size_ == 0 && missed_ == 0; }
  // Returns bounds for the number of distinct values. Missed values may be duplicates, so they only raise the upper
  // bound.
  Interval count() const;
  // The number of registers with each rank, which count_ranks() can collect in pieces for count().
  using RankCounts = std::array<uint32_t, 64 - kLogRegisters + 2>;
  uint32_t register_count() const { return is_estimate_ ? kRegisters : 0; }
  void count_ranks(uint32_t begin, uint32_t end, RankCounts* ranks) const;
  Interval count(const RankCounts& ranks) const;
  void give_back(SketchMemory* memory);

 private:
  uint64_t* slots() const { return reinterpret_cast<uint64_t*>(block_); }
  uint32_t mask() const { return static_cast<uint32_t>(SketchMemory::bytes_of(block_size_) / sizeof(uint64_t)) - 1; }
  uint32_t first_slot(uint64_t hash) const { return static_cast<uint32_t>(hash) & mask(); }
  void raise(uint64_t hash) {
    auto& value = reinterpret_cast<uint8_t*>(block_)[hash >> (64 - kLogRegisters)];
    const auto rank =
        static_cast<uint8_t>(1 + std::countl_zero(hash << kLogRegisters | uint64_t{1} << (kLogRegisters - 1)));
    if (rank > value) value = rank;
  }
  void add_new(uint64_t hash, SketchMemory* memory);
  void insert(uint64_t hash);
  bool grow(SketchMemory* memory);
  bool begin_estimate(SketchMemory* memory);

  std::byte* block_;
  uint64_t missed_;
  uint32_t size_;  // number of hashes; not 0 if the block contains registers
  uint8_t block_size_;
  bool is_estimate_;
};
static_assert(sizeof(DistinctSketch) == 24);

}  // namespace tapline::trigger
