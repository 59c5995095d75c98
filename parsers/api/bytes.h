#pragma once

#include <cstdint>

namespace tapline {

// These functions read numbers in network byte order. REQUIRES: enough readable bytes for the number.
inline uint16_t big_endian_16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]); }
inline uint32_t big_endian_32(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

}  // namespace tapline
