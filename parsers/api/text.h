#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tapline {

// Makes text from the network readable: percent-encodes it unless it is all readable UTF-8. Unreadable bytes are those
// of control characters (C0, DEL, C1), invisible and directional format characters, line separators, and invalid UTF-8.
// The rule, which docs/reference/texts.md explains to users:
//
//   full(t)   each unreadable byte as %XX, in capitals, and each % as %25; all else unchanged
//   coded(t)  t contains a %, and equals full(u) for some u
//   shown(t)  full(t) if t is partly unreadable or coded, else t
//
// shown() is injective: coded(shown(t)) shows which case applies, and percent-decoding undoes full(). Most text that
// already contains escapes stays unchanged: /caf%C3%A9 is not full() of any text, since é is readable.
enum class LineBreaks : uint8_t { kEncode, kKeep };  // kKeep: for statements, leaves tab, LF and CR unchanged

namespace text_detail {
bool must_encode(std::string_view text, LineBreaks line_breaks);

// Returns true if all eight bytes are printable ASCII other than %.
inline bool is_plain(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  const auto has_zero = [](uint64_t x) { return ((x - kOnes) & ~x & kHigh) != 0; };
  const bool control = ((word - kOnes * 0x20) & ~word & kHigh) != 0;
  return (word & kHigh) == 0 && !control && !has_zero(word ^ kOnes * 0x7f) && !has_zero(word ^ kOnes * '%');
}
}  // namespace text_detail

// Returns true if shown(text) differs from the text. Reads eight bytes at a time, since it runs on every string of
// every tuple.
inline bool must_encode(std::string_view text, LineBreaks line_breaks) {
  const char* bytes = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    if (!text_detail::is_plain(word)) return text_detail::must_encode(text, line_breaks);
  }
  uint64_t word = 0x2020202020202020;
  if (left > 0) std::memcpy(&word, bytes, left);
  return !text_detail::is_plain(word) && text_detail::must_encode(text, line_breaks);
}

// Appends full(text). REQUIRES: must_encode().
void append_encoded(std::string_view text, LineBreaks line_breaks, std::string* out);

// Returns the text in a form that logs and terminals can show, as one line. Characters that are invisible, or that
// change the order or the lines of others, become escapes (/\u{202e}gpj.exe), and bytes that are not UTF-8 become
// U+FFFD. The escaped characters are Unicode's controls, formats, line and paragraph separators, and the characters
// that renderers omit by default. Java and TypeScript have the same table; schema/golden/readable_text.json ensures
// that all three are the same. Unlike that of shown(), this escaping can't be undone.
std::string readable_text(std::string_view text);

// Does the same as readable_text(), but keeps line feeds and tabs.
std::string readable_lines(std::string_view text);

}  // namespace tapline
