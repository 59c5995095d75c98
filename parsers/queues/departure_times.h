#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "parsers/queues/tap_matcher.h"

namespace tapline::queues {

struct DepartureTimesOptions {
  uint64_t link_bits_per_second = 0;   // speed for packets including their Ethernet headers; not 0
  int64_t max_late_ns = 20'000'000;    // maximum delay of a stamp after its packet left
  int64_t window_ns = 10'000'000'000;  // the lateness of stamps is measured in two such windows
};

// Measures how late packets are stamped: the longest delay, in this window or the previous one, of a packet that found
// the queue empty.
class StampDelay {
 public:
  explicit StampDelay(int64_t window_ns) : window_ns_(window_ns) {}

  void observe(int64_t time_ns, int64_t late_ns) {
    if (time_ns - window_start_ns_ >= window_ns_) {
      previous_ns_ = time_ns - window_start_ns_ >= 2 * window_ns_ ? 0 : current_ns_;
      current_ns_ = 0;
      window_start_ns_ = time_ns;
    }
    current_ns_ = std::max(current_ns_, late_ns);
  }

  // Returns the longest delay, or 0 before the first sample.
  int64_t longest_ns() const { return std::max(current_ns_, previous_ns_); }

 private:
  int64_t window_ns_;
  int64_t window_start_ns_ = 0;
  int64_t current_ns_ = 0, previous_ns_ = 0;
};

// Measures the time within which most packets are stamped, from the delays of packets that found the queue empty.
// Recent delays count more.
class UsualDelay {
 public:
  void observe(int64_t late_ns) {
    ++counts_[std::bit_width(static_cast<uint64_t>(std::clamp<int64_t>(late_ns, 0, kMaxNs)))];
    if (++total_ < kMaxTotal) return;
    total_ = 0;
    for (uint32_t& count : counts_) total_ += count /= 2;
  }

  // Returns the smallest power of two that exceeds nine in ten delays, or 0 before the first sample.
  int64_t most_ns() const {
    uint32_t below = 0;
    for (size_t bits = 0; bits < counts_.size(); ++bits) {
      below += counts_[bits];
      if (below * 10 >= total_ * 9) return total_ == 0 ? 0 : int64_t{1} << bits;
    }
    return 0;
  }

 private:
  static constexpr uint32_t kMaxTotal = 256;
  static constexpr int64_t kMaxNs = int64_t{1} << 40;  // longer than any delay between taps

  std::array<uint32_t, 42> counts_{};  // number of delays, by their number of bits
  uint32_t total_ = 0;
};

// Finds pauses of a link from the delays of stamps. If, for twice the usual delay, even the shortest delay of a stamp
// exceeds the usual one by more than two packets' transmission time, the link has paused for that shortest delay.
class Pauses {
 public:
  // Returns the length of a pause that this stamp reveals, else 0.
  int64_t observe(int64_t stamp_ns, int64_t late_ns, int64_t usual_ns, int64_t packet_ns) {
    if (packets_++ == 0) begin_ns_ = stamp_ns;
    least_ns_ = std::min(least_ns_, late_ns);
    if (packets_ < kMinPackets || stamp_ns - begin_ns_ < 2 * usual_ns) return 0;
    const int64_t least_ns = least_ns_;
    restart();
    return (least_ns - usual_ns) / 2 > packet_ns ? least_ns : 0;
  }
  // Forgets the stamps so far, because the next packet finds the queue empty.
  void restart() {
    packets_ = 0;
    least_ns_ = INT64_MAX;
  }

 private:
  static constexpr uint32_t kMinPackets = 3;

  uint32_t packets_ = 0;
  int64_t begin_ns_ = 0, least_ns_ = INT64_MAX;
};

// Corrects the times of packets that were stamped some time after they left a queue, as by a software switch that reads
// several packets at a time. A link sends one packet after the other and never pauses while packets wait, so a packet
// left as soon as it had arrived and the link had sent the previous one:
//
//   arrived      ||||               |
//   stamped      |          |||     |      (the last three were read together)
//   corrected    |  |  |  |         |
//
// A packet left no later than its stamp. A packet that finds the queue empty leaves at once, which shows how late
// stamps are, and no packet is corrected by more than the longest such delay. So if flow control stops the link for
// longer, the waiting packets still show as a queue. A shorter stop shows once even the least delayed stamps are later
// than usual (Pauses).
//
// A packet leaves when its transmission begins. The times are exact if the arrivals are exact and the link has the
// given speed and is never stopped. Passages go to the sink without delay and in the same order. One per queue; not
// thread-safe.
class DepartureTimes final : public MatchSink {
 public:
  // REQUIRES: options.link_bits_per_second > 0.
  DepartureTimes(const DepartureTimesOptions& options, MatchSink* sink)
      : options_(options), delay_(options.window_ns), sink_(sink) {}

  void pass(const Passage& passage) override {
    Passage corrected = passage;
    corrected.departure_ns = departure_ns(passage);
    corrected.arrival_ns = std::min(passage.arrival_ns, corrected.departure_ns);
    corrected.earliest_ns = std::min(passage.earliest_ns, corrected.departure_ns);
    corrected.latest_ns = std::min(passage.latest_ns, corrected.departure_ns);
    const int64_t packet_ns = transmission_ns(passage.bytes);
    const int64_t late_ns = passage.departure_ns - corrected.departure_ns;
    sent_ns_ = corrected.departure_ns + packet_ns +
               pauses_.observe(passage.departure_ns, late_ns, usual_.most_ns(), packet_ns);
    corrected_ += corrected.departure_ns != passage.departure_ns;
    sink_->pass(corrected);
  }
  void never_left(const View& arrival) override { sink_->never_left(arrival); }
  void drop(uint32_t tag) override { sink_->drop(tag); }

  uint64_t corrected() const { return corrected_; }  // packets whose time differs from the stamp

 private:
  int64_t departure_ns(const Passage& passage) {
    const int64_t stamp_ns = passage.departure_ns;
    const int64_t arrival_ns = passage.arrival_known ? passage.arrival_ns : passage.latest_ns;
    if (passage.is_certain() && arrival_ns >= latest_stamp_ns_) {
      delay_.observe(stamp_ns, stamp_ns - arrival_ns);
      usual_.observe(stamp_ns - arrival_ns);
    }
    if (arrival_ns >= sent_ns_) pauses_.restart();
    latest_stamp_ns_ = std::max(latest_stamp_ns_, stamp_ns);
    const int64_t late_ns = std::min(delay_.longest_ns(), options_.max_late_ns);
    const int64_t earliest_ns = std::max({arrival_ns, sent_ns_, stamp_ns - late_ns});
    return previous_ns_ = std::max(previous_ns_, std::min(earliest_ns, stamp_ns));
  }

  int64_t transmission_ns(uint32_t bytes) {
    constexpr uint32_t kMaxBytes = 1 << 30;  // a damaged capture may contain any length; this limit prevents overflows
    const uint64_t bits_ns = uint64_t{std::min(bytes, kMaxBytes)} * 8'000'000'000 + remainder_;
    remainder_ = bits_ns % options_.link_bits_per_second;
    return static_cast<int64_t>(bits_ns / options_.link_bits_per_second);
  }

  DepartureTimesOptions options_;
  StampDelay delay_;
  UsualDelay usual_;
  Pauses pauses_;
  MatchSink* sink_;
  int64_t sent_ns_ = INT64_MIN / 4;  // time when the link has sent the previous packet
  uint64_t remainder_ = 0;           // bits × 10⁹ that are not yet a nanosecond of transmission
  int64_t previous_ns_ = INT64_MIN / 4, latest_stamp_ns_ = INT64_MIN / 4;
  uint64_t corrected_ = 0;
};

}  // namespace tapline::queues
