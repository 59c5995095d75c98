#pragma once

#include <cstdint>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// How a mirror delivers frames. Shares of all, at random; late ones come 1 to `places` places later than they should.
struct Disorder {
  double lost = 0;
  double late = 0;
  uint32_t places = 0;
};

// The same for the same seed. Every frame keeps its own time.
std::vector<Frame> disordered(const std::vector<Frame>& frames, const Disorder& disorder, uint32_t seed);

}  // namespace tapline::testing
