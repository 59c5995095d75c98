#pragma once

#include <cstdint>
#include <vector>

#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

// The packets of TCP flows that a switch mirrors (Planck section 5.1).
struct Originals {
  // From a segment's first transmission to its first arrival at the receiver, retransmission delays included.
  std::vector<double> delays_us;
  std::vector<double> gigabits_per_second;  // payload that arrived, by flow and slice
  double lost = 0;                          // share of packets that never arrived
};

// Considers packets sent and received from `from_ns` to `to_ns`, the end of the experiment. Throughput is averaged
// over slices of `slice_ns`; packets of the last slice may still be in flight, and do not count as lost.
Originals originals_of(const Observation& seen, int64_t from_ns, int64_t to_ns, int64_t slice_ns);

}  // namespace tapline::mirroring
