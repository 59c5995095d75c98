#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "parsers/trigger/interval.h"
#include "parsers/trigger/value_sketch.h"

namespace tapline::trigger {

// Finds a quantile over the values of several sketches without merging them. Their cells can be scanned in pieces of
// any size.
//
// All cells are scanned in passes. The first one counts the values and finds their range. Each later pass divides the
// range into bins and narrows it to the bin that contains the rank, until that bin is a single cell. Two passes are
// enough for most values. Few cells get few bins, so a few values with exponentially growing distances take more
// passes, up to kMaxPasses.
//
// The cells of all sketches are widened to the width of the widest ones.
class QuantileSearch {
 public:
  static constexpr uint32_t kBins = 256;
  // After the first pass, the range has at most 64 bits. Each later pass has at least as many bins as cells (up to
  // kBins), so a bin's range is that many times smaller, and no bin contains all cells. Therefore at most 18 passes
  // follow.
  static constexpr int kMaxPasses = 19;

  // Begins a search. REQUIRES: `share` is above 0 and at most 1.
  void begin(double share);
  // Scans some cells of a sketch. REQUIRES: each pass scans all cells of all sketches once.
  void scan(std::span<const ValueSketch::Cell> cells, uint8_t shift);
  // Records that a sketch had no memory for this many values. REQUIRES: it is the first pass.
  void miss(uint64_t values) { missed_ += values; }
  // Ends the pass, after all cells were scanned. Returns the number of bins that were read and cleared.
  uint32_t end_pass();
  bool is_complete() const { return is_complete_; }

  // Returns the smallest value such that at least `share` of all values are less than or equal to it, or bounds for it
  // if values were missed or a cell has several values. Absent if there are no values. REQUIRES: is_complete().
  Interval result() const;

 private:
  struct Bin {
    uint64_t values = 0;
    uint32_t cells = 0;
    int64_t min = INT64_MAX, max = INT64_MIN;
  };
  // The search for the value of one rank (from 1) among the cells from `min` to `max`.
  struct Rank {
    uint64_t rank = 0;  // 0: not searched
    int64_t min = 0, max = 0;
    uint8_t bin_shift = 0;
    uint32_t bin_count = 0;
    std::array<Bin, kBins + 1> bins;

    bool is_searched() const { return rank != 0 && min != max; }
    uint32_t divide(uint32_t cells);
    void add(std::span<const ValueSketch::Cell> cells, int shift);
    uint32_t choose();
  };

  void scan_first(std::span<const ValueSketch::Cell> cells, uint8_t shift);
  void begin_ranks();

  double share_ = 0;
  bool is_first_pass_ = true;
  bool is_complete_ = false;
  uint8_t shift_ = 0;  // shift of the widest cells
  uint64_t values_ = 0, missed_ = 0;
  uint32_t cells_ = 0;
  int64_t min_ = INT64_MAX, max_ = INT64_MIN;  // cell numbers as with shift 0
  // The quantile's least possible value, if all missed values are below it, and its greatest one, if all are above it.
  Rank least_, greatest_;
};

}  // namespace tapline::trigger
