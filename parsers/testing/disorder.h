#pragma once

#include <cstdint>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// Disorder caused by a mirror: the shares of frames, chosen at random, that are lost and that are late. A late frame
// arrives 1 to `places` positions later.
struct Disorder {
  double lost = 0;
  double late = 0;
  uint32_t places = 0;
};

// Disorders the frames. Equal seeds give equal results. Every frame keeps its time.
std::vector<Frame> disordered(const std::vector<Frame>& frames, const Disorder& disorder, uint32_t seed);

}  // namespace tapline::testing
