#pragma once

#include <cstdint>
#include <vector>

#include "sim/mirroring/estimates.h"
#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

struct LinkLoads {
  // A load per sender's link and interval. The true load includes only packets that have arrived.
  std::vector<Estimate> loads;
  // The time that each sample waited for the load that includes it, which is estimated at the end of the interval.
  std::vector<Wait> waits;
};

// Sends the copies through the estimators, as the parser link_load does. Reports the loads of the senders' links, one
// per link and options.every_ns, starting with the second interval. REQUIRES: each flow is the only one on its sender's
// link.
LinkLoads link_loads(const Observation& seen, const EstimateOptions& options);

}  // namespace tapline::mirroring
