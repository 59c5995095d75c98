#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "parsers/rates/bounded.h"
#include "parsers/rates/coverage.h"
#include "parsers/rates/flow_rate_estimate.h"
#include "parsers/rates/mirror_queue.h"

namespace tapline::rates {

// The way in which a link was observed in an interval.
enum class Seen : uint8_t {
  kMeasured,
  kIdle,    // no packet, and no copy was dropped: the load is zero
  kUnseen,  // no copy, but copies were dropped: the load has an upper bound but no value
};

inline const char* name_of(Seen seen) {
  constexpr const char* kNames[] = {"measured", "idle", "unseen"};
  return kNames[static_cast<int>(seen)];
}

// The load of a link in an interval, with bounds.
struct LinkLoad {
  Seen seen = Seen::kIdle;
  Bounded bits_per_second;  // the value is NaN if unseen, or if the number of drops is unknown
};

// The part of a link's sum that belongs to one direction of a flow. Stored with the flow; zero-initialised.
struct LinkShare {
  uint32_t interval = 0;            // the latest interval in which the direction advanced
  uint32_t step_bytes = 0;          // the most it may have advanced on the wire since its latest sample
  uint32_t acknowledged_bytes = 0;  // acknowledged advance since then
  bool sampled = false;             // it had a sample in that interval
};

// Sums up the traffic of one link per interval (Planck section 3.2.2: the sum over the link's flows). A sample adds its
// flow's advance since the previous sample, so sums over time are exact; at either end of an interval the error is a
// part of one such step:
//
//      sample          sample                     sample        sample
//   ─────┼───────┃───────┼───────── … ──────────────┼───────┃─────┼─────▶ time
//        └─ counted in ──┘                          └─ counted in ┘
//           this interval: `lead`                      the next: `trail`
//
// Bytes that the other direction acknowledges count at the time of the acknowledgement, so `lead` is the advance up to
// the direction's first sample in the interval. The lower bound leaves out `lead`; the upper one adds `trail`. The
// upper bound also covers flows without any sample: it adds as many packets as would go unsampled in one of 20 cases. A
// flow without a sample for two intervals counts as ended. A link's packets may be divided among several sums, which
// can be added. Takes constant time per sample and does not allocate. Not thread-safe.
class LinkSum {
 public:
  // Adds a TCP sample that has, or may have, usable sequence numbers. REQUIRES: `flow` belongs to this sum.
  void add(const TcpSample& sample, const Progress& progress, LinkShare* flow) {
    if (progress.step == Step::kImplausible) return;
    if (progress.step == Step::kStarted && !sample.syn) {
      // Without an earlier sample there is no advance, so the sample counts as a packet without sequence numbers.
      add(sample.wire_bytes);
      return;
    }
    step(progress, sample.wire_bytes - std::min(sample.wire_bytes, sample.payload_bytes), flow);
    flow->sampled = true;
    flow->acknowledged_bytes = 0;
    covered_.add(sample, progress);
  }

  // Adds bytes that the other direction acknowledged but no sample covered. REQUIRES: progress is a hole.
  void add_hole(const Progress& progress, LinkShare* flow) {
    step(progress, kUsualHeaders, flow);
    covered_.add_hole(progress);
  }

  // Adds acknowledged bytes of a direction without samples, which crossed the link only if that direction uses it.
  void add_possible(uint32_t acknowledged_bytes) {
    possible_bytes_ += acknowledged_bytes + uint64_t{acknowledged_bytes / kUsualPayload + 1} * kUsualHeaders;
  }

  // Adds a packet without sequence numbers.
  void add(uint32_t wire_bytes) { others_.add(wire_bytes); }

  // Removes a flow that has ended or is no longer followed.
  void remove(const LinkShare& flow) {
    if (flow.interval == interval_) trail_bytes_ -= flow.step_bytes;
    leave(flow);
  }

  // Adds another sum of the same link in the same interval.
  LinkSum& operator+=(const LinkSum& other) {
    covered_ += other.covered_;
    others_ += other.others_;
    lead_bytes_ += other.lead_bytes_;
    trail_bytes_ += other.trail_bytes_;
    earlier_trail_bytes_ += other.earlier_trail_bytes_;
    possible_bytes_ += other.possible_bytes_;
    largest_hole_ = std::max(largest_hole_, other.largest_hole_);
    return *this;
  }

  const Coverage& covered() const { return covered_; }
  uint64_t packets() const {
    return uint64_t{covered_.samples} + covered_.repeated + covered_.control + others_.packets;
  }

  // Returns the payload of the flows with sequence numbers, plus the other packets' bytes times `scale`.
  double payload_bytes(double scale) const {
    return static_cast<double>(covered_.sequence_bytes) + scale * static_cast<double>(others_.wire_bytes);
  }

  // Returns the link's load. `interval_ns` bounds the interval's length, excluding the mirror's delay.
  // `link_bits_per_second` is 0 if unknown.
  LinkLoad load(const MirrorInterval& mirror, const Bounded& interval_ns, uint64_t link_bits_per_second) const {
    const double infinite = std::numeric_limits<double>::infinity();
    const Bounded others = scaled_bytes(others_, mirror);
    const bool has_any = packets() > 0;
    LinkLoad load;
    load.seen = has_any ? Seen::kMeasured : mirror.complete ? Seen::kIdle : Seen::kUnseen;
    if (load.seen == Seen::kIdle) return load;
    Bounded bytes = mirror.complete ? captured_bytes() : covered_bytes();
    bytes.value += others.value;
    bytes.low += others.low;
    bytes.high += others.high;
    if (has_any) {
      // A packet that is on the wire at an end of the interval belongs to the interval of its last bit.
      bytes.low = std::max(0.0, bytes.low - MirrorQueue::kFullFrameBytes);
      bytes.high += MirrorQueue::kFullFrameBytes;
    }
    if (!mirror.complete) bytes.high += unseen_bytes(mirror);
    const double link = link_bits_per_second == 0 ? infinite : static_cast<double>(link_bits_per_second);
    load.bits_per_second.value =
        load.seen == Seen::kUnseen ? std::numeric_limits<double>::quiet_NaN() : bytes.value * 8e9 / interval_ns.value;
    load.bits_per_second.low = std::min(link, bytes.low * 8e9 / interval_ns.high);
    load.bits_per_second.high = interval_ns.low <= 0 ? link : std::min(link, bytes.high * 8e9 / interval_ns.low);
    if (mirror.complete) return load;
    // In a short interval, a step that began long before it may exceed the link's capacity. A NaN stays NaN.
    load.bits_per_second.value = std::min(load.bits_per_second.value, load.bits_per_second.high);
    return load;
  }

  // Begins the next interval.
  void next() {
    earlier_trail_bytes_ = trail_bytes_;
    trail_bytes_ = lead_bytes_ = possible_bytes_ = 0;
    largest_hole_ /= 2;
    covered_ = Coverage();
    others_ = Counted();
    interval_ = interval_ == UINT32_MAX ? kFirstInterval : interval_ + 1;
  }

 private:
  static constexpr uint32_t kUsualHeaders = 66;  // as in Coverage
  static constexpr uint32_t kUsualPayload = 1448;
  static constexpr uint32_t kFirstInterval = 2;  // so that a new flow is in neither this interval nor the previous one

  void step(const Progress& progress, uint32_t headers, LinkShare* flow) {
    const bool first = flow->interval != interval_;
    if (first) {
      leave(*flow);
      flow->sampled = false;
    } else {
      trail_bytes_ -= flow->step_bytes;
    }
    const uint64_t hole = progress.hole_bytes + uint64_t{progress.missed_packets} * headers;
    if (!flow->sampled) lead_bytes_ += hole;
    largest_hole_ = std::max(largest_hole_, hole);
    const uint64_t before = first ? flow->step_bytes / 2 : flow->step_bytes;
    const uint64_t moved = std::min<uint64_t>(flow->acknowledged_bytes + hole, UINT32_MAX);
    flow->acknowledged_bytes = static_cast<uint32_t>(moved);
    flow->step_bytes = static_cast<uint32_t>(std::max(before, moved));
    flow->interval = interval_;
    trail_bytes_ += flow->step_bytes;
  }

  // Removes a flow's step from those of the previous interval, if it is among them.
  void leave(const LinkShare& flow) {
    if (flow.interval + 1 == interval_) earlier_trail_bytes_ -= flow.step_bytes;
  }

  // Returns the bytes, assuming that no copy is missing: the bytes of a hole were then lost before the switch and did
  // not cross the link.
  Bounded captured_bytes() const {
    const auto bytes = static_cast<double>(covered_.captured_wire_bytes());
    return {bytes, bytes, bytes};
  }

  Bounded covered_bytes() const {
    Bounded bytes = covered_.wire_bytes();
    bytes.low = std::max(0.0, bytes.low - static_cast<double>(lead_bytes_));
    bytes.high += static_cast<double>(trail_bytes_ + earlier_trail_bytes_ + possible_bytes_);
    return bytes;
  }

  // Returns an upper bound for the bytes of flows without a sample. The probability that none of n packets is sampled
  // is (1 - share)^n, which is 5 % at n = 3 / share. If drops come in runs, a flow that ends within a run shows no
  // hole; up to three such runs are assumed, each as long as the largest recent hole.
  double unseen_bytes(const MirrorInterval& mirror) const {
    if (!mirror.share.known()) return std::numeric_limits<double>::infinity();
    return 3 / mirror.share.share().low * MirrorQueue::kFullFrameBytes + 3 * static_cast<double>(largest_hole_);
  }

  Coverage covered_;
  Counted others_;
  uint64_t lead_bytes_ = 0;           // steps that began before the interval
  uint64_t trail_bytes_ = 0;          // steps that may have begun before its end, for flows with a sample in it
  uint64_t earlier_trail_bytes_ = 0;  // such steps of flows without a sample since the previous interval
  uint64_t possible_bytes_ = 0;       // bytes of directions that may not cross the link
  uint64_t largest_hole_ = 0;         // largest recent hole, on the wire
  uint32_t interval_ = kFirstInterval;
};

}  // namespace tapline::rates
