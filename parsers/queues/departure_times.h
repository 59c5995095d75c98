#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {

struct DepartureTimesOptions {
  uint64_t link_bits_per_second = 0;  // bits of the packets with their Ethernet headers; not 0
  int64_t late_ns = 4'000'000;        // a packet is stamped at most this long after it left
  uint32_t max_packets = 1 << 14;     // packets that wait
};

// Corrects the times of packets that were stamped some time after they left a queue, as by a switch that reads several
// packets at a time. A link sends one packet after the other, so a packet left at least the next one's transmission
// time earlier than that one:
//
//   stamped      |        |                  ||||    (read together)
//   corrected    |        |       |     |     |  |
//
// A packet waits for late_ns, and gets the latest time that the packets stamped within that time allow: the minimum of
// (stamp of k) - (transmission of all packets after it up to k). If no stamp is early, and the link never exceeds its
// speed, that lies between the true time and the stamp. One per queue; not thread-safe; bounded.
class DepartureTimes {
 public:
  // REQUIRES: options.link_bits_per_second > 0.
  explicit DepartureTimes(const DepartureTimesOptions& options)
      : options_(options),
        mask_(std::bit_ceil(std::max(options.max_packets, 2u)) - 1),
        waiting_(mask_ + 1),
        minima_(mask_ + 1) {}

  // Calls depart(view) for each packet that has waited long enough, in the order of the calls of add(), with times that
  // do not decrease.
  template <typename Depart>
  void add(const View& view, Depart depart) {
    if (end_ - first_ > mask_) release_first(depart);
    transmit(view.bytes);
    const int64_t excess_ns = view.time_ns - transmitted_ns_;
    waiting_[end_ & mask_] = {view, transmitted_ns_};
    while (first_minimum_ != end_minimum_ && minimum(end_minimum_ - 1).excess_ns >= excess_ns) --end_minimum_;
    minimum(end_minimum_++) = {end_, excess_ns};
    ++end_;
    advance(view.time_ns, depart);
  }

  template <typename Depart>
  void advance(int64_t now_ns, Depart depart) {
    while (!empty() && now_ns - waiting_[first_ & mask_].view.time_ns >= options_.late_ns) release_first(depart);
  }

  template <typename Depart>
  void finish(Depart depart) {
    while (!empty()) release_first(depart);
  }

  bool empty() const { return first_ == end_; }
  uint64_t corrected() const { return corrected_; }  // packets whose time is no longer that of the stamp

 private:
  struct Waiting {
    View view;
    int64_t transmitted_ns;  // transmission of all packets up to this one
  };
  // A packet with a lower excess than all that wait before it: those that follow it decide their times alone.
  struct Minimum {
    uint64_t number;
    int64_t excess_ns;  // stamp minus transmitted_ns
  };

  Minimum& minimum(uint64_t number) { return minima_[number & mask_]; }

  void transmit(uint32_t bytes) {
    const uint64_t bits_ns = uint64_t{bytes} * 8'000'000'000 + remainder_;
    // A longer transmission moves no packet any further, but could overflow the sum.
    transmitted_ns_ += std::min(static_cast<int64_t>(bits_ns / options_.link_bits_per_second), options_.late_ns);
    remainder_ = bits_ns % options_.link_bits_per_second;
  }

  template <typename Depart>
  void release_first(Depart depart) {
    Waiting& waiting = waiting_[first_ & mask_];
    const int64_t stamp_ns = waiting.view.time_ns;
    const int64_t latest_ns = minimum(first_minimum_).excess_ns + waiting.transmitted_ns;
    released_ns_ = std::max({released_ns_, latest_ns, stamp_ns - options_.late_ns});
    waiting.view.time_ns = released_ns_;
    waiting.view.moved_ns = static_cast<uint32_t>(std::max<int64_t>(stamp_ns - released_ns_, 0));
    corrected_ += waiting.view.moved_ns != 0;
    first_minimum_ += minimum(first_minimum_).number == first_;
    ++first_;
    depart(waiting.view);
  }

  DepartureTimesOptions options_;
  uint64_t mask_;  // the size of both rings minus 1
  std::vector<Waiting> waiting_;
  uint64_t first_ = 0, end_ = 0;
  std::vector<Minimum> minima_;  // by number; the excess increases
  uint64_t first_minimum_ = 0, end_minimum_ = 0;
  int64_t transmitted_ns_ = 0;
  uint64_t remainder_ = 0;  // bits × 10⁹ that are not yet a nanosecond of transmission
  int64_t released_ns_ = INT64_MIN / 4;
  uint64_t corrected_ = 0;
};

}  // namespace tapline::queues
