// TCP sequence numbers, which wrap around at 2^32 (RFC 9293, 3.4).
#pragma once

#include <cstdint>

namespace tapline {

// Returns how far `end` is ahead of `start`; negative if it is behind.
inline int32_t sequence_distance(uint32_t start, uint32_t end) { return static_cast<int32_t>(end - start); }

}  // namespace tapline
