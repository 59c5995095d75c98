#pragma once

#include <cstdint>
#include <vector>

#include "sim/mirroring/estimates.h"
#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

struct LinkLoads {
  std::vector<Estimate> loads;  // a load per sender's link and interval; true loads are of the packets that had arrived
  std::vector<Wait> waits;      // waits for the load that includes the sample, at the end of its interval
};

// Sends the copies through the estimators as the parser link_load does. Each flow has its sender's link to itself, and
// loads are those of these links. Reports a load per link and options.every_ns, starting with the second interval.
LinkLoads link_loads(const Observation& seen, const EstimateOptions& options);

}  // namespace tapline::mirroring
