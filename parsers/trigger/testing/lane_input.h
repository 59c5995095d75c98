#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "parsers/packets/tcp_facts.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger::testing {

// The packets of one lane.
struct LaneInput {
  std::vector<Sample> samples;
  std::vector<TcpFacts> tcp;
};

// Gives each sample to a random lane. `tcp` has the facts of each sample.
inline std::vector<LaneInput> distribute(const std::vector<Sample>& samples, const std::vector<TcpFacts>& tcp,
                                         size_t lane_count, uint32_t seed) {
  std::vector<LaneInput> lanes(lane_count);
  std::mt19937 random(seed);
  for (size_t i = 0; i < samples.size(); ++i) {
    LaneInput& lane = lanes[random() % lanes.size()];
    lane.samples.push_back(samples[i]);
    lane.tcp.push_back(tcp[i]);
  }
  return lanes;
}

}  // namespace tapline::trigger::testing
