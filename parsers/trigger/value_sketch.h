#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsers/trigger/interval.h"
#include "parsers/trigger/sketch_memory.h"

namespace tapline::trigger {

// Counts how often each value occurred, mergeable and independent of their order. It is the ValueCounts of the stream
// job (aggregates/distribution): exact for up to kExact distinct values, beyond that by cells that double in width
// whenever there would be more of them. All zeros is an empty sketch.
//
// A cell's number is the bits of its values, in an order that sorts like the values, minus 1 and without the last
// `shift` bits: the cell contains the values above its lower end, up to and including its upper end. Its block is a
// hash table of cells that grows up to 64 KiB.
class ValueSketch {
 public:
  static constexpr uint32_t kExact = 2048;

  // Counts the value as missed if there is no memory for it.
  void add(double value, SketchMemory* memory) { add_cell(number_of(value) >> shift_, 1, memory); }
  void merge(const ValueSketch& added, SketchMemory* memory);

  bool empty() const { return size_ == 0 && missed_ == 0; }
  // The smallest value that at least this share of all values does not exceed: bounds if values were missed or there
  // are too many. Absent if there are none. Takes about 15 us for kExact cells.
  Interval quantile(double share) const;
  // Bounds of all values. REQUIRES: not empty().
  Interval extremes() const;
  uint32_t steps() const { return 1 + size_ / 4; }
  void give_back(SketchMemory* memory);

 private:
  struct Cell {
    int64_t number;
    uint64_t count;  // 0: the slot is empty
  };

  static int64_t number_of(double value);
  static double value_of(int64_t order);
  double low(int64_t number) const;
  double high(int64_t number) const;
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
