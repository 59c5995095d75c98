#include "parsers/transactions/unit_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tapline {
namespace {

using Events = std::vector<std::string>;

// A line-based protocol. "+n" precedes n bytes that are not examined, and "=4abcd" is a unit that has a length
// instead of a line end.
class Lines {
 public:
  Unit on_unit(Side /*side*/, std::string_view bytes, const Segment& first) {
    ++looks;
    if (bytes[0] == '!') return Unit::none();
    if (bytes[0] == '=') {
      if (bytes.size() < 2) return Unit::more(2);
      const size_t length = 2 + static_cast<size_t>(bytes[1] - '0');
      if (bytes.size() < length) return Unit::more(length);
      return make_unit(bytes.substr(0, length), first, 0);
    }
    const size_t end = reader.line_end(bytes);
    if (end == std::string_view::npos) return Unit::more();
    if (bytes[0] == '#') {
      make_unit(bytes.substr(0, end), first, 0);
      return Unit::opaque(end);
    }
    return make_unit(bytes.substr(0, end), first,
                     bytes[0] == '+' ? static_cast<uint64_t>(std::stoi(std::string(bytes.substr(1, end - 1)))) : 0);
  }
  void on_skipped(Side /*side*/, uint64_t end_offset, int64_t time_ns) {
    events.push_back("skipped to " + std::to_string(end_offset));
    skipped_ns = time_ns;
  }
  Unit on_cut(Side /*side*/, std::string_view bytes, const Segment& /*first*/, bool in_packet) {
    events.push_back("cut " + std::string(bytes) + (in_packet ? " in packet" : ""));
    if (bytes.size() < 2 || bytes[0] != '=') return Unit::none();
    return Unit::taken(bytes.size(), 2 + static_cast<size_t>(bytes[1] - '0') - bytes.size());
  }
  bool may_resume(Side /*side*/, std::string_view bytes) { return bytes[0] == '>'; }
  void on_hidden(Side /*side*/, uint64_t hidden_offset) {
    events.push_back("hidden at " + std::to_string(hidden_offset));
  }
  void on_too_long(Side /*side*/) { events.push_back("too long"); }

  UnitReader::Verdict read(std::string_view text) {
    const Segment segment = {now_ns += 10, offset, 0, true};
    offset += text.size();
    return reader.read({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, segment, *this);
  }
  Lines& gap(uint64_t bytes, int64_t later_ns = 10) {
    reader.gap(bytes, {now_ns += later_ns, offset, 0, true}, *this);
    offset += bytes;
    return *this;
  }

  UnitReader reader{0, 100};
  Events events;
  int64_t now_ns = 0, skipped_ns = 0;
  uint64_t offset = 0;
  uint32_t looks = 0;

 private:
  Unit make_unit(std::string_view unit, const Segment& first, uint64_t skip) {
    std::string text(unit);
    if (text.back() == '\n') text.pop_back();
    events.push_back(text + " at " + std::to_string(first.offset));
    return Unit::taken(unit.size(), skip);
  }
};

constexpr std::string_view kText = "a\nlonger line\n+5\nxxxxx=4abcd+2\n\n\n=0b\n";
const Events kEvents = {"a at 0",   "longer line at 2", "+5 at 14", "skipped to 22", "=4abcd at 22",
                        "+2 at 28", "skipped to 33",    "=0 at 33", "b at 35"};

TEST(UnitReader, EveryCutGivesTheSameUnits) {
  Lines whole_lines;
  whole_lines.read(kText);
  EXPECT_EQ(whole_lines.events, kEvents);
  for (size_t first = 1; first < kText.size(); ++first) {
    for (size_t second = first; second < kText.size(); ++second) {
      Lines cut_lines;
      cut_lines.read(kText.substr(0, first));
      if (second > first) cut_lines.read(kText.substr(first, second - first));
      cut_lines.read(kText.substr(second));
      EXPECT_EQ(cut_lines.events, kEvents) << "cut at " << first << " and " << second;
      EXPECT_EQ(cut_lines.reader.settled_offset(), kText.size());
    }
  }
  Lines bytes;
  for (const char c : kText) bytes.read({&c, 1});
  EXPECT_EQ(bytes.events, kEvents);
}

TEST(UnitReader, RescansOnlyWhenItCanHelp) {
  Lines lines;
  lines.read("=9");
  for (int i = 0; i < 9; ++i) lines.read("x");
  EXPECT_EQ(lines.events, Events{"=9xxxxxxxxx at 0"});
  EXPECT_EQ(lines.looks, 2u);
}

TEST(UnitReader, AnotherProtocol) {
  EXPECT_EQ(Lines().read("!"), UnitReader::Verdict::kNotMine);
  Lines late_lines;
  late_lines.read("a\n!b\n");
  late_lines.read("c\n");
  EXPECT_EQ(late_lines.read(">d\n"), UnitReader::Verdict::kFine);
  EXPECT_EQ(late_lines.events, (Events{"a at 0", "hidden at 2", ">d at 7"}));
}

TEST(UnitReader, GapsInSkippedBytesAreSkipped) {
  Lines lines;
  lines.read("+10\nxx");
  lines.gap(3).read("xxxxxa\n");
  EXPECT_EQ(lines.events, (Events{"+10 at 0", "skipped to 14", "a at 14"}));
  Lines all;
  all.read("+10\n");
  all.gap(10).read("a\n");
  EXPECT_EQ(all.events, (Events{"+10 at 0", "skipped to 14", "a at 14"}));
}

TEST(UnitReader, OtherGapsLoseSynchronization) {
  Lines lines;
  lines.read("+10\nxx");
  lines.gap(9).read("a\n");
  lines.read(">b\n");
  EXPECT_EQ(lines.events, (Events{"+10 at 0", "hidden at 15", ">b at 17"}));
  EXPECT_EQ(lines.reader.seek_bytes(), 2u);
}

TEST(UnitReader, ATruncatedUnitIsPassedOn) {
  Lines known_lines;
  known_lines.read("=8abc");
  known_lines.gap(5, 0).read("a\n");
  EXPECT_EQ(known_lines.events, (Events{"cut =8abc in packet", "skipped to 10", "a at 10"}));
  Lines unknown;
  unknown.read("abc");
  unknown.gap(5).read(">a\n");
  EXPECT_EQ(unknown.events, (Events{"cut abc", "hidden at 8", ">a at 8"}));
}

TEST(UnitReader, UnitsAreBounded) {
  Lines lines;
  for (int i = 0; i < 150; ++i) lines.read("x");
  EXPECT_EQ(lines.events, (Events{"too long", "hidden at 100"}));
  EXPECT_LE(lines.reader.memory_bytes(), UnitReader::kKeptBytes);
}

TEST(UnitReader, NothingIsReadAfterAnOpaqueMark) {
  Lines lines;
  lines.read("#x\n!!!\n");
  EXPECT_EQ(lines.read("a\n"), UnitReader::Verdict::kFine);
  EXPECT_EQ(lines.events, Events{"#x at 0"});
}

TEST(UnitReader, AGapOutOfStepIsReportedToo) {
  Lines lines;
  lines.reader.start_in_middle();
  lines.gap(7).read(">a\n");
  EXPECT_EQ(lines.events, (Events{"hidden at 7", ">a at 7"}));
}

TEST(UnitReader, JoinsInMidStream) {
  Lines lines;
  lines.reader.start_in_middle();
  lines.read("tail\n");
  lines.read(">a\nb\n");
  EXPECT_EQ(lines.events, (Events{">a at 5", "b at 8"}));
}

}  // namespace
}  // namespace tapline
