// Tests of triggers that use sketches, which may take several calls: sketches can be large.
#include <algorithm>

#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

void Sweep::make_sketch_sums() {
  size_t max_terms = 0;
  for (uint32_t bit = channel_.first_bit(); bit < channel_.first_bit() + channel_.bits(); ++bit) {
    if (program_.has_trigger(bit)) max_terms = std::max(max_terms, program_.compiled(bit).sketch_terms.size());
  }
  sketches_ = std::make_unique<SketchSums>(channel_.sketches, max_terms);
  waiting_.reserve(channel_.bits());
}

bool Sweep::test_waiting(const GroupKey& key, uint32_t* work) {
  for (; !waiting_.empty(); waiting_.pop_back()) {
    if (!test_group_trigger(waiting_.back(), key, work)) return false;
  }
  return true;
}

// Adds the sketches of all counters that have packets of the trigger: without groups, those of cells. With groups,
// those in counted_, and if `has_rest`, those of cells, whose packets may belong to any group. Returns false if the
// work was used up: call it again.
bool Sweep::sum_sketches(uint32_t bit, bool has_rest, uint32_t* work) {
  if (!is_summing_) {
    sketches_->begin(program_.compiled(bit).sketch_terms);
    sketch_place_ = {};
    is_summing_ = true;
  }
  while (!sketches_->is_complete()) {
    if (!add_group_sketches(bit, work)) return false;
    if ((!channel_.grouped || has_rest) && !add_cell_sketches(bit, work)) return false;
    if (!sketches_->end_pass(work)) return false;
    sketch_place_ = {};
  }
  is_summing_ = false;
  return true;
}

bool Sweep::add_group_sketches(uint32_t bit, uint32_t* work) {
  for (size_t& place = sketch_place_.counted; place < counted_.size(); ++place) {
    const Counted& counted = counted_[place];
    if (!counted.sets->contains(*counted.cell, bit)) continue;
    const Sketch* counter = counted.window->sketches()->of_group(counted.window->groups()->number_of(*counted.entry));
    if (!sketches_->add(counter, true, work)) return false;
  }
  return true;
}

bool Sweep::add_cell_sketches(uint32_t bit, uint32_t* work) {
  constexpr uint32_t kSearchedPerStep = 8;
  for (; sketch_place_.part < parts_.size(); ++sketch_place_.part, sketch_place_.touched = 0) {
    const Part& part = parts_[sketch_place_.part];
    const auto cells = part.window->touched_cells();
    for (uint32_t& place = sketch_place_.touched; place < cells.size(); ++place) {
      if (*work == 0) return false;
      const uint32_t cell = cells[place];
      const bool counts_it = part.sets->contains(part.sets->cell(channel_number_, cell), bit);
      if (counts_it && !has_group_in(part, cell)) {
        if (!sketches_->add(part.window->sketches()->of_cell(cell), !channel_.grouped, work)) return false;
      }
      if (place % kSearchedPerStep == 0) *work = less(*work, 1);
    }
  }
  return true;
}

// The group has a counter in this cell of the part, so the packets that the cell counted without group are of others.
bool Sweep::has_group_in(const Part& part, uint32_t cell) const {
  return std::any_of(counted_.begin(), counted_.end(), [&](const Counted& counted) {
    return counted.window == part.window && counted.entry->cell == cell;
  });
}

}  // namespace tapline::trigger
