#include "parsers/kafka_request/message.h"

#include <algorithm>

#include "parsers/api/bytes.h"

namespace tapline::kafka {
namespace {

constexpr size_t kFixedBytes = 14;  // up to the client id's text
// Versions up to this many above the known ones are accepted, since newer brokers use them.
constexpr int16_t kNewerVersions = 4;
constexpr int16_t kMaxClientIdBytes = 512;

int16_t int16_at(std::string_view bytes, size_t offset) {
  return static_cast<int16_t>(big_endian_16(reinterpret_cast<const uint8_t*>(bytes.data()) + offset));
}

bool is_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) >= 0x20 && c != 0x7f; });
}

// Returns the offset after the tagged fields, which are almost always empty (one byte of 0). Returns 0 for others,
// which are not parsed, so the data after them are not found.
size_t behind_tags(std::string_view bytes, size_t offset) {
  return offset < bytes.size() && bytes[offset] == 0 ? offset + 1 : 0;
}

}  // namespace

uint32_t message_bytes(std::string_view bytes) {
  const uint32_t length = big_endian_32(reinterpret_cast<const uint8_t*>(bytes.data()));
  return length > kMaxResponseBytes ? UINT32_MAX : length + kLengthBytes;
}

int32_t int32_at(std::string_view bytes, size_t offset) {
  return static_cast<int32_t>(big_endian_32(reinterpret_cast<const uint8_t*>(bytes.data()) + offset));
}

ParseResult parse_request(std::string_view bytes, RequestHead* head, size_t* wanted) {
  *wanted = kFixedBytes;
  if (bytes.size() >= kLengthBytes) {
    head->bytes = message_bytes(bytes);
    // The header of ControlledShutdown version 0 has no client id.
    if (head->bytes > kMaxRequestBytes || head->bytes < kFixedBytes - 2) return ParseResult::kNone;
    *wanted = std::min<size_t>(head->bytes, kFixedBytes);
  }
  if (bytes.size() < *wanted) return ParseResult::kMore;
  head->key = int16_at(bytes, 4);
  head->version = int16_at(bytes, 6);
  head->correlation_id = int32_at(bytes, 8);
  head->api = api_of(head->key);
  if (head->api == nullptr || head->version < 0 || head->version > head->api->latest + kNewerVersions)
    return ParseResult::kNone;
  head->client_id = {};
  head->head_bytes = 12;
  if (head->key == kControlledShutdownKey && head->version == 0) return ParseResult::kRequest;
  if (head->bytes < kFixedBytes) return ParseResult::kNone;
  const int16_t length = int16_at(bytes, 12);
  if (length < -1 || length > kMaxClientIdBytes) return ParseResult::kNone;
  const size_t text_bytes = length < 0 ? 0 : static_cast<size_t>(length);
  const bool flexible = head->api->is_flexible(head->version);
  if (head->bytes < kFixedBytes + text_bytes + flexible) return ParseResult::kNone;
  *wanted = kFixedBytes + text_bytes + flexible;
  if (bytes.size() < *wanted) return ParseResult::kMore;
  head->client_id = bytes.substr(kFixedBytes, text_bytes);
  if (!is_text(head->client_id)) return ParseResult::kNone;
  head->head_bytes = kFixedBytes + text_bytes;
  if (flexible) head->head_bytes = behind_tags(bytes, head->head_bytes);
  return ParseResult::kRequest;
}

std::string_view response_body(std::string_view bytes, int16_t key, bool flexible) {
  if (bytes.size() < kResponseHeadBytes) return {};
  if (!flexible || key == kApiVersionsKey) return bytes.substr(kResponseHeadBytes);
  const size_t begin = behind_tags(bytes, kResponseHeadBytes);
  return begin == 0 ? std::string_view() : bytes.substr(begin);
}

}  // namespace tapline::kafka
