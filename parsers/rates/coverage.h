#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "parsers/rates/bounded.h"
#include "parsers/rates/sequence_tracker.h"

namespace tapline::rates {

// The traffic that samples of TCP flows represent: sums over samples, which can be added across windows and flows.
struct Coverage {
  uint64_t sequence_bytes = 0;  // total advance of sequence numbers
  uint64_t seen_bytes = 0;      // payload of the samples that advanced them
  uint64_t seen_wire_bytes = 0;
  uint64_t missed_packets = 0;
  uint64_t min_missed_packets = 0;
  uint64_t repeated_bytes = 0;
  uint64_t repeated_wire_bytes = 0;
  uint64_t control_wire_bytes = 0;  // samples without payload
  uint32_t samples = 0;             // samples that advanced sequence numbers
  uint32_t repeated = 0;
  uint32_t reordered = 0;
  uint32_t control = 0;

  void add(const TcpSample& sample, const Progress& progress) {
    sequence_bytes += progress.new_bytes;
    missed_packets += progress.missed_packets;
    min_missed_packets += progress.min_missed_packets;
    if (progress.step == Step::kRepeated) {
      ++repeated;
      repeated_bytes += sample.payload_bytes;
      repeated_wire_bytes += sample.wire_bytes;
    } else if (progress.step == Step::kReordered) {
      ++reordered;
      see(sample.payload_bytes, sample.wire_bytes);
      // A packet counted as missed has arrived after all.
      missed_packets -= missed_packets > 0 ? 1 : 0;
      min_missed_packets -= min_missed_packets > 0 ? 1 : 0;
    } else if (sample.payload_bytes == 0 || progress.step == Step::kControl) {
      ++control;
      control_wire_bytes += sample.wire_bytes;
    } else {
      repeated_bytes += progress.repeated_bytes;
      repeated_wire_bytes += progress.repeated_bytes;
      see(sample.payload_bytes - progress.repeated_bytes, sample.wire_bytes - progress.repeated_bytes);
    }
  }

  // Adds bytes that the other direction acknowledged but no sample covered.
  void add_hole(const Progress& progress) {
    sequence_bytes += progress.hole_bytes;
    missed_packets += progress.missed_packets;
    min_missed_packets += progress.min_missed_packets;
  }

  Coverage& operator+=(const Coverage& other) {
    sequence_bytes += other.sequence_bytes;
    seen_bytes += other.seen_bytes;
    seen_wire_bytes += other.seen_wire_bytes;
    missed_packets += other.missed_packets;
    min_missed_packets += other.min_missed_packets;
    repeated_bytes += other.repeated_bytes;
    repeated_wire_bytes += other.repeated_wire_bytes;
    control_wire_bytes += other.control_wire_bytes;
    samples += other.samples;
    repeated += other.repeated;
    reordered += other.reordered;
    control += other.control;
    return *this;
  }

  // Returns the sampled share of the flows' bytes, which is 1 if nothing is missing. REQUIRES: sequence_bytes > 0.
  double sampling_share() const {
    return std::min(1.0, static_cast<double>(seen_bytes) / static_cast<double>(sequence_bytes));
  }

  // Returns the wire bytes of the samples alone.
  uint64_t captured_wire_bytes() const { return seen_wire_bytes + repeated_wire_bytes + control_wire_bytes; }

  // Returns the bytes on the wire, in the units of TcpSample::wire_bytes. Missing packets are assumed to have the
  // samples' headers; their number follows from the samples' payloads. Missing retransmissions and acknowledgements
  // leave no hole, so the captured ones are divided by the sampled share of the other bytes.
  Bounded wire_bytes() const {
    const auto seen_packets = static_cast<double>(samples);
    const auto seen_payload = static_cast<double>(seen_bytes), seen_wire = static_cast<double>(seen_wire_bytes);
    const double headers = samples == 0 ? kUsualHeaders : (seen_wire - seen_payload) / seen_packets;
    const double missing = std::max(0.0, static_cast<double>(sequence_bytes) - seen_payload);
    const auto missed = static_cast<double>(missed_packets), min = static_cast<double>(min_missed_packets);
    const double scale = sequence_bytes == 0 ? 1 : 1 / std::max(sampling_share(), kMinShare);
    const auto controls = static_cast<double>(control_wire_bytes), repeats = static_cast<double>(repeated_wire_bytes);
    Bounded result;
    // A queue bounded in bytes still has room for small packets when it has none for others, so fewer of them are
    // missing.
    result.value = seen_wire + missing + missed * headers + controls * (1 + scale) / 2 + repeats * scale;
    // A host may capture segments that its network card divides later, so the number of missing headers is uncertain.
    result.low = seen_wire + missing + controls + repeats;
    const double unsure = missed - std::min(min, missed);
    result.high = seen_wire + missing + (missed + unsure + 2 * std::sqrt(unsure)) * headers +
                  controls * scale * upper_bound(control) + repeats * scale * upper_bound(repeated);
    return result;
  }

 private:
  static constexpr double kUsualHeaders = 66;  // Ethernet, IPv4 and TCP with timestamps
  static constexpr double kMinShare = 1e-4;

  // Returns the relative upper bound of a Poisson count, at two standard deviations.
  static double upper_bound(uint32_t count) { return count == 0 ? 1 : 1 + 2 / std::sqrt(count) + 2.0 / count; }

  void see(uint32_t payload_bytes, uint32_t wire_bytes) {
    ++samples;
    seen_bytes += payload_bytes;
    seen_wire_bytes += wire_bytes;
  }
};

}  // namespace tapline::rates
