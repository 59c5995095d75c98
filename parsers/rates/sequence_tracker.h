#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tapline::rates {

// A captured TCP segment of one direction of a flow.
struct TcpSample {
  int64_t time_ns = 0;
  uint32_t seq = 0;            // as sent
  uint32_t payload_bytes = 0;  // according to the IP header, not captured bytes
  uint32_t wire_bytes = 0;
  bool syn = false;
  bool fin = false;
};

enum class Step : uint8_t {
  kStarted,      // the first sample, or the first after a break, without an earlier one for comparison
  kNext,         // continues where the previous sample ended; may have no payload
  kHole,         // as above, with bytes missing in between
  kControl,      // nothing new: an old acknowledgement, a keep-alive
  kReordered,    // fills a hole: reordered, or retransmitted after a loss before the tap
  kRepeated,     // a retransmission of captured data
  kImplausible,  // a sequence number that no sender within the speed limit can reach; ignored
};

// The bytes that a sample adds to its flow.
struct Progress {
  Step step = Step::kControl;
  uint32_t seq = 0;                 // number of the first byte after SYN
  uint32_t new_bytes = 0;           // advance of the sequence number, including the sample's payload
  uint32_t hole_bytes = 0;          // the part of new_bytes before the sample
  uint32_t missed_packets = 0;      // in the hole, estimated from the samples' payloads
  uint32_t min_missed_packets = 0;  // in the hole, if all packets had the largest payload
  uint32_t repeated_bytes = 0;
  int64_t previous_ns = 0;   // time of the flow's previous sample
  int64_t last_hole_ns = 0;  // time of the sample before the latest hole; 0: no hole
};

// Follows the sequence numbers of one direction of a TCP flow that is captured only in part. Handles wrap-around,
// holes, retransmissions, reordering, keep-alives (RFC 9293 section 3.8.4), zero-window probes and unrelated numbers.
// Plain data, zero-initialised: a flow table may store it directly. Not thread-safe.
class SequenceTracker {
 public:
  struct Limits {
    uint64_t max_bits_per_second = 100'000'000'000;  // maximum speed of any link
  };

  Progress add(const TcpSample& sample, const Limits& limits) {
    Progress progress;
    progress.seq = sample.seq + (sample.syn ? 1 : 0);
    progress.previous_ns = last_ns_;
    progress.last_hole_ns = last_hole_ns_;
    const auto ahead = static_cast<int32_t>(progress.seq - next_seq_);
    if (!started_ || (sample.syn && ahead != 0)) {
      start(sample, &progress);
    } else if (ahead == 0) {
      advance(sample, 0, &progress);
    } else {
      move(sample, ahead, limits, &progress);
    }
    return progress;
  }

  // Records that the other direction acknowledged all data before `ack`: data that was not captured by then was sent
  // nevertheless, so it is a hole. Does nothing for a direction without samples, which may take another path.
  Progress acknowledge(uint32_t ack, int64_t time_ns, const Limits& limits) {
    Progress progress;
    progress.seq = ack;
    progress.previous_ns = last_ns_;
    progress.last_hole_ns = last_hole_ns_;
    const auto ahead = static_cast<int32_t>(ack - next_seq_);
    if (!started_ || ahead <= 0) return progress;
    if (static_cast<double>(ahead) > reachable(time_ns, limits) + kSlackBytes) return progress;
    progress.step = Step::kHole;
    progress.new_bytes = static_cast<uint32_t>(ahead);
    find_hole(progress.new_bytes, &progress);
    next_seq_ = ack;
    last_ns_ = std::max(last_ns_, time_ns);
    return progress;
  }

  bool started() const { return started_; }
  uint32_t next_seq() const { return next_seq_; }
  int64_t last_ns() const { return last_ns_; }
  uint32_t mean_payload() const { return mean_payload_ >> kFractionBits; }

 private:
  static constexpr int kFractionBits = 4;
  static constexpr uint32_t kUsualPayload = 1448;
  static constexpr uint32_t kJumboPayload = 8948;
  static constexpr uint32_t kSlackBytes = 1 << 20;     // a queue before the mirror may have compressed copies in time
  static constexpr uint32_t kLargestWindow = 1 << 30;  // RFC 7323 section 2.3
  static constexpr double kHalfOfNumbers = 2147483648.0;
  static constexpr double kUsualWindow = 16 << 20;  // after a silence, assumes that a step within it did not wrap
                                                    // around by 4 GiB

  void start(const TcpSample& sample, Progress* progress) {
    *this = SequenceTracker();
    started_ = true;
    progress->step = Step::kStarted;
    progress->new_bytes = sample.payload_bytes;
    next_seq_ = progress->seq + sample.payload_bytes + (sample.fin ? 1 : 0);
    sampled(sample);
  }

  // Returns the maximum advance of the numbers since the latest sample.
  double reachable(int64_t time_ns, const Limits& limits) const {
    const auto silence_ns = static_cast<double>(std::max<int64_t>(0, time_ns - last_ns_));
    return static_cast<double>(limits.max_bits_per_second) / 8e9 * silence_ns;
  }

  void move(const TcpSample& sample, int32_t ahead, const Limits& limits, Progress* progress) {
    if (ahead == -1 && sample.payload_bytes <= 1) {
      progress->step = Step::kControl;  // a keep-alive
      last_ns_ = std::max(last_ns_, sample.time_ns);
      return;
    }
    const double max_ahead = reachable(sample.time_ns, limits), distance = std::abs(static_cast<double>(ahead));
    if (max_ahead >= kHalfOfNumbers && distance > kUsualWindow) {
      start(sample, progress);  // the number of wrap-arounds is unknown
    } else if (distance > (ahead > 0 ? max_ahead + kSlackBytes : kLargestWindow)) {
      ignore(sample, progress);
    } else if (ahead > 0) {
      advance(sample, static_cast<uint32_t>(ahead), progress);
    } else {
      repeat(sample, static_cast<uint32_t>(-ahead), progress);
    }
  }

  // Ignores a segment with an unrelated number, which is spoofed or damaged. If the next segment continues it, a new
  // flow has begun.
  void ignore(const TcpSample& sample, Progress* progress) {
    if (stray_ && progress->seq - stray_end_ < kSlackBytes) {
      start(sample, progress);
      return;
    }
    progress->step = Step::kImplausible;
    stray_ = true;
    stray_end_ = progress->seq + sample.payload_bytes + (sample.fin ? 1 : 0);
  }

  void advance(const TcpSample& sample, uint32_t hole, Progress* progress) {
    progress->step = hole == 0 ? Step::kNext : Step::kHole;
    progress->new_bytes = hole + sample.payload_bytes;
    sampled(sample);
    if (hole != 0) find_hole(hole, progress);
    next_seq_ = progress->seq + sample.payload_bytes + (sample.fin ? 1 : 0);
    stray_ = false;
    // No retransmission reaches back this far. The hole's numbers will be reused.
    if (next_seq_ - hole_seq_ > 2 * kLargestWindow) hole_bytes_ = 0;
  }

  // Records that `hole` bytes are missing, starting at next_seq_.
  void find_hole(uint32_t hole, Progress* progress) {
    progress->hole_bytes = hole;
    count_missed(hole, progress);
    last_hole_ns_ = progress->last_hole_ns = progress->previous_ns;
    if (hole_bytes_ == 0 || hole_seq_ + hole_bytes_ != next_seq_) {
      hole_seq_ = next_seq_;
      hole_bytes_ = 0;
    }
    hole_bytes_ += hole;
    if (hole_bytes_ <= kLargestWindow) return;
    hole_seq_ += hole_bytes_ - kLargestWindow;  // no retransmission reaches back further
    hole_bytes_ = kLargestWindow;
  }

  // Returns true if the segment lies within the latest hole, and removes its bytes from the hole.
  bool fills_hole(uint32_t seq, uint32_t bytes) {
    const uint32_t before = seq - hole_seq_;
    if (hole_bytes_ == 0 || before >= hole_bytes_ || bytes > hole_bytes_ - before) return false;
    if (before == 0) {
      hole_seq_ += bytes;
      hole_bytes_ -= bytes;
    } else {
      hole_bytes_ = before;  // drops the part of the hole after the segment
    }
    return true;
  }

  void count_missed(uint32_t hole, Progress* progress) const {
    const uint32_t mean = max_payload_ == 0 ? kUsualPayload : std::max(mean_payload(), 1u);
    const uint32_t max_ahead = max_payload_ == 0 ? kJumboPayload : max_payload_;
    progress->min_missed_packets = (hole + max_ahead - 1) / max_ahead;
    const uint32_t by_mean = std::max((hole + mean / 2) / mean, progress->min_missed_packets);
    // A queue bounded in bytes drops large packets rather than small ones, so the missing packets are larger than the
    // samples; a queue bounded in packets does not. This estimate lies between the two.
    progress->missed_packets = (by_mean + 2 * progress->min_missed_packets + 1) / 3;
  }

  void repeat(const TcpSample& sample, uint32_t behind, Progress* progress) {
    if (sample.payload_bytes == 0) {
      progress->step = Step::kControl;
    } else if (sample.payload_bytes + (sample.fin ? 1 : 0) > behind) {
      // A retransmission combined with new bytes, or with a FIN.
      TcpSample rest = sample;
      rest.payload_bytes -= behind;
      progress->seq = next_seq_;
      advance(rest, 0, progress);
      progress->repeated_bytes = behind;
    } else if (fills_hole(progress->seq, sample.payload_bytes)) {
      progress->step = Step::kReordered;
    } else {
      progress->step = Step::kRepeated;
      progress->repeated_bytes = sample.payload_bytes;
    }
    last_ns_ = std::max(last_ns_, sample.time_ns);
  }

  void sampled(const TcpSample& sample) {
    last_ns_ = std::max(last_ns_, sample.time_ns);
    if (sample.payload_bytes == 0) return;
    max_payload_ = std::max(max_payload_, sample.payload_bytes);
    const auto target = static_cast<int32_t>(sample.payload_bytes << kFractionBits);
    if (mean_payload_ == 0) mean_payload_ = static_cast<uint32_t>(target);
    // A moving average over about eight samples.
    mean_payload_ += static_cast<uint32_t>((target - static_cast<int32_t>(mean_payload_)) / 8);
  }

  int64_t last_ns_ = 0;  // time of the latest sample, or acknowledgement of missing data
  int64_t last_hole_ns_ = 0;
  uint32_t hole_seq_ = 0;    // start of the latest hole
  uint32_t hole_bytes_ = 0;  // length of the latest hole, without bytes that later samples filled
  uint32_t next_seq_ = 0;
  uint32_t stray_end_ = 0;  // end of the ignored segment
  uint32_t max_payload_ = 0;
  uint32_t mean_payload_ = 0;  // has kFractionBits fractional bits
  bool started_ = false;
  bool stray_ = false;
};

}  // namespace tapline::rates
