#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "parsers/trigger/interval.h"
#include "parsers/trigger/window_sketches.h"

namespace tapline::trigger {

// The sketches of several counters, merged: those of the packets that certainly belong to a group, and of those that
// may. A single counter's sketches are not copied. Not thread-safe.
class SketchSums {
 public:
  SketchSums();

  void clear();
  // Merges the sketches of these kinds of one more counter. `all` are the kinds that its channel uses. Returns the
  // steps of a sweep that this takes. REQUIRES: the counter is not changed before clear().
  uint32_t add(SketchKinds kinds, SketchKinds all, const Sketch* counter);
  // Merges a counter of packets that may belong to the group or to others: they widen the bounds.
  uint32_t add_possible(SketchKinds kinds, SketchKinds all, const Sketch* counter);

  // Without packets, kFlows is 0 and all others are absent. `share`: of a quantile.
  Interval of(Measure measure, double share) const;

 private:
  static constexpr size_t kDistinct = 5, kValues = 3;

  template <typename S>
  struct Sum {
    const S* single = nullptr;  // the only one that was added, or `merged`
    S merged = {};
  };
  struct Part {
    std::array<Sum<DistinctSketch>, kDistinct> distinct;
    std::array<Sum<ValueSketch>, kValues> values;
  };

  uint32_t add(SketchKinds kinds, SketchKinds all, const Sketch* counter, Part* part);
  template <typename S>
  uint32_t merge(const S& added, Sum<S>* sum);
  Interval distinct_of(size_t kind) const;
  Interval quantile_of(size_t kind, double share) const;

  SketchMemory memory_;
  Part certain_, possible_;
};

}  // namespace tapline::trigger
