#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "parsers/rates/bounded.h"
#include "parsers/rates/sequence_tracker.h"

namespace tapline::rates {

// The state of the mirror port's queue, which shows if copies are being delayed or dropped.
enum class MirrorState : uint8_t {
  kComplete,  // its queue was empty recently, so no copy is dropped
  kFilling,   // it sends back to back and has dropped nothing yet: copies are stretched in time
  kSteady,    // its queue is full: copies are dropped, and the delivered ones all have the same delay
  kDraining,  // it sends back to back, and drops have stopped
};

inline const char* name_of(MirrorState state) {
  constexpr const char* kNames[] = {"complete", "filling", "steady", "draining"};
  return kNames[static_cast<int>(state)];
}

// Bounds on the time that a copy waited in the mirror's queue, relative to the delay of an empty queue or, after drops,
// to that of a full one. The delay of a full queue cancels out between two copies, so it need not be known.
struct QueueDelay {
  int64_t low_ns = 0;
  int64_t high_ns = 0;
  bool from_full = false;
};

struct MirrorPort {
  uint64_t bits_per_second = 0;  // 0: learned from the shortest time of 64 packets
  int64_t max_delay_ns = 0;      // delay of a full queue; 0: learned while the queue fills
  int64_t clock_error_ns = 0;    // maximum error of packet times, in either direction
  // False: one FIFO queue. True: a queue per input port, served round-robin, each of which fills independently.
  bool fair_queues = false;

  friend bool operator==(const MirrorPort& a, const MirrorPort& b) {
    return a.bits_per_second == b.bits_per_second && a.max_delay_ns == b.max_delay_ns &&
           a.clock_error_ns == b.clock_error_ns && a.fair_queues == b.fair_queues;
  }
};

// Follows the queue of one mirror port through the copies that leave it. Planck (section 3.2.2) takes the time between
// two copies for the time between the two packets. This is true only while the queue's delay is constant: not while the
// queue of an oversubscribed port fills, which stretches copies by the oversubscription factor. So this class bounds
// each copy's delay:
//
//   - A gap between copies shows an empty queue. From then on, the delay is at most the time since the gap.
//   - A hole in a flow's sequence numbers while the port is busy shows a full queue. From then on, the delay is below
//     that of a full queue by at most the time since the hole, as long as packets arrive at half of the port's speed or
//     more.
//
// It assumes queues of a fixed size. A hole may also stem from a loss before the switch, so only the third hole of a
// busy period counts. No allocation; one instance per mirror port; not thread-safe.
class MirrorQueue {
 public:
  static constexpr int64_t kUnknownNs = std::numeric_limits<int64_t>::max() / 4;
  // Preamble, frame check sequence and gap, which captured frame lengths exclude.
  static constexpr uint32_t kFramingBytes = 24;
  static constexpr uint32_t kFullFrameBytes = 1514;

  MirrorQueue() : MirrorQueue(MirrorPort()) {}
  explicit MirrorQueue(const MirrorPort& port) : port_(port) {
    if (port.bits_per_second != 0) set_ns_per_byte(8e9 / static_cast<double>(port.bits_per_second));
    if (port.max_delay_ns != 0) full_delay_ns_ = port.max_delay_ns;
  }

  // Records that a copy left the port: its end was received at `time_ns`. Call it for every copy, of any kind, before
  // its flow is updated.
  void observe(int64_t time_ns, uint32_t wire_bytes) {
    if (last_ns_ == kNever) {
      first_of_busy_ns_ = block_ns_ = last_ns_ = time_ns;
      return;
    }
    if (port_.bits_per_second == 0) learn(time_ns, wire_bytes);
    // Timestamps may be those of a frame's first or last bit, so frames sent back to back are at most the transmission
    // time of the longer one apart.
    const uint64_t bytes = std::max(wire_bytes, last_bytes_) + kFramingBytes;
    const auto frame_ns = static_cast<int64_t>((bytes * ns_per_byte_) >> kFractionBits);
    if (time_ns - last_ns_ - frame_ns > slack_ns_) begin_busy(time_ns);
    last_ns_ = std::max(last_ns_, time_ns);
    last_bytes_ = wire_bytes;
  }

  // Records the latest copy's step within its flow: a hole shows that the port dropped copies.
  void observe(const Progress& progress) {
    if (progress.step == Step::kHole) saw_hole(progress.previous_ns);
    // A sample without payload proves nothing: packets without payload could be missing before it and would leave no
    // hole.
    if (progress.step == Step::kNext && progress.new_bytes > 0) ++witnesses_;
    // A reordered packet first looked like a hole.
    if (progress.step == Step::kReordered && holes_ > 0) --holes_;
  }

  // Returns the delay of the latest copy. REQUIRES: `progress` belongs to that copy.
  QueueDelay delay(const Progress& progress) const {
    QueueDelay delay;
    const int64_t full_ns = port_.fair_queues ? progress.last_hole_ns : full_ns_[2];
    if (full() && full_ns >= first_of_busy_ns_) {
      delay.from_full = true;
      delay.low_ns = -std::min(last_ns_ - full_ns, full_delay_ns_);
    } else {
      delay.high_ns = std::min(began_empty_ ? last_ns_ - first_of_busy_ns_ : kUnknownNs, full_delay_ns_);
    }
    return delay;
  }

  // Returns bounds on the true time between two packets whose copies are `interval_ns` apart.
  Bounded true_interval(int64_t interval_ns, const QueueDelay& first, const QueueDelay& second) const {
    const auto full = static_cast<double>(full_delay_ns_), measured = static_cast<double>(interval_ns);
    // Bounds on how much longer the second copy was queued than the first.
    auto min_ns = static_cast<double>(second.low_ns - first.high_ns);
    auto max_ns = static_cast<double>(second.high_ns - first.low_ns);
    if (!first.from_full && second.from_full) {
      min_ns = -static_cast<double>(first.high_ns);
      max_ns = full;
    } else if (first.from_full && !second.from_full) {
      min_ns = -full;
      max_ns = static_cast<double>(second.high_ns);
    }
    const double error = 2 * static_cast<double>(port_.clock_error_ns + frame_ns_);
    const double infinite = std::numeric_limits<double>::infinity();
    Bounded interval;
    interval.value = measured;
    interval.low = std::max(0.0, measured - max_ns - error);
    interval.high = min_ns <= -static_cast<double>(kUnknownNs) ? infinite : measured - min_ns + error;
    return interval;
  }

  MirrorState state() const {
    if (full())
      return last_ns_ - full_ns_[2] <= kSteadyFrames * frame_ns_ ? MirrorState::kSteady : MirrorState::kDraining;
    return busy_ns() > kFillFrames * frame_ns_ ? MirrorState::kFilling : MirrorState::kComplete;
  }

  // Returns the time for which a full queue delays a copy, or kUnknownNs if unknown.
  int64_t full_delay_ns() const { return full_delay_ns_; }
  // Returns the port's speed, or 0 if unknown.
  double bits_per_second() const {
    return ns_per_byte_ == 0 ? 0 : 8e9 * (uint64_t{1} << kFractionBits) / static_cast<double>(ns_per_byte_);
  }

  // The following functions describe the current interval, which next_interval() ends.

  // Returns true if no copy was dropped: no hole is left unfilled, and either the port was never busy for as long as a
  // full queue keeps it busy, or enough samples are contiguous.
  bool complete() const { return holes_ == 0 && (longest_busy_ns() <= harmless_ns() || witnesses_ >= kWitnesses); }
  // Returns the longest time that the port was busy. No copy waited longer, except those already waiting when
  // observation began.
  int64_t longest_busy_ns() const { return std::max(longest_busy_ns_, busy_ns()); }
  // Returns the state that affected the interval the most.
  MirrorState interval_state() const {
    if (complete()) return MirrorState::kComplete;
    if (holes_ == 0 && !full()) return MirrorState::kFilling;
    return state() == MirrorState::kDraining ? MirrorState::kDraining : MirrorState::kSteady;
  }
  void next_interval() {
    longest_busy_ns_ = 0;
    holes_ = witnesses_ = 0;
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  static constexpr uint32_t kHoles = 3;
  static constexpr uint32_t kWitnesses = 1000;
  static constexpr uint32_t kBlockPackets = 64;
  static constexpr int kFractionBits = 20;
  static constexpr double kSlowestNsPerByte = 1e6;
  static constexpr uint64_t kSmallestQueueBytes = 8 << 10;  // the smallest queue configured for a mirror port
  // A port that has been busy for longer than this many full frames take may be filling its queue.
  static constexpr int64_t kFillFrames = 64;
  // A port that has dropped nothing for longer than this many full frames take is emptying its queue.
  static constexpr int64_t kSteadyFrames = 256;

  bool full() const { return full_ns_[2] != kNever; }

  void saw_hole(int64_t previous_ns) {
    ++holes_;
    if (previous_ns < first_of_busy_ns_ || previous_ns <= full_ns_[2]) return;
    const bool established = full();
    full_ns_[2] = previous_ns;
    if (full_ns_[2] > full_ns_[1]) std::swap(full_ns_[2], full_ns_[1]);
    if (full_ns_[1] > full_ns_[0]) std::swap(full_ns_[1], full_ns_[0]);
    // The queue took this long to fill, so its delay is less.
    if (!established && full() && began_empty_ && port_.max_delay_ns == 0 && !port_.fair_queues) {
      full_delay_ns_ = std::min(full_delay_ns_, last_ns_ - first_of_busy_ns_);
    }
  }

  void begin_busy(int64_t time_ns) {
    longest_busy_ns_ = longest_busy_ns();
    first_of_busy_ns_ = time_ns;
    began_empty_ = true;
    full_ns_[0] = full_ns_[1] = full_ns_[2] = kNever;
  }

  int64_t busy_ns() const { return last_ns_ == kNever ? 0 : last_ns_ - first_of_busy_ns_; }

  // Returns the longest time that the port can be busy and is certain to have dropped nothing. A queue that has dropped
  // a packet was full, and keeps the port busy until it is empty.
  int64_t harmless_ns() const {
    if (port_.max_delay_ns != 0) return port_.max_delay_ns - frame_ns_;
    return static_cast<int64_t>((kSmallestQueueBytes * ns_per_byte_) >> kFractionBits);
  }

  void learn(int64_t time_ns, uint32_t wire_bytes) {
    block_bytes_ += wire_bytes + kFramingBytes;
    if (++block_packets_ < kBlockPackets) return;
    const int64_t elapsed_ns = time_ns - block_ns_;
    if (elapsed_ns > 0) {
      const double ns_per_byte = static_cast<double>(elapsed_ns) / static_cast<double>(block_bytes_);
      if (ns_per_byte_ == 0 || ns_per_byte < min_ns_per_byte_) set_ns_per_byte(ns_per_byte);
    }
    block_ns_ = time_ns;
    block_bytes_ = block_packets_ = 0;
  }

  // Times in a capture can be years apart. Assuming at least 8 kbit/s, slower than any link, bounds the results.
  void set_ns_per_byte(double measured) {
    const double ns_per_byte = std::min(measured, kSlowestNsPerByte);
    min_ns_per_byte_ = ns_per_byte;
    ns_per_byte_ = static_cast<uint64_t>(ns_per_byte * (uint64_t{1} << kFractionBits)) + 1;
    frame_ns_ = static_cast<int64_t>(((kFullFrameBytes + kFramingBytes) * ns_per_byte_) >> kFractionBits) + 1;
    slack_ns_ = frame_ns_ / 4 + 2 * port_.clock_error_ns;
  }

  int64_t last_ns_ = kNever;
  int64_t first_of_busy_ns_ = 0;
  uint64_t ns_per_byte_ = 0;  // has kFractionBits fractional bits
  int64_t slack_ns_ = 0;      // shorter gaps may stem from the clock
  int64_t full_ns_[3] = {kNever, kNever,
                         kNever};  // the latest three times after which the queue was full, newest first
  int64_t full_delay_ns_ = kUnknownNs;
  int64_t frame_ns_ = 0;
  int64_t longest_busy_ns_ = 0;
  uint32_t holes_ = 0;
  uint32_t witnesses_ = 0;
  uint32_t last_bytes_ = 0;
  bool began_empty_ = false;  // false: copies may have been waiting when observation began
  uint32_t block_packets_ = 0;
  uint64_t block_bytes_ = 0;
  int64_t block_ns_ = 0;
  double min_ns_per_byte_ = 0;
  MirrorPort port_;
};

}  // namespace tapline::rates
