#include "monitors/output/json_text.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cmath>

namespace tapline {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr char kHexDigits[] = "0123456789abcdef";

bool is_plain(uint8_t byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

// Returns the length of the UTF-8 sequence of two to four bytes at the beginning of `text`, or 0 if there is none.
// Overlong forms, surrogates and numbers above U+10FFFF are invalid (RFC 3629 section 4).
size_t sequence_length(std::string_view text) {
  auto byte_at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  uint8_t first = byte_at(0), second = byte_at(1);
  if (!is_continuation(second)) return 0;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) {
    bool valid = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0);
    return valid && is_continuation(byte_at(2)) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool valid = (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
    return valid && is_continuation(byte_at(2)) && is_continuation(byte_at(3)) ? 4 : 0;
  }
  return 0;
}

void append_escape(uint8_t byte, std::string* out) {
  switch (byte) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      out->append("\\u00");
      out->push_back(kHexDigits[byte >> 4]);
      out->push_back(kHexDigits[byte & 15]);
  }
}

template <typename Number>
void append_chars(Number value, std::string* out) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out->append(text.data(), end);
}

}  // namespace

void append_json_string(std::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<uint8_t>(text[plain]))) ++plain;
    out->append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    auto byte = static_cast<uint8_t>(text[0]);
    size_t taken = 1;
    if (byte < 0x80) {
      append_escape(byte, out);
    } else if (size_t length = sequence_length(text); length > 0) {
      out->append(text.substr(0, length));
      taken = length;
    } else {
      out->append(kReplacement);
    }
    text.remove_prefix(taken);
  }
  out->push_back('"');
}

void append_number(uint64_t value, std::string* out) { append_chars(value, out); }
void append_number(int64_t value, std::string* out) { append_chars(value, out); }

void append_number(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  append_chars(value, out);
}

void append_hex(uint64_t value, int digits, std::string* out) {
  for (int i = digits - 1; i >= 0; --i) out->push_back(kHexDigits[value >> 4 * i & 15]);
}

void append_address(const IpAddress& address, std::string* out) {
  auto bytes = address.bytes();
  if (bytes.size() != 4) {
    std::array<char, INET6_ADDRSTRLEN> text;
    out->append(inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()));
    return;
  }
  for (int i = 0; i < 4; ++i) {
    if (i > 0) out->push_back('.');
    append_number(uint64_t{bytes[i]}, out);
  }
}

}  // namespace tapline
