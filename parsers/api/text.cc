#include "parsers/api/text.h"

#include <algorithm>
#include <array>

namespace tapline {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

struct Range {
  uint32_t first, last;
};
// Of Unicode's control and format characters and separators, those that terminals and browsers act upon unseen.
constexpr std::array<Range, 10> kUnreadable = {{{0x00, 0x1f},
                                                {0x7f, 0x9f},
                                                {0x61c, 0x61c},        // Arabic letter mark
                                                {0x180e, 0x180e},      // Mongolian vowel separator
                                                {0x200b, 0x200f},      // zero-width, directional marks
                                                {0x2028, 0x202e},      // line separators, embeddings, overrides
                                                {0x2060, 0x206f},      // joiners, isolates
                                                {0xfeff, 0xfeff},      // byte order mark
                                                {0xfff9, 0xfffb},      // interlinear annotation
                                                {0xe0000, 0xe007f}}};  // tags

struct Character {
  size_t bytes;
  bool readable;
};

bool is_readable(uint32_t point, LineBreaks line_breaks) {
  if (line_breaks == LineBreaks::kKeep && (point == '\t' || point == '\n' || point == '\r')) return true;
  return std::none_of(kUnreadable.begin(), kUnreadable.end(),
                      [&](const Range& range) { return range.first <= point && point <= range.last; });
}

// The UTF-8 sequence (RFC 3629 section 4) at the front, or one byte that begins none. REQUIRES: not empty.
Character next_character(std::string_view text, LineBreaks line_breaks) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {1, is_readable(first, line_breaks)};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {1, false};
  uint32_t point = first & (0xffu >> (bytes + 1));
  for (const char c : text.substr(1, bytes - 1)) {
    if ((static_cast<uint8_t>(c) & 0xc0) != 0x80) return {1, false};
    point = point << 6 | (static_cast<uint8_t>(c) & 0x3fu);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  if (overlong || surrogate || point > 0x10ffff) return {1, false};
  return {bytes, is_readable(point, line_breaks)};
}

bool is_readable(std::string_view text, LineBreaks line_breaks) {
  while (!text.empty()) {
    const Character character = next_character(text, line_breaks);
    if (!character.readable) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

void append_escape(char c, std::string* out) {
  const auto byte = static_cast<uint8_t>(c);
  out->push_back('%');
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 15]);
}

// The byte that "%XX" at the front stands for. False: there is none.
bool read_escape(std::string_view text, char* byte) {
  if (text.size() < 3 || text[0] != '%') return false;
  const size_t high = kDigits.find(text[1]), low = kDigits.find(text[2]);
  if (high == std::string_view::npos || low == std::string_view::npos) return false;
  *byte = static_cast<char>(high << 4 | low);
  return true;
}

// Every % begins an escape that full() writes, and what they stand for is unreadable, or a %, where it stands.
bool is_coded(std::string_view text, LineBreaks line_breaks) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char byte = text[i];
    if (byte == '%') {
      if (!read_escape(text.substr(i), &byte)) return false;
      const bool readable = static_cast<uint8_t>(byte) < 0x80 && is_readable(static_cast<uint8_t>(byte), line_breaks);
      if (readable && byte != '%') return false;
      i += 2;
    }
    decoded.push_back(byte);
  }
  if (decoded.size() == text.size()) return false;
  std::string again;
  append_encoded(decoded, line_breaks, &again);
  return again == text;
}

}  // namespace

bool text_detail::must_encode(std::string_view text, LineBreaks line_breaks) {
  return !is_readable(text, line_breaks) || is_coded(text, line_breaks);
}

void append_encoded(std::string_view text, LineBreaks line_breaks, std::string* out) {
  while (!text.empty()) {
    const Character character = next_character(text, line_breaks);
    const std::string_view bytes = text.substr(0, character.bytes);
    if (character.readable && bytes != "%") {
      out->append(bytes);
    } else {
      for (const char c : bytes) append_escape(c, out);
    }
    text.remove_prefix(character.bytes);
  }
}

}  // namespace tapline
