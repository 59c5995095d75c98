#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "parsers/api/flow_hash.h"

namespace tapline::queues {

struct SnapshotOptions {
  uint32_t snapshots = 4;      // h: a power of two, at least 4
  uint32_t rows = 2;           // R, at most 8
  uint32_t columns = 64;       // C: a power of two
  uint32_t window_shift = 20;  // T = 2^window_shift ns
};

// The windows that an estimate for [arrival, departure) reads.
enum class Reading : uint8_t {
  kComplete,     // the windows that lie entirely within it (ConQuest section 3.3)
  kWithCurrent,  // floor((d - a) / T) earlier windows, and the current one as written so far: as the authors' program
                 // reads it
  kWeighted,     // all windows that it touches, the oldest weighted by its covered share
  kGrowth,       // the latest complete window minus the previous one, if positive: flows that grow
};

// ConQuest's structure (section 3.4): h Count-Min sketches of R rows and C columns take turns: each holds the
// departures of one window of length T. In each window, one is written, up to h - 2 are read, and one is cleaned for
// the next window, one column per packet. A switch keeps them in registers; this class computes the values that a
// switch would read. Not thread-safe.
//
//   window number mod h     … n-2    n-1    n         n+1
//                           read   read   written   cleaned
//
// A window with fewer than C packets leaves some columns dirty. They are cleaned when the sketch is next due for
// writing, as the switch's control software does for idle links, and counted.
class Snapshots {
 public:
  Snapshots(const SnapshotOptions& options, HashKey key)
      : options_(options), key_(key), counters_(uint64_t{options.snapshots} * options.rows * options.columns) {}

  // Records the departure of one of the flow's packets. `weight` is its bytes, or 1 to count packets. REQUIRES:
  // departure_ns does not decrease.
  void add(uint64_t flow_key, int64_t departure_ns, uint32_t weight) {
    advance(departure_ns);
    for (uint32_t row = 0; row < options_.rows; ++row) counter(window_, row, column(flow_key, row)) += weight;
    if (cleaned_ >= options_.columns) return;
    for (uint32_t row = 0; row < options_.rows; ++row) counter(window_ + 1, row, cleaned_) = 0;
    ++cleaned_;
  }

  // Estimates the flow's weight in the traffic that left in [arrival_ns, departure_ns). REQUIRES: departure_ns does not
  // decrease. For kWithCurrent, which counts the packet itself, add the packet first; for the other readings, add it
  // afterwards.
  double estimate(uint64_t flow_key, int64_t arrival_ns, int64_t departure_ns, Reading reading) {
    advance(departure_ns);
    const int64_t covered_ns = departure_ns - arrival_ns;
    switch (reading) {
      case Reading::kComplete:
        return static_cast<double>(sum(flow_key, window_of(arrival_ns + window_ns() - 1)));
      case Reading::kWithCurrent:
        return static_cast<double>(sum(flow_key, window_ - (covered_ns >> options_.window_shift)) +
                                   read(flow_key, window_));
      case Reading::kWeighted:
        return weighted(flow_key, arrival_ns, departure_ns);
      case Reading::kGrowth: {
        const uint64_t latest = read(flow_key, window_ - 1), before = read(flow_key, window_ - 2);
        return latest > before ? static_cast<double>(latest - before) : 0;
      }
    }
    return 0;
  }

  // Returns the bound on the error of a flow's sum over complete windows, as a share of all weight in these (section
  // 3.5). The sum is never too low, and its error exceeds the bound with a probability of at most
  // failure_probability().
  double error_share() const { return std::exp(1.0) / options_.columns; }
  double failure_probability() const { return (options_.snapshots - 2) * std::exp(-1.0 * options_.rows); }

  int64_t window_ns() const { return int64_t{1} << options_.window_shift; }
  uint64_t memory_bytes() const { return counters_.size() * sizeof(uint32_t); }
  // Returns the number of columns that were cleaned late, after the window in which they should have been.
  uint64_t cleaned_late() const { return cleaned_late_; }

 private:
  int64_t window_of(int64_t time_ns) const { return time_ns >> options_.window_shift; }

  uint32_t column(uint64_t flow_key, uint32_t row) const {
    uint64_t x = flow_key ^ (row % 2 == 0 ? key_.low : key_.high) ^ (uint64_t{row} * 0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<uint32_t>(x >> 32) & (options_.columns - 1);
  }
  uint64_t place(int64_t window, uint32_t row, uint32_t column) const {
    const uint64_t snapshot = static_cast<uint64_t>(window) & (options_.snapshots - 1);
    return (snapshot * options_.rows + row) * options_.columns + column;
  }
  uint32_t& counter(int64_t window, uint32_t row, uint32_t column) { return counters_[place(window, row, column)]; }

  // Returns the flow's count in one window, or 0 if the window is not stored yet or no longer stored.
  uint64_t read(uint64_t flow_key, int64_t window) const {
    if (window > window_ || window_ - window > options_.snapshots - 2) return 0;
    uint32_t min = UINT32_MAX;
    for (uint32_t row = 0; row < options_.rows; ++row)
      min = std::min(min, counters_[place(window, row, column(flow_key, row))]);
    return min;
  }
  // Returns the flow's sum from window `first` to the last complete one.
  uint64_t sum(uint64_t flow_key, int64_t first) const {
    uint64_t total = 0;
    for (int64_t window = std::max(first, window_ - (options_.snapshots - 2)); window < window_; ++window)
      total += read(flow_key, window);
    return total;
  }

  double weighted(uint64_t flow_key, int64_t arrival_ns, int64_t departure_ns) const {
    const int64_t oldest = window_of(arrival_ns);
    const int64_t oldest_end_ns = std::min((oldest + 1) << options_.window_shift, departure_ns);
    const int64_t oldest_ns = oldest_end_ns - (oldest << options_.window_shift);
    const double share =
        oldest_ns == 0 ? 0 : static_cast<double>(oldest_end_ns - arrival_ns) / static_cast<double>(oldest_ns);
    const auto whole = oldest == window_ ? 0 : sum(flow_key, oldest + 1) + read(flow_key, window_);
    return static_cast<double>(whole) + share * static_cast<double>(read(flow_key, oldest));
  }

  void advance(int64_t departure_ns) {
    const int64_t now = window_of(departure_ns);
    if (now == window_) return;
    if (!started_) window_ = now - 1;
    started_ = true;
    const int64_t passed = std::min<int64_t>(now - window_, options_.snapshots);
    if (passed < now - window_) cleaned_ = 0;  // the next window has another sketch to clean
    for (int64_t window = now - passed + 1; window <= now; ++window) {
      clean_rest(window);
      cleaned_ = 0;
    }
    window_ = now;
  }
  void clean_rest(int64_t window) {
    cleaned_late_ += options_.columns - cleaned_;
    for (uint32_t row = 0; row < options_.rows; ++row) {
      const auto first = counters_.begin() + static_cast<ptrdiff_t>(place(window, row, cleaned_));
      std::fill(first, first + (options_.columns - cleaned_), 0u);
    }
  }

  SnapshotOptions options_;
  HashKey key_;
  std::vector<uint32_t> counters_;
  int64_t window_ = -1;
  bool started_ = false;
  uint32_t cleaned_ = 0;  // cleaned columns of the next window's sketch
  uint64_t cleaned_late_ = 0;
};

}  // namespace tapline::queues
