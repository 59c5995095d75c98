// Reads HTTP/1.1 requests that ask for HTTP/2 by "Upgrade: h2c" (RFC 7540 section 3.2).
#pragma once

#include <cstdint>
#include <string_view>

namespace tapline::http2 {

struct UpgradeHead {
  std::string_view method, path, host;
  uint32_t body_bytes = 0;
};

// Reads a whole request head, up to and including its empty line. Returns false if it does not ask for HTTP/2.
bool read_upgrade(std::string_view head, UpgradeHead* upgrade);

// Returns true if the bytes may begin an HTTP/1.1 request.
bool begins_like_request(std::string_view bytes);

}  // namespace tapline::http2
