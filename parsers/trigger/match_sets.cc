#include "parsers/trigger/match_sets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace tapline::trigger {
namespace {

// Twice as many slots as entries.
constexpr size_t kIndexSlots = 1 << 17;
static_assert(kIndexSlots >= 2 * MatchSets::kMaxSharedCells && kIndexSlots >= 2 * MatchSets::kMaxSets);

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

bool same(std::span<const Program::Word> a, std::span<const Program::Word> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Program::Word& x, const Program::Word& y) {
    return x.index == y.index && x.bits == y.bits;
  });
}

bool same(std::span<const CellRef> a, std::span<const CellRef> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const CellRef& x, const CellRef& y) { return x.channel == y.channel && x.cell == y.cell; });
}

uint64_t hash_of(std::span<const Program::Word> words, uint64_t seed) {
  for (const Program::Word& word : words) seed = mix(mix(seed, word.index), word.bits);
  return seed;
}

uint64_t hash_of(std::span<const CellRef> cells, uint64_t seed) {
  for (const CellRef& ref : cells) seed = mix(seed, uint64_t{ref.channel} << 32 | ref.cell);
  return seed;
}

// Returns the slot of the entry for which is_same() is true, or the empty slot where it belongs.
template <typename IsSame>
uint32_t& slot_of(std::vector<uint32_t>* index, uint64_t hash, IsSame is_same) {
  size_t slot = hash & (index->size() - 1);
  while ((*index)[slot] != 0 && !is_same((*index)[slot] - 1)) slot = (slot + 1) & (index->size() - 1);
  return (*index)[slot];
}

}  // namespace

MatchSets::MatchSets(const Program& program, uint32_t cache_lines)
    : program_(program),
      cache_bytes_(size_t{cache_lines} * sizeof(Line)),
      cache_(cache_bytes_),
      cache_mask_(cache_lines - 1),
      word_memory_((size_t{kMaxWords} + program.bits()) * sizeof(Program::Word)),
      ref_memory_(size_t{kMaxRefs} * sizeof(CellRef)),
      sets_(kMaxSets + 1),
      set_index_(kIndexSlots),
      scratch_(program.words_per_set()) {
  std::random_device random;
  for (uint64_t& key : hash_key_) key = (uint64_t{random()} << 32 | random()) | 1;
  for (uint32_t channel = 0; channel < program.channels().size(); ++channel) {
    cell_memory_.push_back(std::make_unique<ZeroedArray>(size_t{max_cells(channel)} * sizeof(Cell)));
    cell_index_.emplace_back(kIndexSlots);
  }
  make_single_cells();
}

void MatchSets::populate(size_t bytes) const {
  cache_.populate(bytes);
  word_memory_.populate(bytes);
  ref_memory_.populate(bytes);
  for (const auto& memory : cell_memory_) memory->populate(bytes);
}

void MatchSets::make_single_cells() {
  const auto& channels = program_.channels();
  cell_counts_.assign(channels.size(), 0);
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    const Channel& selected = channels[channel];
    for (uint32_t bit = 0; bit < selected.bits(); ++bit) {
      const Program::Word word = {uint64_t{1} << bit % 64, selected.first_word + bit / 64};
      make_cell(channel, {&word, program_.has_trigger(selected.first_bit() + bit) ? 1u : 0u});
    }
  }
  single_words_ = word_count_;
}

bool MatchSets::is_nearly_full() const {
  const auto nearly_full = [](uint64_t used, uint64_t max) { return used > max / 4 * 3; };
  bool full = nearly_full(set_count_, kMaxSets) || nearly_full(ref_count_, kMaxRefs) ||
              nearly_full(word_count_, kMaxWords + program_.bits());
  for (uint32_t channel = 0; channel < cell_counts_.size(); ++channel) {
    full = full || nearly_full(cell_counts_[channel] - program_.channels()[channel].bits(), kMaxSharedCells);
  }
  return full;
}

bool MatchSets::forget(uint32_t* work) {
  constexpr uint64_t kStepBytes = 4096;
  // The areas to clear, one after another: the cache, the index of sets, the indexes of cells.
  const auto clear_area = [&](void* area, uint64_t bytes, uint64_t* before) {
    while (*work > 0 && forgotten_bytes_ < *before + bytes) {
      const uint64_t offset = forgotten_bytes_ - *before;
      const uint64_t count = std::min(kStepBytes, bytes - offset);
      std::memset(static_cast<std::byte*>(area) + offset, 0, count);
      forgotten_bytes_ += count;
      --*work;
    }
    *before += bytes;
  };
  uint64_t before = 0;
  clear_area(cache_.data(), cache_bytes_, &before);
  clear_area(set_index_.data(), kIndexSlots * sizeof(uint32_t), &before);
  for (auto& index : cell_index_) clear_area(index.data(), kIndexSlots * sizeof(uint32_t), &before);
  if (forgotten_bytes_ < before) return false;
  forgotten_bytes_ = 0;
  keep_single_cells();
  return true;
}

// Drops all sets, and all cells but the single ones, which come first in all arrays.
void MatchSets::keep_single_cells() {
  set_count_ = ref_count_ = 0;
  word_count_ = single_words_;
  for (uint32_t channel = 0; channel < cell_counts_.size(); ++channel) {
    cell_counts_[channel] = program_.channels()[channel].bits();
  }
}

bool MatchSets::contains(const Cell& cell, uint32_t bit) const {
  for (const Program::Word& word : words_of(cell)) {
    if (word.index == bit / 64) return (word.bits >> bit % 64 & 1) != 0;
  }
  return false;
}

uint16_t MatchSets::find_uncached(const ClassKey& key, uint64_t hash) {
  ++cache_misses_;
  const uint16_t set = set_of_scratch(program_.match(key, scratch_.data()));
  if (set != kNoSet) {
    line_of(hash)->ways[next_way_++ % 4] = {key.low, key.high | uint64_t{set} << 48};
  }
  return set;
}

std::span<const CellRef> MatchSets::count_singly(const ClassKey& key) {
  ++counted_singly_;
  const size_t count = program_.match(key, scratch_.data());
  scratch_cells_.clear();
  list_single_cells({scratch_.data(), count}, &scratch_cells_);
  return scratch_cells_;
}

// Returns the number of the match set in the first `words` words of scratch_. Adds the set if it is new; returns kNoSet
// if there is no room for it.
uint16_t MatchSets::set_of_scratch(size_t words) {
  scratch_cells_.clear();
  const auto& channels = program_.channels();
  size_t index = 0;
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    const size_t first = index;
    while (index < words && scratch_[index].index < channels[channel].first_word + channels[channel].words) ++index;
    const std::span<const Program::Word> part = {scratch_.data() + first, index - first};
    uint32_t cell = 0;
    if (part.empty()) continue;
    if (channels[channel].singly) {
      list_single_cells(part, &scratch_cells_);
    } else if (find_cell(channel, part, &cell)) {
      scratch_cells_.push_back({channel, cell});
    } else {
      return kNoSet;
    }
  }
  uint32_t& slot = slot_of(&set_index_, hash_of(scratch_cells_, hash_key_[0]),
                           [&](uint32_t set) { return same(cells_of(static_cast<uint16_t>(set)), scratch_cells_); });
  if (slot != 0) return static_cast<uint16_t>(slot - 1);
  if (set_count_ == kMaxSets || scratch_cells_.size() > kMaxRefs - ref_count_) return kNoSet;
  sets_[++set_count_] = {ref_count_, static_cast<uint32_t>(scratch_cells_.size())};
  std::copy(scratch_cells_.begin(), scratch_cells_.end(), refs() + ref_count_);
  ref_count_ += static_cast<uint32_t>(scratch_cells_.size());
  slot = set_count_ + 1;
  return static_cast<uint16_t>(set_count_);
}

void MatchSets::list_single_cells(std::span<const Program::Word> words, std::vector<CellRef>* cells) const {
  uint32_t channel = 0;
  for (const Program::Word& word : words) {
    const auto& channels = program_.channels();
    while (word.index >= channels[channel].first_word + channels[channel].words) ++channel;
    for (const uint32_t bit : SetBits(word.bits)) {
      cells->push_back({channel, (word.index - channels[channel].first_word) * 64 + bit});
    }
  }
}

bool MatchSets::find_cell(uint32_t channel, std::span<const Program::Word> words, uint32_t* number) {
  if (words.size() == 1 && std::has_single_bit(words[0].bits)) {
    *number = (words[0].index - program_.channels()[channel].first_word) * 64 +
              static_cast<uint32_t>(std::countr_zero(words[0].bits));
    return true;
  }
  uint32_t& slot = slot_of(&cell_index_[channel], hash_of(words, hash_key_[1]),
                           [&](uint32_t cell_number) { return same(words_of(cell(channel, cell_number)), words); });
  if (slot == 0) {
    const bool full = cell_counts_[channel] == max_cells(channel);
    if (full || words.size() > kMaxWords + program_.bits() - word_count_) return false;
    slot = make_cell(channel, words) + 1;
  }
  *number = slot - 1;
  return true;
}

uint32_t MatchSets::make_cell(uint32_t channel, std::span<const Program::Word> row_words) {
  const uint32_t number = cell_counts_[channel]++;
  Cell& made_cell = cells(channel)[number];
  made_cell = Cell{};
  made_cell.first_word = word_count_;
  made_cell.word_count = static_cast<uint32_t>(row_words.size());
  std::copy(row_words.begin(), row_words.end(), words() + word_count_);
  word_count_ += made_cell.word_count;
  for (const Program::Word& word : row_words) {
    for (const uint32_t bit : SetBits(word.bits)) limit_by(&made_cell, word.index * 64 + bit);
  }
  return number;
}

void MatchSets::limit_by(Cell* cell, uint32_t bit) const {
  ++cell->trigger_count;
  cell->sketches |= program_.compiled(bit).sketches();
  const auto& threshold = program_.compiled(bit).threshold;
  if (!threshold) {
    cell->always_tested = true;
    return;
  }
  const int word = threshold->measure == Measure::kBurst ? kBurstHigh : word_of(threshold->measure);
  const auto min = static_cast<uint64_t>(threshold->min);
  uint64_t& lowest = cell->min[word];
  lowest = (cell->thresholds >> word & 1) != 0 ? std::min(lowest, min) : min;
  cell->thresholds |= 1u << word;
}

}  // namespace tapline::trigger
