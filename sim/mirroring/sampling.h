#pragma once

#include <cstdint>
#include <vector>

#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

// The paper's unit of length: a packet of 1,500 bytes.
inline constexpr double kMtuBytes = 1500;

struct Sampling {
  std::vector<double> burst_mtu;  // number of consecutive packets from one flow that the collector received
  std::vector<double> gap_mtu;    // number of packets from other flows between two bursts of a flow
  std::vector<double>
      sender_gap_mtu;  // number of MTUs that would have fitted on the link between two bursts of a sender
  std::vector<double> samples_by_flow;  // number of packets
};

// Computes the figures of Planck section 5.3. Counts the packets with payload whose copies arrived at `from_ns` or
// later. A sender's burst ends when its link becomes idle.
Sampling sampling_of(const Observation& seen, int64_t from_ns, uint64_t link_bits_per_second);

// Returns the delay of each copy with payload received at `from_ns` or later, from the packet's first bit on the
// sender's link to the copy's last bit at the collector.
std::vector<double> sample_delays_us(const Observation& seen, int64_t from_ns);

// Returns a quantile of the values, which may be in any order, or 0 if there are none. `share` is from 0 to 1.
double quantile(std::vector<double> values, double share);
double mean(const std::vector<double>& values);
double deviation(const std::vector<double>& values);
// Returns the fraction of the values that are at most `limit`.
double share_within(const std::vector<double>& values, double limit);

}  // namespace tapline::mirroring
