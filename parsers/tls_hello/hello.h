#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/api/bytes.h"

namespace tapline::tls {

using Bytes = std::span<const uint8_t>;

namespace extension {
inline constexpr uint16_t kServerName = 0, kSignatureAlgorithms = 13, kAlpn = 16, kSupportedVersions = 43;
}
inline constexpr uint16_t kTls13 = 0x0304;

// A list of 16-bit numbers in a message, in network order. An odd last byte is ignored.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(Bytes bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size() / 2; }
  uint16_t operator[](size_t i) const { return big_endian_16(bytes_.data() + 2 * i); }

 private:
  Bytes bytes_;
};

// Returns true for GREASE, reserved values that clients offer so that servers stay tolerant of unknown ones (RFC 8701).
constexpr bool is_grease(uint16_t value) { return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff); }

// Calls visit(type, content) for each extension of a hello (RFC 8446 section 4.2), in order; returns false if the
// extensions' lengths contradict the block's.
template <typename Visit>
bool for_each_extension(Bytes block, Visit visit) {
  while (block.size() >= 4) {
    const uint16_t type = big_endian_16(block.data());
    const size_t length = big_endian_16(block.data() + 2);
    if (length > block.size() - 4) return false;
    visit(type, block.subspan(4, length));
    block = block.subspan(4 + length);
  }
  return block.empty();
}

// Visits the complete names in a list with one-byte lengths (RFC 7301 section 3.1).
template <typename Visit>
void for_each_protocol(Bytes list, Visit visit) {
  while (!list.empty() && list.size() > list[0]) {
    visit(std::string_view(reinterpret_cast<const char*>(list.data()) + 1, list[0]));
    list = list.subspan(1u + list[0]);
  }
}

// A ClientHello, the client's offer (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2). All views point into the
// message.
struct ClientHello {
  uint16_t legacy_version = 0;
  Numbers cipher_suites;
  Bytes extensions;
  bool has_server_name = false;
  std::string_view server_name;  // the first host name
  bool has_protocols = false;
  Bytes protocols;  // the ALPN protocols, for for_each_protocol()
  Numbers signature_algorithms;
  Numbers supported_versions;

  // Returns the highest offered version, ignoring GREASE.
  uint16_t version() const;
};

// A ServerHello, the server's choice (RFC 8446 section 4.1.3).
struct ServerHello {
  uint16_t version = 0;
  uint16_t cipher_suite = 0;
  bool is_retry = false;      // HelloRetryRequest: another ClientHello will follow
  std::string_view protocol;  // the ALPN protocol; encrypted with TLS 1.3
};

// Reads a whole handshake message without its four-byte header. Returns false if it is malformed.
bool read(Bytes body, ClientHello* hello);
bool read(Bytes body, ServerHello* hello);

// Returns "1.3" (also for drafts of TLS 1.3), "1.2", "1.1", "1.0", "ssl3" or, for other values, "".
std::string_view name_of_version(uint16_t version);

}  // namespace tapline::tls
