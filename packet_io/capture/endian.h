// Reads numbers in the byte order in which a capture file was written.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace tapline {

class ByteOrder {
 public:
  explicit ByteOrder(std::endian order = std::endian::little) : swap_(order != std::endian::native) {}

  // REQUIRES: the number's bytes are readable at `bytes`.
  uint16_t u16(const uint8_t* bytes) const {
    uint16_t value;
    std::memcpy(&value, bytes, sizeof value);
    return swap_ ? __builtin_bswap16(value) : value;
  }
  uint32_t u32(const uint8_t* bytes) const {
    uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return swap_ ? __builtin_bswap32(value) : value;
  }
  uint64_t u64(const uint8_t* bytes) const {
    uint64_t value;
    std::memcpy(&value, bytes, sizeof value);
    return swap_ ? __builtin_bswap64(value) : value;
  }

 private:
  bool swap_;
};

}  // namespace tapline
