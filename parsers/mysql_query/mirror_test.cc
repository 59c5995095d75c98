// Tests captures as mirrors deliver them: with lost, late, repeated and cut segments, without the beginning, and in one
// direction only.
#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/mysql_query/dialogues.h"

namespace tapline::mysql_test {
namespace {

// Makes a dialogue in which each statement contains its number of rows, so that wrong pairs are detected.
Dialogue self_identifying() {
  return logged_in() + Dialogue{{true, prepare("SELECT 2 ?")},
                                {false, prepared(1, 1, 2)},
                                {true, query("SELECT 1 row")},
                                {false, result_set(1)},
                                {true, execute(1)},
                                {false, result_set(2)},
                                {true, query("SELECT 3 rows")},
                                {false, result_set(3)},
                                {true, query("SELECT 0; UPDATE")},
                                {false, ok(1, 2, 1)},
                                {true, query("SELECT 4 rows")},
                                {false, result_set(4)}};
}

bool is_right(const testing::Tuple& tuple) {
  if (!tuple["partial"].empty() || tuple["kind"] == "connect" || tuple["kind"] == "prepare") return true;
  const std::string& statement = tuple["statement"];
  if (statement == "-") return tuple["rows"] == "2" || tuple["rows"] == "-";  // its PREPARE was not seen
  // If rows were lost, the tuple does not contain the number of rows.
  const std::string rows = statement.substr(7, 1);
  return tuple["rows"] == rows || (tuple["cut"] == "true" && tuple["rows"] == "-");
}

TEST(MysqlQuery, NeverPairsWrongIfFramesAreLost) {
  for (const size_t cut : {1000u, 40u, 13u}) {
    const std::vector<Frame> frames = spoken(self_identifying(), cut, true).close().frames();
    for (size_t first = 0; first < frames.size(); ++first) {
      for (size_t second = first; second < std::min(frames.size(), first + 9); ++second) {
        std::vector<Frame> left = frames;
        if (second != first) left.erase(left.begin() + static_cast<ptrdiff_t>(second));
        left.erase(left.begin() + static_cast<ptrdiff_t>(first));
        Harness run({"mysql_query"});
        run.all(left);
        for (const testing::Tuple& tuple : run.tuples()) {
          EXPECT_TRUE(is_right(tuple)) << first << ", " << second << " lost, cut at " << cut << ": "
                                       << tuple["statement"] << " " << tuple["rows"];
        }
      }
    }
  }
}

TEST(MysqlQuery, ALostSegmentAffectsOnlyItsTransaction) {
  const Dialogue dialogue = self_identifying();
  const std::vector<Frame> frames = spoken(dialogue).client_ack().close().frames();
  const Lines expected = parse(frames);
  ASSERT_EQ(expected.size(), 7u);
  for (size_t lost = 3 + 3; lost < 3 + dialogue.size(); ++lost) {
    std::vector<Frame> left = frames;
    left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
    Lines whole_lines;
    for (const std::string& line : parse(left)) {
      if (!line.ends_with("request") && !line.ends_with("response")) whole_lines.push_back(line);
    }
    Lines other_lines = expected;
    other_lines.erase(other_lines.begin() + 1 + static_cast<ptrdiff_t>((lost - 6) / 2));
    // Without the prepare, the text of the statement is unknown. If only the response to it is lost, the text is found,
    // since the statement's ID must be the next one.
    if (lost == 6) other_lines[2] = "execute - ok 0 2 1 ";
    EXPECT_EQ(whole_lines, other_lines) << lost;
  }
}

TEST(MysqlQuery, LateAndRepeatedSegmentsHaveNoEffect) {
  for (const size_t cut : {1000u, 40u}) {
    const std::vector<Frame> frames = spoken(self_identifying(), cut, true).close().frames();
    Lines expected = parse(frames);
    ASSERT_EQ(expected.size(), 7u);
    std::sort(expected.begin(), expected.end());
    for (size_t original = 3; original < frames.size(); ++original) {
      for (size_t places = 1; places <= 3 && original + places < frames.size(); ++places) {
        std::vector<Frame> moved_frames = frames;
        std::rotate(moved_frames.begin() + static_cast<ptrdiff_t>(original),
                    moved_frames.begin() + static_cast<ptrdiff_t>(original) + 1,
                    moved_frames.begin() + static_cast<ptrdiff_t>(original + places) + 1);
        Lines late_lines = parse(moved_frames);
        std::sort(late_lines.begin(), late_lines.end());
        EXPECT_EQ(late_lines, expected) << original << " late by " << places << ", cut at " << cut;
        std::vector<Frame> more_frames = frames;
        more_frames.insert(more_frames.begin() + static_cast<ptrdiff_t>(original + places), frames[original]);
        Lines doubled = parse(more_frames);
        std::sort(doubled.begin(), doubled.end());
        EXPECT_EQ(doubled, expected) << original << " again after " << places << ", cut at " << cut;
      }
    }
  }
}

TEST(MysqlQuery, JoinsInMidStream) {
  const Dialogue dialogue = self_identifying();
  const std::vector<Frame> frames = spoken(dialogue).close().frames();
  const Lines expected = parse(frames);
  for (size_t skipped = 3; skipped < frames.size() - 4; ++skipped) {
    const std::vector<Frame> left(frames.begin() + static_cast<ptrdiff_t>(skipped), frames.end());
    const Lines lines = parse(left);
    const size_t whole = (3 + dialogue.size() - skipped) / 2;
    Lines last(expected.end() - static_cast<ptrdiff_t>(whole), expected.end());
    for (std::string& line : last) {
      if (skipped > 6 && line.starts_with("execute")) line = "execute - ok 0 2 1 ";
    }
    ASSERT_GE(lines.size(), last.size()) << skipped;
    EXPECT_EQ(Lines(lines.end() - static_cast<ptrdiff_t>(last.size()), lines.end()), last) << skipped;
  }
}

// The login, which determines whether EOF packets are sent, was not captured; the first response that has columns or
// parameters shows it.
TEST(MysqlQuery, EofPacketsAreGuessedInMidStream) {
  for (const bool eof_packets : {true, false}) {
    const Dialogue dialogue = {{true, prepare("SELECT ?")},  {false, prepared(1, 1, 0, eof_packets)},
                               {true, prepare("SELECT ??")}, {false, prepared(2, 2, 3, eof_packets)},
                               {true, query("SELECT 1")},    {false, result_set(1, eof_packets)},
                               {true, execute(1)},           {false, result_set(0, eof_packets)},
                               {true, execute(2)},           {false, result_set(2, eof_packets)}};
    EXPECT_EQ(parse(spoken(dialogue, SIZE_MAX, false, false).frames()),
              (Lines{"prepare SELECT ? ok 0 0 0 ", "prepare SELECT ?? ok 0 0 0 ", "query SELECT 1 ok 0 1 1 ",
                     "execute SELECT ? ok 0 0 1 ", "execute SELECT ?? ok 0 2 1 "}))
        << eof_packets;
  }
}

TEST(MysqlQuery, OneWayCaptures) {
  const std::vector<Frame> frames = spoken(self_identifying()).close().frames();
  std::vector<Frame> requests, answered;
  for (const Frame& frame : frames) (frame.bytes[14 + 15] == 1 ? requests : answered).push_back(frame);
  EXPECT_EQ(parse(requests), (Lines{"connect  - - - - request", "prepare SELECT 2 ? - - - - request",
                                    "query SELECT 1 row - - - - request", "execute SELECT 2 ? - - - - request",
                                    "query SELECT 3 rows - - - - request", "query SELECT 0; UPDATE - - - - request",
                                    "query SELECT 4 rows - - - - request"}));
  EXPECT_EQ(parse(answered),
            (Lines{"- - ok 0 0 0 response", "- - ok 0 0 0 response", "- - ok 0 1 1 response", "- - ok 0 2 1 response",
                   "- - ok 0 3 1 response", "- - ok 0 0 1 response", "- - ok 0 4 1 response"}));
}

TEST(MysqlQuery, LostRowsAreReported) {
  const Dialogue dialogue =
      logged_in() +
      Dialogue{{true, query("SELECT a")}, {false, result_set(1000)}, {true, query("SELECT b")}, {false, result_set(2)}};
  std::vector<Frame> frames = spoken(dialogue, 1000, true).close().frames();
  frames.erase(frames.begin() + 12);  // of 16
  Harness run({"mysql_query"});
  run.all(frames);
  ASSERT_EQ(run.tuples().size(), 3u);
  EXPECT_EQ(run.lines({"statement", "cut", "partial"}), (Lines{" false ", "SELECT a true ", "SELECT b false "}));
  EXPECT_EQ(run.tuples()[1]["rows"], "-");
  // The response's end is unknown, and so are its size and time.
  EXPECT_EQ(run.tuples()[1]["response_bytes"], "-");
  EXPECT_EQ(run.tuples()[1]["response_time_ns"], "-");
}

TEST(MysqlQuery, SnaplenCutsPackets) {
  std::vector<Frame> frames = spoken(self_identifying()).close().frames();
  for (Frame& frame : frames) {
    frame.wire_bytes = static_cast<uint32_t>(frame.bytes.size());
    if (frame.bytes.size() > 84) frame.bytes.resize(84);
  }
  EXPECT_EQ(parse(frames, {"kind", "status", "partial"}),
            (Lines{"connect ok ", "prepare ok ", "query - ", "execute - ", "query - ", "query ok ", "query - "}));
}

TEST(MysqlQuery, AWrongLengthAffectsFewTransactions) {
  const Dialogue dialogue = self_identifying();
  for (const size_t wrong : {6u, 7u, 8u, 9u, 10u, 11u}) {
    Dialogue changed_dialogue = dialogue;
    changed_dialogue[wrong].bytes[2] = '\x7f';
    const Lines lines = parse(changed_dialogue);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "query SELECT 4 rows ok 0 4 1 "), 1) << wrong;
  }
}

}  // namespace
}  // namespace tapline::mysql_test
