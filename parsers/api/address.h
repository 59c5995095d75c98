#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <span>

namespace tapline {

// An IPv4 or IPv6 address in network byte order. IPv4 addresses are stored IPv4-mapped (RFC 4291 section 2.5.5.2), so
// one comparison serves both families. Tuples contain bytes(): 4 bytes for IPv4, 16 for IPv6.
class IpAddress {
 public:
  constexpr IpAddress() : bytes_{} {}

  // REQUIRES: 4 readable bytes at `bytes`.
  static IpAddress v4(const uint8_t* bytes) {
    IpAddress address;
    address.bytes_[10] = address.bytes_[11] = 0xff;
    std::memcpy(address.bytes_.data() + 12, bytes, 4);
    return address;
  }
  // REQUIRES: 16 readable bytes at `bytes`.
  static IpAddress v6(const uint8_t* bytes) {
    IpAddress address;
    std::memcpy(address.bytes_.data(), bytes, 16);
    return address;
  }

  bool is_v4() const {
    static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::memcmp(bytes_.data(), kMapped, 12) == 0;
  }
  // Returns true if this is the IPv4 address with the bytes that `word` has in memory.
  bool is_v4(uint32_t word) const {
    uint64_t halves[2];
    std::memcpy(halves, bytes_.data(), sizeof halves);
    return halves[0] == 0 && halves[1] == (uint64_t{word} << 32 | 0xffff0000u);
  }
  std::span<const uint8_t> bytes() const {
    return is_v4() ? std::span<const uint8_t>(bytes_.data() + 12, 4) : std::span<const uint8_t>(bytes_);
  }
  // Returns all 16 bytes, with IPv4 addresses mapped, for comparison with prefixes.
  const std::array<uint8_t, 16>& mapped() const { return bytes_; }

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  alignas(8) std::array<uint8_t, 16> bytes_;
};

}  // namespace tapline
