// Writes Ethernet frames with IPv4 and TCP or UDP, including checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapline::traffic {

inline constexpr size_t kMaxFrameBytes = 1514;

enum TcpFlags : uint8_t { kFin = 1, kSyn = 2, kRst = 4, kPsh = 8, kAck = 16 };

// One side of a connection or flow.
struct Endpoint {
  uint32_t address = 0;
  uint16_t port = 0;
};

// Writes a frame with a TCP segment to `out`, which has room for kMaxFrameBytes. Returns its length.
// REQUIRES: payload.size() <= 1460.
size_t write_frame(const Endpoint& from, const Endpoint& to, uint32_t sequence, uint32_t acknowledgement, uint8_t flags,
                   std::string_view payload, uint8_t* out);

// Does the same for a UDP datagram with a differentiated services code point (DSCP, RFC 2474, 0 to 63).
// REQUIRES: payload.size() <= 1472.
size_t write_datagram(const Endpoint& from, const Endpoint& to, uint8_t code_point, std::string_view payload,
                      uint8_t* out);

}  // namespace tapline::traffic
