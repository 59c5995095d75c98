#pragma once

#include <vector>

#include "parsers/rates/testing/mirror_model.h"
#include "parsers/testing/frames.h"

namespace tapline::rates::testing {

// Model times begin at 0; frame times begin here.
inline constexpr int64_t kModelStartNs = 1'000'000'000'000;

// Returns the copies as captured frames, truncated after their headers. Flow i goes from 10.0.0.1, port 10000 + i, to
// 10.0.0.2, port 5001.
std::vector<tapline::testing::Frame> frames_of(const MirrorRun& run, const std::vector<FlowSpec>& flows);

// Returns a mirror port and links of 50 Mb/s. The queue is as large as those of the testbed's mirror ports.
MirrorSpec slow_mirror();
// Returns `count` flows of equal rate that last for `seconds` and together offer `factor` times the port's capacity.
std::vector<FlowSpec> slow_flows(size_t count, double factor, int seconds);

}  // namespace tapline::rates::testing
