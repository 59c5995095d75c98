#pragma once

#include <cstdint>

#include "parsers/queues/departure_log.h"

namespace tapline::queues {

// Consecutive departures of a log: at each move(), those with a number below `end` and a time of from_ns or later. In a
// FIFO queue, both ends move only forward, so a packet costs amortised constant time, regardless of its delay. If
// packets overtake each other, the beginning may move back. Not thread-safe.
class DepartureRange {
 public:
  // Moves the range. Calls entered(number) for each departure that it gains, and left(number) for each that it loses.
  // REQUIRES: `end` does not decrease.
  template <typename Entered, typename Left>
  [[gnu::always_inline]] void move(const DepartureLog& log, int64_t from_ns, uint64_t end, Entered&& entered,
                                   Left&& left) {
    for (; end_ < end; ++end_) entered(end_);
    for (; begin_ < end_ && log[begin_].time_ns < from_ns; ++begin_) left(begin_);
    while (begin_ > log.first() && log[begin_ - 1].time_ns >= from_ns) entered(--begin_);
  }

  // Removes the log's first departure, which the log is about to evict, if it is in the range.
  template <typename Left>
  void evict_first(const DepartureLog& log, Left&& left) {
    if (begin_ != log.first()) return;
    if (begin_ == end_) {
      ++begin_;
      ++end_;
      return;
    }
    left(begin_++);
  }

  // The log must keep departure begin() and all later ones.
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }

 private:
  uint64_t begin_ = 0, end_ = 0;
};

}  // namespace tapline::queues
