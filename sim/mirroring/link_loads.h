#pragma once

#include <cstdint>
#include <vector>

#include "sim/mirroring/estimates.h"
#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

struct LinkLoads {
  std::vector<Estimate>
      loads;  // a load per sender's link and interval; the true load includes only packets that had arrived
  std::vector<Wait>
      waits;  // each sample's wait for the load that includes it, which is estimated at the end of its interval
};

// Sends the copies through the estimators as the parser link_load does. Each flow is the only one on its sender's link,
// and the loads are those of these links. Reports a load per link for each options.every_ns, starting with the second
// interval.
LinkLoads link_loads(const Observation& seen, const EstimateOptions& options);

}  // namespace tapline::mirroring
