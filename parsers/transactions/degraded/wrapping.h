#pragma once

#include <cstdint>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// What may lie around the packets of a capture, or how they may be cut.
enum class Wrapping : uint8_t { kNone, kVlan, kVxlan, kFragments, kV6 };

// What the frame becomes on such a network: one frame, of fragments several, all of its time. `number` tells it from
// the others. Frames that hold no IPv4 stay as they are.
std::vector<Frame> wrapped(const Frame& frame, Wrapping wrapping, uint32_t number);

}  // namespace tapline::testing
