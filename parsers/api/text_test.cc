#include "parsers/api/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace tapline {
namespace {

std::string full(std::string_view text, LineBreaks line_breaks) {
  std::string encoded;
  append_encoded(text, line_breaks, &encoded);
  return encoded;
}

std::string shown(std::string_view text, LineBreaks line_breaks = LineBreaks::kEncode) {
  return must_encode(text, line_breaks) ? full(text, line_breaks) : std::string(text);
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && isxdigit(text[i + 1]) && isxdigit(text[i + 2]);
    decoded.push_back(escape ? static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)) : text[i]);
    i += escape ? 2 : 0;
  }
  return decoded;
}

// Decodes as docs/reference/texts.md describes.
std::string sent(std::string_view text, LineBreaks line_breaks = LineBreaks::kEncode) {
  const std::string decoded = percent_decoded(text);
  const bool coded = decoded != text && full(decoded, line_breaks) == text;
  return coded ? decoded : std::string(text);
}

TEST(Text, ReadableTextsStayAsTheyAre) {
  for (const char* text : {"", "/", "/index.html?a=b%20c", "/caf\xc3\xa9", "/caf%C3%A9", "100%", "%zz", "%0a", "%41",
                           "LIKE '%a%'", "\xf0\x9f\x98\x80", "/a%20%01", "user:17", "a longer text without anything"}) {
    EXPECT_EQ(shown(text), text);
  }
}

TEST(Text, UnreadableBytesArePercentEncoded) {
  EXPECT_EQ(shown("/a\x01"
                  "b"),
            "/a%01b");
  EXPECT_EQ(shown("/a\x7f"), "/a%7F");
  EXPECT_EQ(shown(std::string("/a\0b", 4)), "/a%00b");
  EXPECT_EQ(shown("/\xff\xc3"), "/%FF%C3");
  EXPECT_EQ(shown("/50%\x01"), "/50%25%01");
  EXPECT_EQ(shown("/caf\xc3\xa9\n"), "/caf\xc3\xa9%0A");
  EXPECT_EQ(shown("\xc0\xaf"), "%C0%AF") << "overlong";
  EXPECT_EQ(shown("\xed\xa0\x80"), "%ED%A0%80") << "a surrogate";
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "%F4%90%80%80") << "beyond Unicode";
  EXPECT_EQ(shown("exe.\xe2\x80\xae"
                  "fdp"),
            "exe.%E2%80%AEfdp")
      << "right-to-left override";
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "%C2%9B31m")
      << "a terminal's control sequence";
  EXPECT_EQ(shown("an eight-byte word and one\t"), "an eight-byte word and one%09");
}

TEST(Text, TextsThatLookEncodedAreEncoded) {
  EXPECT_EQ(shown("/a%01b"), "/a%2501b");
  EXPECT_EQ(shown("/a%2501b"), "/a%252501b");
  EXPECT_EQ(shown("%25"), "%2525");
  EXPECT_EQ(shown("%FF"), "%25FF");
}

TEST(Text, StatementsKeepTheirLineBreaks) {
  const char* statement = "SELECT *\r\n\tFROM item WHERE name LIKE '%a%'";
  EXPECT_EQ(shown(statement, LineBreaks::kKeep), statement);
  EXPECT_EQ(shown("SELECT\n1\x01", LineBreaks::kKeep), "SELECT\n1%01");
  EXPECT_EQ(shown("%0A", LineBreaks::kKeep), "%0A");
  EXPECT_EQ(shown("%0A", LineBreaks::kEncode), "%250A");
}

// Tests all strings of up to four relevant characters, and random strings: each is shown readably and unambiguously,
// and decodes to the original.
TEST(Text, EveryTextCanBeDecoded) {
  const std::string alphabet = {'a', '%', '0', '1', '2', '5', 'A', 'C', '3', '9', '\n', '\x01', '\xc3', '\xa9', '\x80'};
  for (const LineBreaks line_breaks : {LineBreaks::kEncode, LineBreaks::kKeep}) {
    const auto check = [&](const std::string& text) {
      const std::string text_shown = shown(text, line_breaks);
      ASSERT_EQ(sent(text_shown, line_breaks), text);
      for (const char c : text_shown) {
        const bool line_break = line_breaks == LineBreaks::kKeep && (c == '\t' || c == '\n' || c == '\r');
        ASSERT_TRUE(static_cast<uint8_t>(c) >= 0x20 || line_break);
      }
    };
    std::vector<std::string> texts = {""};
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string text = texts[i];
      check(text);
      if (text.size() == 4) continue;
      for (const char c : alphabet) texts.push_back(text + c);
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 200'000; ++i) {
      std::string text(random() % 24, ' ');
      for (char& c : text) c = random() % 4 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
      check(text);
    }
  }
}

nlohmann::json golden() {
  std::ifstream file(TAPLINE_SOURCE_DIR "/schema/golden/readable_text.json");
  return nlohmann::json::parse(file);
}

// Java and TypeScript have the same tests.
TEST(ReadableText, ShowsGoldenCases) {
  const nlohmann::json cases = golden()["cases"];
  ASSERT_GT(cases.size(), 10u);
  for (const auto& test_case : cases) {
    const auto text = test_case["text"].get<std::string>(), shown = test_case["shown"].get<std::string>();
    EXPECT_EQ(readable_text(text), shown);
    EXPECT_EQ(readable_text(shown), shown);
  }
}

std::string utf8(uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(ReadableText, EscapesJustTheGoldenRanges) {
  std::vector<bool> escaped(0x110000);
  const nlohmann::json ranges = golden()["ranges"];
  for (const auto& range : ranges) {
    const auto end = [&](int i) { return std::stoul(range[i].get<std::string>(), nullptr, 16); };
    for (size_t point = end(0); point <= end(1); ++point) escaped[point] = true;
  }
  for (uint32_t point = 0; point < escaped.size(); ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;  // surrogates, which UTF-8 excludes
    std::ostringstream escape;
    escape << "\\u{" << std::hex << point << "}";
    ASSERT_EQ(readable_text(utf8(point)), escaped[point] ? escape.str() : utf8(point));
  }
}

TEST(ReadableText, KeepsLineFeedsAndTabsOfLines) {
  EXPECT_EQ(readable_lines("a\u202e\r\n\n\tb\n"), "a\\u{202e}\\u{d}\n\n\tb\n");
}

TEST(ReadableText, ReplacesEachInvalidByte) {
  EXPECT_EQ(readable_text("\xff\xe2\x80."), "\ufffd\ufffd\ufffd.");
  EXPECT_EQ(readable_text("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
}

}  // namespace
}  // namespace tapline
