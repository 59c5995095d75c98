// Merges sketches for the tests of their triggers.
#include <algorithm>

#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

// Merges the sketches of all cells that count packets of the trigger. Those of cells whose triggers have groups are of
// packets that may belong to any group. Returns true when done.
bool Sweep::sum_cell_sketches(uint32_t bit, uint32_t* work) {
  constexpr uint32_t kSearchedPerStep = 8;
  if (sketch_part_ == 0 && sketch_place_ == 0) sketches_->clear();
  if (!may_meet(bit, total(bit))) return true;
  const SketchKinds kinds = program_.compiled(bit).sketches();
  for (; sketch_part_ < parts_.size(); ++sketch_part_, sketch_place_ = 0) {
    const Part& part = parts_[sketch_part_];
    const auto cells = part.window->touched_cells();
    for (; sketch_place_ < cells.size(); ++sketch_place_) {
      if (*work == 0) return false;
      if (sketch_place_ % kSearchedPerStep == 0) --*work;
      const uint32_t cell = cells[sketch_place_];
      if (!part.sets->contains(part.sets->cell(channel_number_, cell), bit)) continue;
      const Sketch* counter = part.window->sketches()->of_cell(cell);
      *work = less(*work, channel_.grouped ? sketches_->add_possible(kinds, channel_.sketches, counter)
                                           : sketches_->add(kinds, channel_.sketches, counter));
    }
  }
  sketch_part_ = sketch_place_ = 0;
  return true;
}

// Merges the sketches of the group's counters, and those of packets that were counted without their group and may
// belong to it. REQUIRES: the bounds of its counts are set.
void Sweep::sum_group_sketches(uint32_t bit, Counts* counts) {
  if (!may_meet(bit, counts->high.data())) return;
  const SketchKinds kinds = program_.compiled(bit).sketches();
  sketches_->clear();
  counts->sketches = sketches_.get();
  for (const Counted& counted : counted_) {
    if (!counted.sets->contains(*counted.cell, bit)) continue;
    const Sketch* counter = counted.window->sketches()->of_group(counted.window->groups()->number_of(*counted.entry));
    sketch_steps_ += sketches_->add(kinds, channel_.sketches, counter);
  }
  if (counts->high == counts->low) return;
  for (const Part& part : parts_) {
    for (const uint32_t cell : part.window->touched_cells()) {
      ++sketch_steps_;
      if (!part.sets->contains(part.sets->cell(channel_number_, cell), bit) || has_group_in(part, cell)) continue;
      sketch_steps_ += sketches_->add_possible(kinds, channel_.sketches, part.window->sketches()->of_cell(cell));
    }
  }
}

// The group has a counter in this cell of the part, so the packets that the cell counted without group are of others.
bool Sweep::has_group_in(const Part& part, uint32_t cell) const {
  return std::any_of(counted_.begin(), counted_.end(), [&](const Counted& counted) {
    return counted.window == part.window && counted.entry->cell == cell;
  });
}

}  // namespace tapline::trigger
