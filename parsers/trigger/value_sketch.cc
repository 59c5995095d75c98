#include "parsers/trigger/value_sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tapline::trigger {

// Negative values have their lower 63 bits inverted, so that numbers sort like values.
int64_t ValueSketch::number_of(double value) {
  const auto bits = std::bit_cast<int64_t>(value + 0.0);  // -0 becomes 0
  return (bits ^ (bits >> 63 & std::numeric_limits<int64_t>::max())) - 1;
}

double ValueSketch::value_of(int64_t order) {
  constexpr double kMax = std::numeric_limits<double>::max();
  order = std::clamp(order, number_of(-kMax) + 1, number_of(kMax) + 1);
  return std::bit_cast<double>(order ^ (order >> 63 & std::numeric_limits<int64_t>::max()));
}

double ValueSketch::low(int64_t number) const {
  return shift_ == 0 ? high(number) : value_of(static_cast<int64_t>(static_cast<uint64_t>(number) << shift_));
}

double ValueSketch::high(int64_t number) const {
  const int64_t next = number + 1;
  if (next > std::numeric_limits<int64_t>::max() >> shift_) return std::numeric_limits<double>::max();
  return value_of(static_cast<int64_t>(static_cast<uint64_t>(next) << shift_));
}

// The cell's slot, or an empty one. REQUIRES: there is an empty slot.
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

// Doubles the width of all cells. Powers of two and 1.5 times these begin cells, as long as values lie within 500
// octaves.
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
  if (empty()) return Interval::absent();
  std::array<Cell, kExact> copies;
  const std::span<Cell> cells = std::span(copies).first(copy_cells(copies.data()));
  uint64_t counted = 0;
  for (const Cell& cell : cells) counted += cell.count;
  // Quickselect by rank, from 1.
  const auto cell_of = [&](uint64_t rank) {
    std::span<Cell> left = cells;
    while (left.size() > 1) {
      const size_t half = left.size() / 2;
      std::nth_element(left.begin(), left.begin() + static_cast<ptrdiff_t>(half), left.end(),
                       [](const Cell& a, const Cell& b) { return a.number < b.number; });
      uint64_t below = 0;
      for (const Cell& cell : left.first(half)) below += cell.count;
      const bool is_above = rank > below;
      left = is_above ? left.subspan(half) : left.first(half);
      if (is_above) rank -= below;
    }
    return left[0].number;
  };
  const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(counted + missed_)));
  // All missed values may be below, or above.
  Interval bounds{-INFINITY, INFINITY};
  if (rank > missed_ && !cells.empty()) bounds.low = low(cell_of(rank - missed_));
  if (rank <= counted) bounds.high = high(cell_of(rank));
  return bounds;
}

Interval ValueSketch::extremes() const {
  if (missed_ > 0) return {-INFINITY, INFINITY};
  Interval bounds{INFINITY, -INFINITY};
  for (const Cell& cell : slots()) {
    if (cell.count == 0) continue;
    bounds.low = std::min(bounds.low, low(cell.number));
    bounds.high = std::max(bounds.high, high(cell.number));
  }
  return bounds;
}

void ValueSketch::give_back(SketchMemory* memory) {
  if (block_ != nullptr) memory->give_back(block_, block_size_);
  *this = {};
}

}  // namespace tapline::trigger
