#include "parsers/trigger/sketch_sums.h"

#include <algorithm>
#include <cmath>

namespace tapline::trigger {
namespace {

// Enough for the merged sketches of all kinds, certain and possible, at their largest, and for the smaller blocks that
// they have outgrown.
constexpr size_t kBytes = 2 * 5 * 2 * (8 << 10);

}  // namespace

SketchSums::SketchSums(SketchKinds all, size_t max_terms) : all_(all), memory_(kBytes), sums_(max_terms) {}

void SketchSums::begin(std::span<const SketchTerm> terms) {
  memory_.clear();
  sum_count_ = terms.size();
  for (size_t i = 0; i < terms.size(); ++i) {
    Sum& sum = sums_[i];
    sum.term = terms[i];
    sum.place = WindowSketches::place(all_, kind_of(terms[i].measure));
    if (is_quantile(sum.term.measure)) {
      sum.search.begin(sum.term.share);
      sum.extremes = {INFINITY, -INFINITY};
    } else {
      for (DistinctSum& distinct : sum.distinct) distinct.single = nullptr, distinct.merged = {};
    }
  }
  is_first_pass_ = true;
  is_complete_ = false;
  next_ = next_slot_ = 0;
}

void SketchSums::charge(uint32_t visited, uint32_t per_step, uint32_t* work) {
  visited_ += visited;
  *work -= std::min(*work, (visited + per_step - 1) / per_step);
}

bool SketchSums::add(const Sketch* counter, bool is_certain, uint32_t* work) {
  for (; next_ < sum_count_; ++next_) {
    Sum& sum = sums_[next_];
    if (!add(counter[sum.place], is_certain ? kCertain : kPossible, &sum, work)) return false;
    next_slot_ = 0;
  }
  next_ = 0;
  return true;
}

bool SketchSums::add(const Sketch& added, Part part, Sum* sum, uint32_t* work) {
  if (is_quantile(sum->term.measure)) return add_values(added.values, part, sum, work);
  return !is_first_pass_ || add_distinct(added.distinct, &sum->distinct[part], work);
}

bool SketchSums::add_distinct(const DistinctSketch& added, DistinctSum* sum, uint32_t* work) {
  if (sum->single == nullptr) {
    if (*work == 0) return false;
    charge(1, 1, work);
    sum->single = &added;
    return true;
  }
  if (sum->single != &sum->merged) {
    if (!merge(*sum->single, &sum->merged, work)) return false;
    sum->single = &sum->merged;
    next_slot_ = 0;
  }
  return merge(added, &sum->merged, work);
}

// Merges a sketch in steps. Also charges for the hashes that a sketch moves when it grows or becomes an estimate.
bool SketchSums::merge(const DistinctSketch& added, DistinctSketch* merged, uint32_t* work) {
  while (next_slot_ < added.slot_count()) {
    if (*work == 0) return false;
    const uint32_t slots_before = merged->slot_count();
    const uint32_t end = std::min(added.slot_count(), next_slot_ + kHashesPerStep);
    merged->merge(added, next_slot_, end, &memory_);
    charge(end - next_slot_, kHashesPerStep, work);
    if (merged->slot_count() != slots_before) charge(slots_before, kHashesPerStep, work);
    next_slot_ = end;
  }
  // All registers count as one slot, but merging 64 of them takes as long as merging one hash.
  charge(added.register_count() / 64, kHashesPerStep, work);
  return true;
}

bool SketchSums::add_values(const ValueSketch& added, Part part, Sum* sum, uint32_t* work) {
  if (part == kPossible && !is_first_pass_) return true;
  const auto cells = added.cells();
  while (next_slot_ < cells.size()) {
    if (*work == 0) return false;
    const auto count = std::min<uint32_t>(static_cast<uint32_t>(cells.size()) - next_slot_, kCellsPerStep);
    const auto some_cells = cells.subspan(next_slot_, count);
    if (part == kCertain) {
      sum->search.scan(some_cells, added.shift());
    } else {
      added.widen(some_cells, &sum->extremes);
    }
    charge(count, kCellsPerStep, work);
    next_slot_ += count;
  }
  if (!is_first_pass_ || added.missed() == 0) return true;
  if (part == kCertain) {
    sum->search.miss(added.missed());
  } else {
    sum->extremes = {-INFINITY, INFINITY};
  }
  return true;
}

bool SketchSums::end_pass(uint32_t* work) {
  // The end of a quantile's pass reads its bins, and clears those of the next pass.
  for (; next_ < 2 * sum_count_; ++next_) {
    Sum& sum = sums_[next_ / 2];
    if (is_quantile(sum.term.measure)) {
      if (*work == 0) return false;
      if (next_ % 2 == 0 && !sum.search.is_complete()) charge(sum.search.end_pass(), kCellsPerStep, work);
    } else if (is_first_pass_ && !count_ranks(&sum.distinct[next_ % 2], work)) {
      return false;
    }
    next_slot_ = 0;
  }
  next_ = 0;
  is_first_pass_ = false;
  is_complete_ = std::all_of(sums_.begin(), sums_.begin() + static_cast<ptrdiff_t>(sum_count_),
                             [](const Sum& sum) { return !is_quantile(sum.term.measure) || sum.search.is_complete(); });
  return true;
}

bool SketchSums::count_ranks(DistinctSum* sum, uint32_t* work) {
  if (sum->empty() || sum->single->register_count() == 0) return true;
  if (next_slot_ == 0) sum->ranks = {};
  while (next_slot_ < sum->single->register_count()) {
    if (*work == 0) return false;
    sum->single->count_ranks(next_slot_, next_slot_ + kCellsPerStep, &sum->ranks);
    charge(kCellsPerStep, kCellsPerStep, work);
    next_slot_ += kCellsPerStep;
  }
  return true;
}

Interval SketchSums::of(Measure measure, double share) const {
  const SketchTerm term = {measure, share};
  for (const Sum& sum : std::span(sums_).first(sum_count_)) {
    if (sum.term == term) return is_quantile(measure) ? quantile_of(sum) : distinct_of(sum);
  }
  return Interval::absent();
}

Interval SketchSums::distinct_of(const Sum& sum) {
  const DistinctSum& certain = sum.distinct[kCertain];
  const DistinctSum& possible = sum.distinct[kPossible];
  const bool is_flows = sum.term.measure == Measure::kFlows;
  if (certain.empty() && possible.empty()) return is_flows ? Interval{} : Interval::absent();
  Interval count = certain.count();
  count.high += possible.count().high;
  count.presence = is_flows || !certain.empty() ? Presence::kPresent : Presence::kUnknown;
  return count;
}

// Returns bounds of the quantile. Adding the possible values moves it at most to the least or greatest of them, unless
// it already lies beyond.
Interval SketchSums::quantile_of(const Sum& sum) {
  Interval quantile = sum.search.result();
  const bool has_possible = sum.extremes.low <= sum.extremes.high;
  if (has_possible && quantile.presence == Presence::kAbsent) {
    quantile = sum.extremes;
    quantile.presence = Presence::kUnknown;
  } else if (has_possible) {
    quantile.low = std::min(quantile.low, sum.extremes.low);
    quantile.high = std::max(quantile.high, sum.extremes.high);
  }
  quantile.low = std::max(quantile.low, 0.0);
  return quantile;
}

}  // namespace tapline::trigger
