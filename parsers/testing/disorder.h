#pragma once

#include <cstdint>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// Disorder caused by a mirror. Shares are random shares of all; late frames come 1 to `places` positions later than
// they should.
struct Disorder {
  double lost = 0;
  double late = 0;
  uint32_t places = 0;
};

// The same seed gives the same result. Every frame keeps its time.
std::vector<Frame> disordered(const std::vector<Frame>& frames, const Disorder& disorder, uint32_t seed);

}  // namespace tapline::testing
