#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parsers/api/bits.h"
#include "parsers/engine/zeroed_array.h"
#include "parsers/trigger/program.h"

namespace tapline::trigger {

// A set of triggers of one channel that packets match together; each counter belongs to one cell.
struct Cell {
  uint32_t first_word;
  uint32_t word_count;
  uint32_t trigger_count;
  // Bit w is set if some trigger has a threshold for word w of the counter; min[w] is the lowest such threshold. A
  // counter below all of them need not be tested.
  uint32_t thresholds;
  bool always_tested;    // some trigger has no threshold
  SketchKinds sketches;  // all kinds that its triggers use
  uint64_t min[kWords];

  // Returns false if no trigger of the cell can be true for these counts.
  bool may_hold(const uint64_t* counts) const {
    if (always_tested) return true;
    bool reached = false;
    for (const uint32_t word : SetBits(thresholds)) reached = reached || counts[word] >= min[word];
    return reached;
  }
};

// A cell in which a match set's packets are counted. A set has one or more cells in each channel with triggers in the
// set.
struct CellRef {
  uint32_t channel;
  uint32_t cell;
};

// Finds a packet's match set: the triggers whose filters match the packet.
//
//   ClassKey ──▶ cache, one line a look-up ──▶ set ──▶ its cells
//                   │ miss
//                   └──▶ Program::match(): rows of bits are intersected ──▶ known set, or a new one
//
// Sets and cells are created when a packet first needs them, and stay until all are cleared. Their number is bounded.
// Beyond the limit, a packet is counted separately for each of its triggers, in a cell that contains only this trigger
// and exists from the start. That is just as exact, but takes time per trigger.
//
// One per lane. Only the lane calls it; another thread may read cells once the lane has published something that refers
// to them (release). Cells neither move nor change.
class MatchSets {
 public:
  static constexpr uint32_t kMaxSets = 65'000;         // identified by 16 bits
  static constexpr uint32_t kMaxSharedCells = 65'536;  // per channel
  static constexpr uint32_t kMaxWords = 1 << 20;
  static constexpr uint32_t kMaxRefs = 1 << 20;

  // The packet has no set; count_singly() returns its cells.
  static constexpr uint16_t kNoSet = 0;

  // REQUIRES: `cache_lines`, each with four class keys, is a power of two; the program outlives this object.
  MatchSets(const Program& program, uint32_t cache_lines);

  // Calls ZeroedArray::populate() for each of its arrays.
  void populate(size_t bytes) const;

  uint64_t hash(const ClassKey& key) const {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(key.low + hash_key_[0]) * (key.high + hash_key_[1]);
    const uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    return folded ^ folded >> 32;
  }
  void prefetch(uint64_t hash) const { __builtin_prefetch(line_of(hash)); }

  // Returns the packet's set, or kNoSet.
  uint16_t find(const ClassKey& key, uint64_t hash) {
    const Line& line = *line_of(hash);
    // At most one way has the key, and which one is unpredictable, so the loop has no branch.
    uint64_t set = kNoSet;
    for (const Way& way : line.ways) {
      const uint64_t differs = (way.low ^ key.low) | ((way.high_and_set ^ key.high) << 16);
      set |= differs == 0 ? way.high_and_set >> 48 : 0;
    }
    return set != kNoSet ? static_cast<uint16_t>(set) : find_uncached(key, hash);
  }
  std::span<const CellRef> cells_of(uint16_t set) const { return {refs() + sets_[set].first, sets_[set].count}; }

  // Returns the single cells of the packet's triggers. Valid until the next call of any function.
  std::span<const CellRef> count_singly(const ClassKey& key);

  const Cell& cell(uint32_t channel, uint32_t number) const { return cells(channel)[number]; }
  std::span<const Program::Word> words_of(const Cell& cell) const {
    return {words() + cell.first_word, cell.word_count};
  }
  bool contains(const Cell& cell, uint32_t bit) const;
  // Returns the maximum number of cells of a channel.
  uint32_t max_cells(uint32_t channel) const { return program_.channels()[channel].bits() + kMaxSharedCells; }

  uint32_t size() const { return set_count_; }
  // Returns true if more than three quarters of the space for sets or for cells is used.
  bool is_nearly_full() const;
  // Clears all sets, and all cells except the single ones, in steps of 4 KiB: at most *work steps, which are subtracted
  // from it. Returns true when done. REQUIRES: nothing refers to cells; no other function is called until it returns
  // true.
  bool forget(uint32_t* work);
  uint64_t cache_misses() const { return cache_misses_; }
  uint64_t counted_singly() const { return counted_singly_; }

 private:
  struct Way {
    uint64_t low;
    uint64_t high_and_set;  // set << 48
  };
  struct alignas(64) Line {
    Way ways[4];
  };
  struct Set {
    uint32_t first;
    uint32_t count;
  };

  Line* line_of(uint64_t hash) const { return reinterpret_cast<Line*>(cache_.data()) + (hash & cache_mask_); }
  Cell* cells(uint32_t channel) const { return reinterpret_cast<Cell*>(cell_memory_[channel]->data()); }
  Program::Word* words() const { return reinterpret_cast<Program::Word*>(word_memory_.data()); }
  CellRef* refs() const { return reinterpret_cast<CellRef*>(ref_memory_.data()); }

  uint16_t find_uncached(const ClassKey& key, uint64_t hash);
  uint16_t set_of_scratch(size_t words);
  void list_single_cells(std::span<const Program::Word> words, std::vector<CellRef>* cells) const;
  bool find_cell(uint32_t channel, std::span<const Program::Word> words, uint32_t* number);
  uint32_t make_cell(uint32_t channel, std::span<const Program::Word> words);
  void make_single_cells();
  void keep_single_cells();
  void limit_by(Cell* cell, uint32_t bit) const;

  const Program& program_;
  uint64_t hash_key_[2];
  size_t cache_bytes_;
  ZeroedArray cache_;
  uint64_t cache_mask_;
  uint32_t next_way_ = 0;
  std::vector<std::unique_ptr<ZeroedArray>> cell_memory_;  // by channel
  std::vector<uint32_t> cell_counts_;
  ZeroedArray word_memory_;
  uint32_t word_count_ = 0;
  uint32_t single_words_ = 0;
  ZeroedArray ref_memory_;
  uint32_t ref_count_ = 0;
  std::vector<Set> sets_;
  uint32_t set_count_ = 0;
  // Hash tables with open addressing, by content. A slot holds a number plus 1; 0 marks an empty slot.
  std::vector<std::vector<uint32_t>> cell_index_;
  std::vector<uint32_t> set_index_;
  std::vector<Program::Word> scratch_;
  std::vector<CellRef> scratch_cells_;
  uint64_t forgotten_bytes_ = 0;  // bytes that forget() has cleared so far
  uint64_t cache_misses_ = 0;
  uint64_t counted_singly_ = 0;
};

}  // namespace tapline::trigger
