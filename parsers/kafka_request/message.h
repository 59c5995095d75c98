#pragma once

#include <cstdint>
#include <string_view>

#include "parsers/kafka_request/api.h"

namespace tapline::kafka {

// Layout in both directions: length (int32, excludes itself), then for requests api key (int16), version (int16),
// correlation id (int32), client id (int16 and text, or -1), tagged fields in flexible versions; for responses
// correlation id, and tagged fields in flexible versions of all but ApiVersions.
inline constexpr size_t kLengthBytes = 4, kResponseHeadBytes = 8;
// Messages are examined up to this length: header, acks, the first topic, the first errors.
inline constexpr size_t kLookedAtBytes = 1024;
// The broker's default limit for a request (socket.request.max.bytes). Responses may be as long as the client requests.
inline constexpr uint32_t kMaxRequestBytes = 100 << 20;
inline constexpr uint32_t kMaxResponseBytes = 1 << 30;

struct RequestHead {
  uint32_t bytes = 0;  // length of the message, with its length field
  int16_t key = 0;
  int16_t version = 0;
  int32_t correlation_id = 0;
  const Api* api = nullptr;
  std::string_view client_id = {};
  size_t head_bytes = 0;  // length up to the body; 0: the body's beginning was not found
};

enum class ParseResult : uint8_t { kMore, kRequest, kNone };

// Reads a request's header. kMore: this may become a request, but *wanted bytes are needed to decide.
ParseResult parse_request(std::string_view bytes, RequestHead* head, size_t* wanted);

// Returns the length of a message, with its length field; UINT32_MAX if it is above kMaxResponseBytes. REQUIRES:
// kLengthBytes readable bytes.
uint32_t message_bytes(std::string_view bytes);
int32_t int32_at(std::string_view bytes, size_t offset);

// Returns a response's body, after the correlation ID and tagged fields; empty if its beginning was not found.
std::string_view response_body(std::string_view bytes, int16_t key, bool flexible);

}  // namespace tapline::kafka
