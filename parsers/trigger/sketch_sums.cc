#include "parsers/trigger/sketch_sums.h"

#include <algorithm>

#include "parsers/api/bits.h"

namespace tapline::trigger {
namespace {

constexpr uint32_t kFirstValues = 5;
static_assert(kDistinctKinds == (1u << kFirstValues) - 1);

// Enough for all sketches at their largest, and for the smaller blocks that they have grown out of.
constexpr size_t kBytes = 2 * (5 * 2 * (8 << 10) + 3 * 2 * (64 << 10));

bool is_empty(const auto& sum) { return sum.single == nullptr || sum.single->empty(); }

}  // namespace

SketchSums::SketchSums() : memory_(kBytes) {}

void SketchSums::clear() {
  memory_.clear();
  certain_ = {};
  possible_ = {};
}

uint32_t SketchSums::add(SketchKinds kinds, SketchKinds all, const Sketch* counter) {
  return add(kinds, all, counter, &certain_);
}

uint32_t SketchSums::add_possible(SketchKinds kinds, SketchKinds all, const Sketch* counter) {
  return add(kinds, all, counter, &possible_);
}

uint32_t SketchSums::add(SketchKinds kinds, SketchKinds all, const Sketch* counter, Part* part) {
  uint32_t steps = 0;
  for (const uint32_t kind : SetBits(kinds)) {
    const Sketch& added = counter[WindowSketches::place(all, static_cast<SketchKinds>(1u << kind))];
    steps += kind < kFirstValues ? merge(added.distinct, &part->distinct[kind])
                                 : merge(added.values, &part->values[kind - kFirstValues]);
  }
  return steps;
}

template <typename S>
uint32_t SketchSums::merge(const S& added, Sum<S>* sum) {
  if (sum->single == nullptr) {
    sum->single = &added;
    return 1;
  }
  uint32_t steps = added.steps();
  if (sum->single != &sum->merged) {
    steps += sum->single->steps();
    sum->merged.merge(*sum->single, &memory_);
    sum->single = &sum->merged;
  }
  sum->merged.merge(added, &memory_);
  return steps;
}

Interval SketchSums::of(Measure measure, double share) const {
  const auto kind = static_cast<size_t>(word_of(measure) - kWords);
  return is_quantile(measure) ? quantile_of(kind - kFirstValues, share) : distinct_of(kind);
}

Interval SketchSums::distinct_of(size_t kind) const {
  const auto& certain = certain_.distinct[kind];
  const auto& possible = possible_.distinct[kind];
  const bool is_flows = kind == 0;
  if (is_empty(certain) && is_empty(possible)) return is_flows ? Interval{} : Interval::absent();
  Interval count;
  if (!is_empty(certain)) count = certain.single->count();
  if (!is_empty(possible)) count.high += possible.single->count().high;
  count.presence = is_flows || !is_empty(certain) ? Presence::kPresent : Presence::kUnknown;
  return count;
}

// More values move a quantile at most to the least or greatest of them, unless it lies beyond.
Interval SketchSums::quantile_of(size_t kind, double share) const {
  const auto& certain = certain_.values[kind];
  const auto& possible = possible_.values[kind];
  Interval quantile = is_empty(certain) ? Interval::absent() : certain.single->quantile(share);
  if (!is_empty(possible)) {
    const Interval extremes = possible.single->extremes();
    if (is_empty(certain)) {
      quantile = extremes;
      quantile.presence = Presence::kUnknown;
    } else {
      quantile.low = std::min(quantile.low, extremes.low);
      quantile.high = std::max(quantile.high, extremes.high);
    }
  }
  quantile.low = std::max(quantile.low, 0.0);
  return quantile;
}

}  // namespace tapline::trigger
