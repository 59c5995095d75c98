#pragma once

#include <vector>

#include "sim/mirroring/star.h"

namespace tapline::mirroring {

struct FlowSpec {
  uint32_t from = 0, to = 1;     // hosts
  uint64_t bits_per_second = 0;  // payload rate; 0: as fast as TCP permits
  bool udp = false;              // REQUIRES: bits_per_second > 0
  int64_t begin_ns = 0, end_ns = 0;
};

// Runs the flows until `end_ns`. Flow i has the destination port kFirstPort + i.
Observation run(const StarOptions& options, const std::vector<FlowSpec>& flows, int64_t end_ns, uint32_t seed);

}  // namespace tapline::mirroring
