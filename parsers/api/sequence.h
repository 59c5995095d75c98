// TCP sequence numbers, which wrap around at 2^32 (RFC 9293, 3.4).
#pragma once

#include <cstdint>

namespace tapline {

// How far `to` is ahead of `from`; negative if it is behind.
inline int32_t sequence_distance(uint32_t from, uint32_t to) { return static_cast<int32_t>(to - from); }

}  // namespace tapline
