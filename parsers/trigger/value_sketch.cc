#include "parsers/trigger/value_sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "parsers/trigger/quantile_search.h"

namespace tapline::trigger {

// Inverts the lower 63 bits of negative values, so that numbers sort like values.
int64_t ValueSketch::number_of(double value) {
  const auto bits = std::bit_cast<int64_t>(value + 0.0);  // -0 becomes 0
  return (bits ^ (bits >> 63 & std::numeric_limits<int64_t>::max())) - 1;
}

double ValueSketch::value_of(int64_t order) {
  constexpr double kMax = std::numeric_limits<double>::max();
  order = std::clamp(order, number_of(-kMax) + 1, number_of(kMax) + 1);
  return std::bit_cast<double>(order ^ (order >> 63 & std::numeric_limits<int64_t>::max()));
}

double ValueSketch::low(int64_t number, uint8_t shift) {
  return shift == 0 ? high(number, 0) : value_of(static_cast<int64_t>(static_cast<uint64_t>(number) << shift));
}

double ValueSketch::high(int64_t number, uint8_t shift) {
  const int64_t next = number + 1;
  if (next > std::numeric_limits<int64_t>::max() >> shift) return std::numeric_limits<double>::max();
  return value_of(static_cast<int64_t>(static_cast<uint64_t>(next) << shift));
}

// Returns the cell's slot, or an empty one if there is no such cell. REQUIRES: there is an empty slot.
ValueSketch::Cell* ValueSketch::slot_of(int64_t number, const SketchMemory& memory) const {
  const auto cells = slots();
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(static_cast<uint64_t>(number) ^ memory.key()) * 0x9e3779b97f4a7c15;
  uint64_t slot = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  for (slot &= cells.size() - 1; cells[slot].count != 0 && cells[slot].number != number;)
    slot = (slot + 1) & (cells.size() - 1);
  return &cells[slot];
}

void ValueSketch::add_cell(int64_t number, uint64_t count, SketchMemory* memory) {
  Cell* cell = block_ == nullptr ? nullptr : slot_of(number, *memory);
  if (cell == nullptr || cell->count == 0) {
    if (size_ == kExact) {
      const uint8_t before = shift_;
      coarsen(*memory);
      return add_cell(number >> (shift_ - before), count, memory);
    }
    if (cell == nullptr || 2 * (size_ + 1) > slots().size()) {
      if (!grow(memory)) {
        missed_ += count;
        memory->miss(count);
        return;
      }
      cell = slot_of(number, *memory);
    }
    cell->number = number;
    ++size_;
  }
  cell->count += count;
}

bool ValueSketch::grow(SketchMemory* memory) {
  const auto size = static_cast<uint8_t>(block_ == nullptr ? 0 : block_size_ + 1);
  std::byte* larger_block = memory->take(size);
  if (larger_block == nullptr) return false;
  const ValueSketch before = *this;
  block_ = larger_block;
  block_size_ = size;
  for (const Cell& cell : before.slots()) {
    if (cell.count != 0) *slot_of(cell.number, *memory) = cell;
  }
  if (before.block_ != nullptr) memory->give_back(before.block_, before.block_size_);
  return true;
}

size_t ValueSketch::copy_cells(Cell* cells) const {
  size_t count = 0;
  for (const Cell& cell : slots()) {
    if (cell.count != 0) cells[count++] = cell;
  }
  return count;
}

// Doubles the width of all cells. Cells still begin at powers of two and at 1.5 times these, as long as values lie
// within 500 octaves.
void ValueSketch::coarsen(const SketchMemory& memory) {
  std::array<Cell, kExact> cells;
  const size_t count = copy_cells(cells.data());
  std::memset(block_, 0, SketchMemory::bytes_of(block_size_));
  ++shift_;
  size_ = 0;
  for (const Cell& cell : std::span(cells).first(count)) {
    Cell* wider_cell = slot_of(cell.number >> 1, memory);
    size_ += wider_cell->count == 0;
    wider_cell->number = cell.number >> 1;
    wider_cell->count += cell.count;
  }
}

void ValueSketch::merge(const ValueSketch& added, SketchMemory* memory) {
  missed_ += added.missed_;
  while (shift_ < added.shift_) {
    if (block_ == nullptr) {
      shift_ = added.shift_;
    } else {
      coarsen(*memory);
    }
  }
  for (const Cell& cell : added.slots()) {
    if (cell.count != 0) add_cell(cell.number >> (shift_ - added.shift_), cell.count, memory);
  }
}

Interval ValueSketch::quantile(double share) const {
  QuantileSearch search;
  search.begin(share);
  search.miss(missed_);
  while (!search.is_complete()) {
    search.scan(slots(), shift_);
    search.end_pass();
  }
  return search.result();
}

void ValueSketch::widen(std::span<const Cell> cells, Interval* bounds) const {
  for (const Cell& cell : cells) {
    if (cell.count == 0) continue;
    bounds->low = std::min(bounds->low, low(cell.number, shift_));
    bounds->high = std::max(bounds->high, high(cell.number, shift_));
  }
}

void ValueSketch::give_back(SketchMemory* memory) {
  if (block_ != nullptr) memory->give_back(block_, block_size_);
  *this = {};
}

}  // namespace tapline::trigger
