#pragma once

#include <cstdint>

#include "parsers/queues/departure_log.h"

namespace tapline::queues {

// Consecutive departures of a log: at each move(), those with a number below `end` and a time of from_ns or later. In a
// FIFO queue, both ends move only forward, so a packet costs amortised constant time, regardless of its delay. If
// packets overtake each other, the beginning may move back. Not thread-safe.
//
// Callbacks get each departure and its service time: the time since the previous departure.
class DepartureRange {
 public:
  using Departure = DepartureLog::Departure;

  // Moves the range. Calls entered(departure, service_ns) for each departure that it gains, and left(departure,
  // service_ns) for each that it loses. REQUIRES: `end` does not decrease.
  template <typename Entered, typename Left>
  [[gnu::always_inline]] void move(const DepartureLog& log, int64_t from_ns, uint64_t end, Entered&& entered,
                                   Left&& left) {
    end_start_ns_ = log.start_ns(end_);
    for (; end_ < end; ++end_) {
      const Departure& departure = log[end_];
      entered(departure, departure.time_ns - end_start_ns_);
      end_start_ns_ = departure.time_ns;
    }
    int64_t start_ns = log.start_ns(begin_);
    for (; begin_ < end_ && log[begin_].time_ns < from_ns; ++begin_) {
      const Departure& departure = log[begin_];
      left(departure, departure.time_ns - start_ns);
      start_ns = departure.time_ns;
    }
    while (start_ns >= from_ns && begin_ > log.first()) {
      start_ns = log.start_ns(--begin_);
      entered(log[begin_], log[begin_].time_ns - start_ns);
    }
    begin_start_ns_ = start_ns;
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
    left(log[begin_], log[begin_].time_ns - log.start_ns(begin_));
    ++begin_;
  }

  // The log must keep departure begin() and all later ones.
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  // Return when the link became free for departure begin() or end(), as of the last move().
  int64_t begin_start_ns() const { return begin_start_ns_; }
  int64_t end_start_ns() const { return end_start_ns_; }

 private:
  uint64_t begin_ = 0, end_ = 0;
  int64_t begin_start_ns_ = 0, end_start_ns_ = 0;
};

}  // namespace tapline::queues
