#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsers/trigger/interval.h"
#include "parsers/trigger/sketch_memory.h"

namespace tapline::trigger {

// Counts how often each value occurred. Sketches can be merged, and the order of values does not matter. Works like the
// stream job's ValueCounts (aggregates/distribution): counts are exact for up to kExact distinct values. Beyond that,
// ranges of values (cells) are counted, and all cells double in width whenever there would be more than kExact. An
// all-zero object is an empty sketch.
//
// A cell's number is its values' bits, transformed so that they sort like the values, minus 1 and without the lowest
// `shift` bits. The cell contains the values above its lower end, up to and including its upper end. The sketch's block
// is a hash table of cells that grows up to 64 KiB.
class ValueSketch {
 public:
  static constexpr uint32_t kExact = 2048;

  // Adds a value, or counts it as missed if there is no memory for it.
  void add(double value, SketchMemory* memory) { add_cell(number_of(value) >> shift_, 1, memory); }
  void merge(const ValueSketch& added, SketchMemory* memory);

  // Returns the same result as QuantileSearch, which handles several sketches and can be interrupted. Takes about 20 us
  // for kExact cells.
  Interval quantile(double share) const;
  void give_back(SketchMemory* memory);

  struct Cell {
    int64_t number;
    uint64_t count;  // 0: the slot is empty
  };
  // Returns all slots of the hash table.
  std::span<const Cell> cells() const { return slots(); }
  uint8_t shift() const { return shift_; }
  // Returns the number of values that were not counted because no memory was available.
  uint64_t missed() const { return missed_; }
  // Returns bounds of the values in this cell of a sketch with this shift.
  static double low(int64_t number, uint8_t shift);
  static double high(int64_t number, uint8_t shift);
  // Widens the bounds to contain the values in these cells of the sketch.
  void widen(std::span<const Cell> cells, Interval* bounds) const;

 private:
  static int64_t number_of(double value);
  static double value_of(int64_t order);
  std::span<Cell> slots() const {
    return {reinterpret_cast<Cell*>(block_),
            block_ == nullptr ? 0 : SketchMemory::bytes_of(block_size_) / sizeof(Cell)};
  }
  Cell* slot_of(int64_t number, const SketchMemory& memory) const;
  void add_cell(int64_t number, uint64_t count, SketchMemory* memory);
  bool grow(SketchMemory* memory);
  void coarsen(const SketchMemory& memory);
  size_t copy_cells(Cell* cells) const;

  std::byte* block_;
  uint64_t missed_;
  uint32_t size_;  // number of cells
  uint8_t block_size_;
  uint8_t shift_;
};
static_assert(sizeof(ValueSketch) == 24);

}  // namespace tapline::trigger
