#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parsers/trigger/condition.h"
#include "parsers/trigger/interval.h"
#include "parsers/trigger/quantile_search.h"
#include "parsers/trigger/window_sketches.h"

namespace tapline::trigger {

// Computes the numbers of distinct values and the quantiles that one trigger compares, over the sketches of several
// counters: those of packets that certainly belong to a group, and those of packets that may. Not thread-safe.
//
// It works in steps of bounded size. In each pass, all counters are added; quantiles take several passes:
//
//   begin ──▶ add each counter ──▶ end_pass ──▶ is_complete: of()
//                     ▲               │
//                     └───────────────┘
class SketchSums {
 public:
  // A step visits this many cells of quantiles, or inserts this many hashes of distinct values.
  static constexpr uint32_t kCellsPerStep = 16;
  static constexpr uint32_t kHashesPerStep = 8;

  // `all` is the set of kinds that the channel uses, `max_terms` is the maximum number of terms that one of its
  // triggers compares.
  SketchSums(SketchKinds all, size_t max_terms);

  void begin(std::span<const SketchTerm> terms);
  bool is_complete() const { return is_complete_; }
  // Adds a counter. If `is_certain` is false, its packets may belong to the group or to others, so they widen the
  // bounds. Returns false if the work was used up: call it again with the same counter. REQUIRES: the counter does not
  // change until is_complete().
  bool add(const Sketch* counter, bool is_certain, uint32_t* work);
  // Ends the pass, after all counters were added. Returns false if the work was used up: call it again.
  bool end_pass(uint32_t* work);

  // Returns the value of a term. Without packets, kFlows is 0 and all others are absent. REQUIRES: is_complete();
  // begin() was given the term.
  Interval of(Measure measure, double share) const;

  // Returns the number of cells, hashes, registers and bins that were visited so far.
  uint64_t visited() const { return visited_; }

 private:
  enum Part : uint8_t { kCertain, kPossible };
  // `single` points to the only sketch that was added, which is not copied, or to `merged`.
  struct DistinctSum {
    const DistinctSketch* single = nullptr;
    DistinctSketch merged = {};
    DistinctSketch::RankCounts ranks = {};

    bool empty() const { return single == nullptr || single->empty(); }
    Interval count() const { return empty() ? Interval{} : single->count(ranks); }
  };
  struct Sum {
    SketchTerm term;
    size_t place = 0;         // index of its sketch among a counter's
    DistinctSum distinct[2];  // by Part
    // For quantiles: the search among the certain values, and the bounds of all possible ones.
    QuantileSearch search;
    Interval extremes;
  };

  bool add(const Sketch& added, Part part, Sum* sum, uint32_t* work);
  bool add_distinct(const DistinctSketch& added, DistinctSum* sum, uint32_t* work);
  bool merge(const DistinctSketch& added, DistinctSketch* merged, uint32_t* work);
  bool add_values(const ValueSketch& added, Part part, Sum* sum, uint32_t* work);
  bool count_ranks(DistinctSum* sum, uint32_t* work);
  void charge(uint32_t visited, uint32_t per_step, uint32_t* work);
  static Interval distinct_of(const Sum& sum);
  static Interval quantile_of(const Sum& sum);

  SketchKinds all_;
  SketchMemory memory_;
  std::vector<Sum> sums_;
  size_t sum_count_ = 0;
  bool is_first_pass_ = true;
  bool is_complete_ = false;
  // The place where the next call continues: among the sums (in end_pass(), among their parts), and in a sketch.
  size_t next_ = 0;
  uint32_t next_slot_ = 0;
  uint64_t visited_ = 0;
};

}  // namespace tapline::trigger
