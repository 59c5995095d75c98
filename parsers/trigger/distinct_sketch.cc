#include "parsers/trigger/distinct_sketch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

namespace tapline::trigger {
namespace {

constexpr uint8_t kRegistersSize = 7;  // block size of the registers, and of the largest hash table
static_assert(SketchMemory::bytes_of(kRegistersSize) == 2 * DistinctSketch::kExact * sizeof(uint64_t));
static_assert(SketchMemory::bytes_of(kRegistersSize) >= DistinctSketch::kRegisters);

// Return sigma and tau, as defined in Ertl's paper.
double sigma(double x) {
  if (x == 1) return INFINITY;
  double factor = 1, sum = x;
  for (double last = -1; sum != last;) {
    x *= x;
    last = sum;
    sum += x * factor;
    factor += factor;
  }
  return sum;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double factor = 1, sum = 1 - x;
  for (double last = -1; sum != last;) {
    x = std::sqrt(x);
    last = sum;
    factor /= 2;
    sum -= (1 - x) * (1 - x) * factor;
  }
  return sum / 3;
}

}  // namespace

void DistinctSketch::insert(uint64_t hash) {
  uint32_t slot = first_slot(hash);
  while (slots()[slot] != 0) slot = (slot + 1) & mask();
  slots()[slot] = hash;
}

void DistinctSketch::add_new(uint64_t hash, SketchMemory* memory) {
  const bool is_full = block_ == nullptr || 2 * (size_ + 1) > mask() + 1;
  if (size_ == kExact ? !begin_estimate(memory) : is_full && !grow(memory)) {
    ++missed_;
    memory->miss(1);
    return;
  }
  if (is_estimate_) return raise(hash);
  insert(hash);
  ++size_;
}

// Creates the table of hashes or moves them into one of twice the size. Returns false if there is no memory for it.
bool DistinctSketch::grow(SketchMemory* memory) {
  const auto size = static_cast<uint8_t>(block_ == nullptr ? 0 : block_size_ + 1);
  std::byte* larger_block = memory->take(size);
  if (larger_block == nullptr) return false;
  const DistinctSketch before = *this;
  block_ = larger_block;
  block_size_ = size;
  if (before.block_ == nullptr) return true;
  for (uint32_t slot = 0; slot <= before.mask(); ++slot) {
    if (before.slots()[slot] != 0) insert(before.slots()[slot]);
  }
  memory->give_back(before.block_, before.block_size_);
  return true;
}

// Replaces the hashes with registers, in the same block if it is large enough. Returns false if there is no memory for
// them.
bool DistinctSketch::begin_estimate(SketchMemory* memory) {
  std::array<uint64_t, kExact> hashes;
  size_t count = 0;
  for (uint32_t slot = 0; block_ != nullptr && slot <= mask(); ++slot) {
    if (slots()[slot] != 0) hashes[count++] = slots()[slot];
  }
  if (block_ == nullptr || block_size_ < kRegistersSize) {
    std::byte* larger_block = memory->take(kRegistersSize);
    if (larger_block == nullptr) return false;
    if (block_ != nullptr) memory->give_back(block_, block_size_);
    block_ = larger_block;
    block_size_ = kRegistersSize;
  } else {
    std::memset(block_, 0, kRegisters);
  }
  is_estimate_ = true;
  size_ = kExact;
  for (const uint64_t hash : std::span(hashes).first(count)) raise(hash);
  return true;
}

void DistinctSketch::merge(const DistinctSketch& added, uint32_t begin, uint32_t end, SketchMemory* memory) {
  if (end == added.slot_count()) missed_ += added.missed_;
  if (added.block_ == nullptr) return;
  if (!added.is_estimate_) {
    for (uint32_t slot = begin; slot < end; ++slot) {
      if (added.slots()[slot] != 0) add(added.slots()[slot], memory);
    }
    return;
  }
  if (!is_estimate_ && !begin_estimate(memory)) {
    missed_ += static_cast<uint64_t>(std::ceil(added.count().high)) - added.missed_;
    return;
  }
  auto* registers = reinterpret_cast<uint8_t*>(block_);
  const auto* more = reinterpret_cast<const uint8_t*>(added.block_);
  for (uint32_t i = 0; i < kRegisters; ++i) registers[i] = std::max(registers[i], more[i]);
}

void DistinctSketch::count_ranks(uint32_t begin, uint32_t end, RankCounts* ranks) const {
  for (uint32_t i = begin; i < end; ++i) ++(*ranks)[std::to_integer<size_t>(block_[i])];
}

Interval DistinctSketch::count() const {
  RankCounts ranks = {};
  count_ranks(0, register_count(), &ranks);
  return count(ranks);
}

Interval DistinctSketch::count(const RankCounts& ranks) const {
  const auto missed = static_cast<double>(missed_);
  if (!is_estimate_) return {static_cast<double>(size_), size_ + missed};
  double sum = kRegisters * tau(1 - ranks.back() / double{kRegisters});
  for (size_t rank = ranks.size() - 2; rank > 0; --rank) sum = (sum + ranks[rank]) / 2;
  sum += kRegisters * sigma(ranks[0] / double{kRegisters});
  const double estimated = double{kRegisters} * kRegisters / (2 * std::log(2) * sum);
  return {std::max(kExact + 1.0, std::ceil(estimated / (1 + 2 * kError))),
          std::max(kExact + 1.0, std::floor(estimated / (1 - 2 * kError))) + missed};
}

void DistinctSketch::give_back(SketchMemory* memory) {
  if (block_ != nullptr) memory->give_back(block_, block_size_);
  *this = {};
}

}  // namespace tapline::trigger
