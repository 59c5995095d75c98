#pragma once

#include <cstdint>
#include <vector>

#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

// Statistics about the packets of TCP flows that a switch mirrors (Planck section 5.1).
struct Originals {
  // Times from a segment's first transmission to its first arrival at the receiver, including retransmission delays.
  std::vector<double> delays_us;
  std::vector<double> gigabits_per_second;  // throughput of payload that arrived, by flow and slice
  double lost = 0;                          // fraction of the packets that never arrived
};

// Considers packets sent and received from `from_ns` to `to_ns`, the end of the experiment. Throughput is averaged over
// slices of `slice_ns`. `lost` ignores packets sent in the last slice, which may still be in flight.
Originals originals_of(const Observation& seen, int64_t from_ns, int64_t to_ns, int64_t slice_ns);

}  // namespace tapline::mirroring
