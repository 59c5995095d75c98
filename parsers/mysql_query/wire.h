#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tapline::mysql {

using Bytes = std::span<const uint8_t>;

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Reads the protocol's numbers from the first bytes of a packet. Beyond the end, every number is 0 and ok() is false.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  Bytes rest() const { return bytes_; }

  void skip(uint64_t count) {
    if (count > bytes_.size()) return fail();
    bytes_ = bytes_.subspan(static_cast<size_t>(count));
  }

  // Reads a little-endian number of 1 to 8 bytes.
  uint64_t number(size_t size) {
    if (size > bytes_.size()) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = size; i > 0; --i) value = value << 8 | bytes_[i - 1];
    bytes_ = bytes_.subspan(size);
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }

  // Reads a length-encoded integer: one byte up to 250, otherwise a byte that gives the number of bytes that follow.
  uint64_t length_encoded() {
    const uint8_t first = u8();
    switch (first) {
      case 0xfc:
        return number(2);
      case 0xfd:
        return number(3);
      case 0xfe:
        return number(8);
      case 0xfb:
      case 0xff:
        fail();
        return 0;
      default:
        return first;
    }
  }

 private:
  void fail() {
    ok_ = false;
    bytes_ = {};
  }

  Bytes bytes_;
  bool ok_ = true;
};

}  // namespace tapline::mysql
