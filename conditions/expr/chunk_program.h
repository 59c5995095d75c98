// Evaluates several expressions over a chunk of rows at once: each column is extracted from the rows once, each
// distinct comparison is made once over its column (simd/kernels.h), and the resulting bits are combined.
//
//   rows ──▶ columns (only those needed) ──▶ bits per leaf (shared by the expressions) ──▶ bits per expression
//
// A ChunkProgram is immutable once built and may be shared; a ChunkScratch belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "conditions/expr/expression.h"
#include "conditions/simd/kernels.h"

namespace tapline::conditions {

inline constexpr uint32_t kChunkRows = 1024;
using ChunkBits = std::array<uint64_t, kChunkRows / 64>;

// Calls `visit(i)` for each set bit, in order.
template <typename Visit>
inline void for_each_bit(const ChunkBits& bits, Visit&& visit) {
  for (uint32_t word = 0; word < bits.size(); ++word) {
    for (uint64_t rest = bits[word]; rest != 0; rest &= rest - 1)
      visit(word * 64 + static_cast<uint32_t>(__builtin_ctzll(rest)));
  }
}

inline bool any_bit(const ChunkBits& bits) {
  uint64_t any = 0;
  for (const uint64_t word : bits) any |= word;
  return any != 0;
}

class ChunkScratch;

class ChunkProgram {
 public:
  explicit ChunkProgram(const Schema& schema) : schema_(&schema) {}
  // Builder: adds an expression. Returns its number, for select().
  uint32_t add(const Expression& expression);
  // Builder: adds a column for keys_of(). Returns its number. REQUIRES: column.keyed().
  uint32_t add_column(const Column& column);

  // Selects the rows of the chunk that satisfy expression `number`. Leaves that depend on aggregates are assumed to be
  // true, so the selected rows must be verified one by one.
  void select(uint32_t number, ChunkScratch* scratch, ChunkBits* selected) const;
  // Returns the chunk's keys for a column, of key_bytes() bytes each.
  const void* keys_of(uint32_t column, ChunkScratch* scratch) const;

  size_t columns() const { return columns_.size(); }
  size_t leaves() const { return leaves_.size(); }
  const Column& column(uint32_t number) const { return columns_[number]; }
  const Schema& schema() const { return *schema_; }

 private:
  struct ProgramLeaf {
    Leaf leaf;
    uint32_t column = 0;
    // The leaf is true for keys within any of `ranges` or, if it is inverted, for keys outside all of them.
    KeyRanges ranges;
    bool inverted = false;
  };
  uint32_t add_leaf(const Leaf& leaf);
  Node renumbered(const Node& node, const std::vector<Leaf>& leaves);
  void select_node(const Node& node, ChunkScratch* scratch, ChunkBits* selected) const;
  const ChunkBits& leaf_bits(uint32_t leaf, ChunkScratch* scratch) const;
  // Returns the rows that have the column. REQUIRES: the column is optional.
  const ChunkBits& presence(const Column& column, ChunkScratch* scratch) const;
  void compare_keys(const ProgramLeaf& leaf, ChunkScratch* scratch, ChunkBits* bits) const;

  const Schema* schema_;
  std::vector<Column> columns_;
  std::vector<ProgramLeaf> leaves_;
  std::vector<Node> roots_;
};

class ChunkScratch {
 public:
  explicit ChunkScratch(const simd::Kernels& kernels = simd::best()) : kernels_(&kernels) {}
  // Begins a new chunk of `count` rows (at most kChunkRows) that are `stride` bytes apart. REQUIRES: the rows do not
  // change until the next begin().
  void begin(const ChunkProgram& program, const uint8_t* rows, uint32_t stride, uint32_t count);
  uint32_t count() const { return count_; }
  const uint8_t* row(uint32_t index) const { return rows_ + size_t{index} * stride_; }

 private:
  friend class ChunkProgram;
  struct alignas(64) KeyBuffer {
    uint8_t bytes[kChunkRows * 8];
  };
  const simd::Kernels* kernels_;
  const uint8_t* rows_ = nullptr;
  uint32_t stride_ = 0;
  uint32_t count_ = 0;
  // The number of the current chunk; only results with this number are valid.
  uint64_t chunk_ = 0;
  std::vector<std::unique_ptr<KeyBuffer>> keys_;
  std::vector<uint64_t> keys_of_;
  // Indexed by presence bit.
  std::vector<ChunkBits> presence_;
  std::vector<uint64_t> presence_of_;
  std::vector<ChunkBits> bits_;
  std::vector<uint64_t> bits_of_;
};

// Extracts the keys of `count` rows into `keys`, key_bytes() bytes each. REQUIRES: column.keyed().
void extract_keys(const Column& column, const uint8_t* rows, uint32_t stride, uint32_t count, void* keys);

}  // namespace tapline::conditions
