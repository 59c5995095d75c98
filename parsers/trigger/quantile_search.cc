#include "parsers/trigger/quantile_search.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tapline::trigger {

void QuantileSearch::begin(double share) {
  share_ = share;
  is_first_pass_ = true;
  is_complete_ = false;
  shift_ = 0;
  values_ = missed_ = 0;
  cells_ = 0;
  min_ = INT64_MAX;
  max_ = INT64_MIN;
  least_.rank = greatest_.rank = 0;
}

void QuantileSearch::scan(std::span<const ValueSketch::Cell> cells, uint8_t shift) {
  if (is_first_pass_) return scan_first(cells, shift);
  if (least_.is_searched()) least_.add(cells, shift_ - shift);
  if (greatest_.is_searched()) greatest_.add(cells, shift_ - shift);
}

// Scans cells in the first pass. About half of the slots are empty, in no predictable pattern, so this loop and the one
// in Rank::add() have no branch.
void QuantileSearch::scan_first(std::span<const ValueSketch::Cell> cells, uint8_t shift) {
  shift_ = std::max(shift_, shift);
  for (const ValueSketch::Cell& cell : cells) {
    const bool is_used = cell.count != 0;
    const auto number = static_cast<int64_t>(static_cast<uint64_t>(cell.number) << shift);
    min_ = std::min(min_, is_used ? number : INT64_MAX);
    max_ = std::max(max_, is_used ? number : INT64_MIN);
    values_ += cell.count;
    cells_ += is_used;
  }
}

uint32_t QuantileSearch::end_pass() {
  uint32_t bins = 0;
  if (is_first_pass_) {
    is_first_pass_ = false;
    begin_ranks();
    bins = least_.divide(cells_) + greatest_.divide(cells_);
  } else {
    bins = least_.choose() + greatest_.choose();
  }
  is_complete_ = !least_.is_searched() && !greatest_.is_searched();
  return bins;
}

// Begins the search for both ranks. If no values were missed, they are the same, and only `least_` is searched.
void QuantileSearch::begin_ranks() {
  if (values_ == 0) return;
  const auto rank = static_cast<uint64_t>(std::ceil(share_ * static_cast<double>(values_ + missed_)));
  if (rank > missed_) least_.rank = rank - missed_;
  if (rank <= values_ && missed_ > 0) greatest_.rank = rank;
  least_.min = greatest_.min = min_ >> shift_;
  least_.max = greatest_.max = max_ >> shift_;
}

Interval QuantileSearch::result() const {
  if (values_ + missed_ == 0) return Interval::absent();
  const Rank& greatest = missed_ > 0 ? greatest_ : least_;
  return {least_.rank > 0 ? ValueSketch::low(least_.min, shift_) : -INFINITY,
          greatest.rank > 0 ? ValueSketch::high(greatest.min, shift_) : INFINITY};
}

// Divides the range into bins, and returns their number. Few cells need few bins. The first and the last cell are in
// different bins.
uint32_t QuantileSearch::Rank::divide(uint32_t cells) {
  if (!is_searched()) return 0;
  bin_count = std::bit_ceil(std::clamp(cells, 2u, kBins));
  const int width = std::bit_width(static_cast<uint64_t>(max) - static_cast<uint64_t>(min));
  bin_shift = static_cast<uint8_t>(std::max(0, width - std::countr_zero(bin_count)));
  for (Bin& bin : std::span(bins).first(bin_count)) bin = {};
  return bin_count;
}

// Adds cells to the bins. All cells outside the range are added to the bin after the last one, which is not used.
void QuantileSearch::Rank::add(std::span<const ValueSketch::Cell> cells, int shift) {
  for (const ValueSketch::Cell& cell : cells) {
    const int64_t number = cell.number >> shift;
    const bool is_in = (cell.count != 0) & (number >= min) & (number <= max);
    const uint64_t place = (static_cast<uint64_t>(number) - static_cast<uint64_t>(min)) >> bin_shift;
    Bin& bin = bins[is_in ? place : kBins];
    bin.min = std::min(bin.min, number);
    bin.max = std::max(bin.max, number);
    bin.values += cell.count;
    ++bin.cells;
  }
}

uint32_t QuantileSearch::Rank::choose() {
  if (!is_searched()) return 0;
  const Bin* bin = bins.data();
  for (; rank > bin->values; ++bin) rank -= bin->values;
  min = bin->min;
  max = bin->max;
  return bin_count + divide(bin->cells);
}

}  // namespace tapline::trigger
