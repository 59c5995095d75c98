#pragma once

#include <cstdint>
#include <vector>

#include "parsers/rates/testing/mirror_model.h"
#include "sim/mirroring/observation.h"
#include "sim/mirroring/port_queue.h"

namespace tapline::mirroring::testing {

struct ReplayOptions {
  Schedule schedule = Schedule::kRoundRobin;
  uint64_t bits_per_second = 10'000'000'000;  // speed of the mirror port and the senders' links
  uint64_t buffer_bytes = 9'000'000;
  double alpha = 0.8;
  uint64_t limit_bytes = PortQueue<uint32_t>::kNoLimit;
};

// Sends the flows' packets, as parsers/rates/testing makes them, through a PortQueue; flow i enters at port i. Replaces
// ns-3's TCP where ns-3 is not installed; senders do not react to drops.
Observation replay(const std::vector<rates::testing::FlowSpec>& flows, const ReplayOptions& options, uint64_t seed);

}  // namespace tapline::mirroring::testing
