#include "parsers/api/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace tapline {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

struct Range {
  uint32_t first, last;
};
// Unicode's control characters, format characters and separators, which are invisible but affect terminals and
// browsers.
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

// The characters that readable_text() escapes.
constexpr std::array<Range, 28> kEscaped = {
    {{0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},
     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
     {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
     {0x2060, 0x206f},   {0x3164, 0x3164},   {0xd800, 0xdfff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
     {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
     {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}}};

struct Character {
  size_t bytes;
  bool readable;
  uint32_t point;  // set if the sequence is valid UTF-8
  bool utf8 = true;
};

constexpr Character kNoCharacter = {1, false, 0, false};

bool contains(const auto& ranges, uint32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.first <= point && point <= range.last; });
}

bool is_readable(uint32_t point, LineBreaks line_breaks) {
  if (line_breaks == LineBreaks::kKeep && (point == '\t' || point == '\n' || point == '\r')) return true;
  return !contains(kUnreadable, point);
}

// Returns the UTF-8 sequence (RFC 3629 section 4) at the beginning, or a single byte if no valid sequence begins there.
// REQUIRES: the text is not empty.
Character next_character(std::string_view text, LineBreaks line_breaks) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {1, is_readable(first, line_breaks), first};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return kNoCharacter;
  uint32_t point = first & (0xffu >> (bytes + 1));
  for (const char c : text.substr(1, bytes - 1)) {
    if ((static_cast<uint8_t>(c) & 0xc0) != 0x80) return kNoCharacter;
    point = point << 6 | (static_cast<uint8_t>(c) & 0x3fu);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  if (overlong || surrogate || point > 0x10ffff) return kNoCharacter;
  return {bytes, is_readable(point, line_breaks), point};
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

// Decodes the "%XX" at the beginning. Returns false if there is none.
bool read_escape(std::string_view text, char* byte) {
  if (text.size() < 3 || text[0] != '%') return false;
  const size_t high = kDigits.find(text[1]), low = kDigits.find(text[2]);
  if (high == std::string_view::npos || low == std::string_view::npos) return false;
  *byte = static_cast<char>(high << 4 | low);
  return true;
}

// Returns true if the text is coded (see text.h): it contains escapes, and encoding the decoded text gives this text
// again.
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
  std::string encoded;
  append_encoded(decoded, line_breaks, &encoded);
  return encoded == text;
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string readable;
  while (!text.empty()) {
    const Character character = next_character(text, LineBreaks::kEncode);
    const std::string_view bytes = text.substr(0, character.bytes);
    if (!character.utf8) {
      readable += "\xef\xbf\xbd";
    } else if (contains(kEscaped, character.point) && kept.find(bytes) == std::string_view::npos) {
      char digits[16];
      const auto end = std::to_chars(std::begin(digits), std::end(digits), character.point, 16).ptr;
      readable.append("\\u{").append(digits, end).append("}");
    } else {
      readable += bytes;
    }
    text.remove_prefix(character.bytes);
  }
  return readable;
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

std::string readable_text(std::string_view text) { return escaped(text, ""); }

std::string readable_lines(std::string_view text) { return escaped(text, "\n\t"); }

}  // namespace tapline
