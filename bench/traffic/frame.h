// Ethernet frames with IPv4 and TCP, checksums included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapline::traffic {

inline constexpr size_t kMostFrameBytes = 1514;

enum TcpFlags : uint8_t { kFin = 1, kSyn = 2, kRst = 4, kPsh = 8, kAck = 16 };

// One side of a connection.
struct End {
  uint32_t address = 0;
  uint16_t port = 0;
};

// Writes the frame to `out`, which has room for kMostFrameBytes, and returns its length.
// REQUIRES: payload.size() <= 1460.
size_t write_frame(const End& from, const End& to, uint32_t sequence, uint32_t acknowledgement, uint8_t flags,
                   std::string_view payload, uint8_t* out);

}  // namespace tapline::traffic
