#pragma once

#include <cstdint>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline::testing {

// The way in which packets of a capture are encapsulated, changed to IPv6, or fragmented.
enum class Wrapping : uint8_t { kNone, kVlan, kVxlan, kFragments, kV6 };

// Returns the frame as it appears on such a network: one frame, or several fragments, all with its time. `number`
// distinguishes its fragments from those of other frames. Frames without IPv4 are unchanged.
std::vector<Frame> wrapped(const Frame& frame, Wrapping wrapping, uint32_t number);

}  // namespace tapline::testing
