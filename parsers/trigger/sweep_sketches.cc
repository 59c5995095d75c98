// Tests triggers that use sketches. A test may take several calls, since sketches can be large.
#include <algorithm>

#include "parsers/trigger/sweep.h"

namespace tapline::trigger {
namespace {

// Maximum number of cells of two triggers that are compared at once. If there are more, their sketches are added up
// again, which can be interrupted.
constexpr uint32_t kMaxComparedCells = 1024;

}  // namespace

void Sweep::make_sketch_sums() {
  size_t max_terms = 0;
  for (uint32_t bit = channel_.first_bit(); bit < channel_.first_bit() + channel_.bits(); ++bit) {
    if (program_.has_trigger(bit)) max_terms = std::max(max_terms, program_.compiled(bit).sketch_terms.size());
  }
  sketches_ = std::make_unique<SketchSums>(channel_.sketches, max_terms);
  waiting_.reserve(channel_.bits());
  sketched_cells_ = CellLists(channel_.bits(), options_.max_sketched_cells);
}

bool Sweep::test_waiting(const GroupKey& key, uint32_t* work) {
  for (; !waiting_.empty(); waiting_.pop_back()) {
    if (!test_group_trigger(waiting_.back(), key, work)) return false;
  }
  return true;
}

// Adds the sketches of all counters that have packets of the trigger. Without groups, these are the cells' counters.
// With groups, they are the counters in counted_ and, if `has_rest`, the cells', whose packets may belong to any group.
// Returns false if the work was used up: call it again.
bool Sweep::sum_sketches(uint32_t bit, bool has_rest, uint32_t* work) {
  if (!is_summing_ && has_same_sums(bit, has_rest, work)) return true;
  if (!is_summing_) {
    summed_ = {};
    sketches_->begin(program_.compiled(bit).sketch_terms);
    begin_pass(bit);
    is_summing_ = true;
  }
  while (!sketches_->is_complete()) {
    if (!add_group_sketches(bit, work)) return false;
    if ((!channel_.grouped || has_rest) && !add_cell_sketches(bit, work)) return false;
    if (!sketches_->end_pass(work)) return false;
    begin_pass(bit);
  }
  is_summing_ = false;
  if (!has_rest || !channel_.grouped) summed_ = {true, bit, sketched_cells_.first(bit - channel_.first_bit())};
  return true;
}

// Returns true if the last sums apply to this trigger, because it compares the same values of the same counters.
// Triggers of one cell usually do, and are tested one after the other.
bool Sweep::has_same_sums(uint32_t bit, bool has_rest, uint32_t* work) const {
  if (!summed_.is_valid || program_.compiled(bit).sketch_terms != program_.compiled(summed_.bit).sketch_terms) {
    return false;
  }
  if (channel_.grouped) {
    return !has_rest && std::all_of(counted_.begin(), counted_.end(), [&](const Counted& counted) {
      return counted.sets->contains(*counted.cell, bit) == counted.sets->contains(*counted.cell, summed_.bit);
    });
  }
  if (sketched_cells_.is_full()) return false;
  uint32_t compared = 0;
  const bool are_equal = sketched_cells_.are_equal(
      summed_.first_cell, sketched_cells_.first(bit - channel_.first_bit()), kMaxComparedCells, &compared);
  *work = less(*work, compared / SketchSums::kCellsPerStep);
  return are_equal;
}

void Sweep::begin_pass(uint32_t bit) {
  sketch_place_ = {};
  sketch_place_.link = sketched_cells_.first(bit - channel_.first_bit());
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
  if (!sketched_cells_.is_full()) {
    for (uint32_t& link = sketch_place_.link; link != CellLists::kEnd; link = sketched_cells_.next(link)) {
      if (!add_cell_sketch(sketched_cells_.place(link), bit, work)) return false;
    }
    return true;
  }
  for (; sketch_place_.cell.part < parts_.size(); ++sketch_place_.cell.part, sketch_place_.cell.touched = 0) {
    const auto touched = parts_[sketch_place_.cell.part].window->touched_cells().size();
    for (; sketch_place_.cell.touched < touched; ++sketch_place_.cell.touched) {
      if (!add_cell_sketch(sketch_place_.cell, bit, work)) return false;
    }
  }
  return true;
}

bool Sweep::add_cell_sketch(const Place& place, uint32_t bit, uint32_t* work) {
  if (*work == 0) return false;
  const Part& part = parts_[place.part];
  const uint32_t cell = part.window->touched_cells()[place.touched];
  const bool counts_it = part.sets->contains(part.sets->cell(channel_number_, cell), bit);
  if (counts_it && !has_group_in(part, cell) &&
      !sketches_->add(part.window->sketches()->of_cell(cell), !channel_.grouped, work)) {
    return false;
  }
  *work = less(*work, 1);
  return true;
}

// Returns true if the group has a counter in this cell of the part, so that packets which the cell counted without a
// group belong to other groups.
bool Sweep::has_group_in(const Part& part, uint32_t cell) const {
  return std::any_of(counted_.begin(), counted_.end(), [&](const Counted& counted) {
    return counted.window == part.window && counted.entry->cell == cell;
  });
}

}  // namespace tapline::trigger
