#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/postgres_query/named_texts.h"
#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Dialogue;
using testing::Frame;
using testing::Harness;
using testing::Lines;

const std::vector<std::string> kFields = {"kind", "statement",     "status", "sqlstate",
                                          "rows", "affected_rows", "partial"};

std::string number(uint64_t value, int bytes) {
  std::string result;
  for (int i = bytes - 1; i >= 0; --i) result += static_cast<char>(i < 8 ? value >> 8 * i : 0);
  return result;
}
std::string text(const std::string& value) { return value + '\0'; }
std::string message(char type, const std::string& payload = "") {
  return type + number(payload.size() + 4, 4) + payload;
}

// Messages from the client.
std::string startup() {
  const std::string payload = number(196608, 4) + text("user") + text("eve") + '\0';
  return number(payload.size() + 4, 4) + payload;
}
const std::string kTlsRequest = number(8, 4) + number(80877103, 4);
const std::string kGssRequest = number(8, 4) + number(80877104, 4);
std::string query(const std::string& statement) { return message('Q', text(statement)); }
std::string parse(const std::string& statement, const std::string& name = "") {
  return message('P', text(name) + text(statement) + number(0, 2));
}
std::string bind(const std::string& name = "", const std::string& portal = "") {
  return message('B', text(portal) + text(name) + number(0, 2) + number(1, 2) + number(6, 4) + "SECRET" + number(0, 2));
}
std::string execute(const std::string& portal = "") { return message('E', text(portal) + number(0, 4)); }
std::string describe(char kind, const std::string& name = "") { return message('D', kind + text(name)); }
const std::string kSync = message('S'), kTerminate = message('X');

// Messages from the server.
const std::string kReady = message('Z', "I"), kParsed = message('1'), kBound = message('2'), kNoData = message('n');
std::string columns() { return message('T', number(1, 2) + text("id") + number(0, 18)); }
std::string rows(int count) {
  std::string result;
  for (int row = 0; row < count; ++row) result += message('D', number(1, 2) + number(5, 4) + "value");
  return result;
}
std::string done(const std::string& tag) { return message('C', text(tag)); }
std::string selected(int count) { return columns() + rows(count) + done("SELECT " + std::to_string(count)); }
std::string error(const std::string& code) {
  return message('E', text("SERROR") + text("VERROR") + text("C" + code) + text("Mno such thing") + '\0');
}
std::string notice() { return message('N', text("SNOTICE") + text("C00000") + '\0'); }
std::string parameter() { return message('S', text("TimeZone") + text("UTC")); }

Dialogue logged_in() {
  return {{true, startup()},
          {false, message('R', number(5, 4) + "salt")},
          {true, message('p', text("md5SECRET"))},
          {false, message('R', number(0, 4)) + parameter() + message('K', number(1, 8)) + kReady}};
}
const std::string kConnected = "connect  ok  0 0 ";

Conversation spoken(const Dialogue& dialogue, size_t cut = SIZE_MAX, bool repeatedly = false,
                    bool has_handshake = true) {
  return testing::spoken(dialogue, 5432, cut, repeatedly, has_handshake);
}

Lines parsed(const std::vector<Frame>& frames, const std::vector<std::string>& kind = kFields) {
  return Harness({"postgres_query"}).all(frames).lines(kind);
}
Lines parsed(const Dialogue& dialogue, const std::vector<std::string>& kind = kFields) {
  return parsed(spoken(dialogue).close().frames(), kind);
}

void expect_at_every_cut(const Dialogue& dialogue, const Lines& expected) {
  testing::expect_at_every_cut([](const auto& frames) { return parsed(frames); }, dialogue, 5432, expected);
}

TEST(PostgresQuery, SimpleQueries) {
  expect_at_every_cut(
      logged_in() + Dialogue{{true, query("SELECT 1")},
                             {false, selected(3) + kReady},
                             {true, query("UPDATE t SET a = 1; INSERT INTO t VALUES (1); SELECT 2")},
                             {false, done("UPDATE 4") + done("INSERT 0 1") + selected(1) + kReady},
                             {true, query("SELEC")},
                             {false, error("42601") + kReady},
                             {true, query("")},
                             {false, message('I') + kReady},
                             {true, query("SET TimeZone = 'UTC'")},
                             {false, notice() + done("SET") + parameter() + kReady},
                             {true, kTerminate}},
      {kConnected, "query SELECT 1 ok  3 0 ", "query UPDATE t SET a = 1; INSERT INTO t VALUES (1); SELECT 2 ok  1 5 ",
       "query SELEC error 42601 0 0 ", "query  ok  0 0 ", "query SET TimeZone = 'UTC' ok  0 0 ",
       "terminate  - - - - "});
}

TEST(PostgresQuery, ExtendedQueries) {
  expect_at_every_cut(
      logged_in() +
          Dialogue{// Parse, Bind and Execute are sent together, without a name.
                   {true, parse("SELECT $1") + bind() + describe('P') + execute() + kSync},
                   {false, kParsed + kBound + selected(2) + kReady},
                   // A statement is prepared, described, and then executed twice.
                   {true, parse("UPDATE t", "s1") + describe('S', "s1") + kSync},
                   {false, kParsed + message('t', number(0, 2)) + kNoData + kReady},
                   {true, bind("s1") + execute() + kSync},
                   {false, kBound + done("UPDATE 7") + kReady},
                   {true, bind("s1") + execute() + kSync},
                   {false, kBound + done("UPDATE 0") + kReady},
                   // The rows of a portal arrive in two parts.
                   {true, parse("SELECT x") + bind("", "c1") + execute("c1") + kSync},
                   {false, kParsed + kBound + rows(2) + message('s') + kReady},
                   {true, execute("c1") + kSync},
                   {false, rows(1) + done("SELECT 1") + kReady}},
      {kConnected, "execute SELECT $1 ok  2 0 ", "prepare UPDATE t ok  0 0 ", "execute UPDATE t ok  0 7 ",
       "execute UPDATE t ok  0 0 ", "execute SELECT x suspended  2 0 ", "execute SELECT x ok  1 0 "});
}

TEST(PostgresQuery, PipelinesWithErrors) {
  const std::string one = parse("SELECT 1") + bind() + execute(), bad = parse("SELECT bad") + bind() + execute(),
                    two = parse("SELECT 2") + bind() + execute();
  expect_at_every_cut(
      logged_in() + Dialogue{{true, one + bad + two + two + kSync + one + kSync},
                             {false, kParsed + kBound + rows(1) + done("SELECT 1") + error("42703") + kReady + kParsed +
                                         kBound + rows(1) + done("SELECT 1") + kReady}},
      {kConnected, "execute SELECT 1 ok  1 0 ", "execute SELECT bad error 42703 0 0 ", "execute SELECT 2 skipped  0 0 ",
       "execute SELECT 2 skipped  0 0 ", "execute SELECT 1 ok  1 0 "});
  // Bind and Execute may also fail.
  EXPECT_EQ(parsed(logged_in() +
                   Dialogue{{true, one + kSync}, {false, kParsed + kBound + rows(3) + error("57014") + kReady}})[1],
            "execute SELECT 1 error 57014 3 0 ");
  EXPECT_EQ(parsed(logged_in() + Dialogue{{true, one + kSync}, {false, kParsed + error("22P02") + kReady}})[1],
            "execute SELECT 1 error 22P02 0 0 ");
}

TEST(PostgresQuery, Copies) {
  const std::string data = message('d', "1\n") + message('d', std::string(2000, 'x')) + message('c');
  expect_at_every_cut(logged_in() + Dialogue{{true, query("COPY t FROM STDIN")},
                                             {false, message('G', number(0, 3))},
                                             {true, data},
                                             {false, done("COPY 2") + kReady},
                                             {true, query("COPY t TO STDOUT")},
                                             {false, message('H', number(0, 3)) + message('d', "1\n") +
                                                         message('d', "2\n") + message('c') + done("COPY 2") + kReady},
                                             {true, query("COPY t FROM STDIN")},
                                             {false, message('G', number(0, 3))},
                                             {true, message('f', text("no more"))},
                                             {false, error("57014") + kReady}},
                      {kConnected, "query COPY t FROM STDIN ok  0 2 ", "query COPY t TO STDOUT ok  2 2 ",
                       "query COPY t FROM STDIN error 57014 0 0 "});
}

TEST(PostgresQuery, ConnectionPhase) {
  expect_at_every_cut(Dialogue{{true, kTlsRequest}, {false, "N"}} + logged_in(), {kConnected});
  EXPECT_EQ(
      parsed(Dialogue{{true, kTlsRequest}, {false, "S"}, {true, "\x16\x03\x01 hello"}, {false, "\x16\x03\x03 too"}}),
      Lines{"connect  tls  0 0 "});
  EXPECT_EQ(parsed(Dialogue{{true, kGssRequest}, {false, "G"}, {true, "sealed"}}), Lines{"connect  gss  0 0 "});
  EXPECT_EQ(parsed(Dialogue{{true, startup()}, {false, error("28000")}}), Lines{"connect  error 28000 0 0 "});
  EXPECT_EQ(parsed(Dialogue{{true, number(16, 4) + number(80877102, 4) + number(1, 8)}}), Lines{"cancel  - - - - "});
}

TEST(PostgresQuery, PasswordsAreNotReported) {
  const Dialogue dialogue =
      logged_in() + Dialogue{{true, query("ALTER ROLE eve PASSWORD 'SECRET' VALID UNTIL 'now'")},
                             {false, done("ALTER ROLE") + kReady},
                             {true, query("CREATE ROLE bob PASSWORD $x$SECRET$x$ LOGIN")},
                             {false, done("CREATE ROLE") + kReady},
                             {true, parse("SELECT 1 WHERE password = $1") + bind() + execute() + kSync},
                             {false, kParsed + kBound + done("SELECT 0") + kReady}};
  expect_at_every_cut(dialogue, {kConnected, "query ALTER ROLE eve PASSWORD '***' ok  0 0 ",
                                 "query CREATE ROLE bob PASSWORD '***' LOGIN ok  0 0 ",
                                 "execute SELECT 1 WHERE password = $1 ok  0 0 "});
  for (size_t cut : {1000u, 30u, 9u}) {
    const std::vector<Frame> frames = spoken(dialogue, cut, true).close().frames();
    for (size_t lost = 0; lost < frames.size(); ++lost) {
      std::vector<Frame> left = frames;
      left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
      for (const std::string& line : parsed(left)) EXPECT_EQ(line.find("SECR"), std::string::npos) << line;
    }
  }
}

TEST(PostgresQuery, LongStatementsAreCut) {
  Harness run({"postgres_query"});
  run.all(spoken(logged_in() + Dialogue{{true, query("INSERT " + std::string(100'000, 'x'))},
                                        {false, done("INSERT 0 1") + kReady},
                                        {true, query("SELECT 1")},
                                        {false, selected(1) + kReady}},
                 1400, true)
              .close()
              .frames());
  ASSERT_EQ(run.tuples().size(), 3u);
  EXPECT_EQ(run.tuples()[1]["statement"].size(), 32'768u);
  EXPECT_EQ(run.lines({"status", "cut", "request_bytes"}),
            (Lines{"ok false " + run.tuples()[0]["request_bytes"], "ok true 100013", "ok false 14"}));
}

TEST(PostgresQuery, Times) {
  const std::string response = selected(2) + kReady, request = query("SELECT 1");
  const size_t first_row = columns().size(), row = rows(1).size();
  Conversation conversation = spoken(logged_in());
  conversation.client(request.substr(0, 7)).client(request.substr(7)).wait_ns(50'000'000);
  conversation.server(response.substr(0, first_row)).wait_ns(20'000'000).server(response.substr(first_row, row + 8));
  conversation.wait_ns(5'000'000).server(response.substr(first_row + row + 8, row - 8)).wait_ns(3'000'000);
  conversation.server(response.substr(first_row + 2 * row)).close();
  EXPECT_EQ(parsed(conversation.frames(), {"first_byte_ns", "first_row_ns", "last_row_ns", "response_time_ns"})[1],
            "52000000 73000000 79000000 83000000");
}

// Makes a dialogue in which each statement contains its number of rows, so that wrong pairs are detected.
Dialogue self_identifying() {
  Dialogue dialogue = logged_in() + Dialogue{{true, parse("SELECT 2 $1", "s") + kSync}, {false, kParsed + kReady}};
  for (const int number : {1, 2, 3, 4, 5}) {
    const std::string statement = "SELECT " + std::to_string(number) + " rows";
    std::string request = query(statement), answer = selected(number) + kReady;
    if (number == 2) request = bind("s") + execute() + kSync, answer = kBound + rows(2) + done("SELECT 2") + kReady;
    if (number == 4) request = parse(statement) + bind() + execute() + kSync, answer = kParsed + kBound + answer;
    dialogue = dialogue + Dialogue{{true, request}, {false, answer}};
  }
  return dialogue;
}

bool is_right(const testing::Tuple& tuple) {
  if (!tuple["partial"].empty() || tuple["kind"] == "connect" || tuple["kind"] == "prepare") return true;
  const std::string& statement = tuple["statement"];
  const bool rows_lost = tuple["cut"] == "true" && tuple["rows"] == "-";
  if (statement == "-") return tuple["kind"] == "execute" && (tuple["rows"] == "2" || rows_lost);
  const std::string number = statement.substr(7, 1);
  return tuple["rows"] == number || rows_lost;
}

TEST(PostgresQuery, NeverPairsWrongIfFramesAreLost) {
  for (const size_t cut : {1000u, 40u, 13u}) {
    const std::vector<Frame> frames = spoken(self_identifying(), cut, true).close().frames();
    for (size_t first = 0; first < frames.size(); ++first) {
      for (size_t second = first; second < std::min(frames.size(), first + 9); ++second) {
        std::vector<Frame> left = frames;
        if (second != first) left.erase(left.begin() + static_cast<ptrdiff_t>(second));
        left.erase(left.begin() + static_cast<ptrdiff_t>(first));
        Harness run({"postgres_query"});
        run.all(left);
        for (const testing::Tuple& tuple : run.tuples()) {
          EXPECT_TRUE(is_right(tuple)) << first << ", " << second << " lost, cut at " << cut << ": " << tuple["kind"]
                                       << " " << tuple["statement"] << " " << tuple["rows"] << " " << tuple["cut"];
        }
      }
    }
  }
}

TEST(PostgresQuery, ALostSegmentAffectsOnlyItsTransaction) {
  const Dialogue dialogue = self_identifying();
  const std::vector<Frame> frames = spoken(dialogue).client_ack().close().frames();
  const Lines expected = parsed(frames);
  ASSERT_EQ(expected.size(), 7u);
  for (size_t lost = 3 + 6; lost < 3 + dialogue.size(); ++lost) {
    std::vector<Frame> left = frames;
    left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
    Lines whole_lines;
    for (const std::string& line : parsed(left)) {
      if (!line.ends_with("request") && !line.ends_with("response")) whole_lines.push_back(line);
    }
    Lines other_lines = expected;
    other_lines.erase(other_lines.begin() + 2 + static_cast<ptrdiff_t>((lost - 9) / 2));
    EXPECT_EQ(whole_lines, other_lines) << lost;
  }
}

// Makes exchanges of four, one and two statements, several times. The second of each four fails.
Dialogue pipelined(int times) {
  const std::string one = parse("SELECT 1") + bind() + execute(), bad = parse("SELECT bad") + bind() + execute();
  const std::string response = kParsed + kBound + rows(1) + done("SELECT 1");
  Dialogue dialogue = logged_in();
  for (int i = 0; i < times; ++i) {
    dialogue = dialogue + Dialogue{{true, one + bad + one + one + kSync},
                                   {false, response + error("42703") + kReady},
                                   {true, one + kSync},
                                   {false, response + kReady},
                                   {true, one + one + kSync},
                                   {false, response + response + kReady}};
  }
  return dialogue;
}
constexpr size_t kPipelinedLines[] = {4, 1, 2};

Lines pairs_without(std::vector<Frame> frames, size_t lost) {
  frames.erase(frames.begin() + static_cast<ptrdiff_t>(lost));
  Lines pairs = parsed(frames);
  std::erase_if(pairs, [](const std::string& line) { return line.ends_with("request") || line.ends_with("response"); });
  return pairs;
}

TEST(PostgresQuery, ALostSegmentAffectsOnlyItsBatch) {
  const Dialogue dialogue = pipelined(4);
  const std::vector<Frame> frames = spoken(dialogue).client_ack().close().frames();
  const Lines expected = parsed(frames);
  ASSERT_EQ(expected.size(), 1u + 4 * 7);
  // After the first round, the client is known to wait for all responses.
  size_t line = 1 + 7;
  for (size_t lost = 3 + 4 + 6; lost < 3 + dialogue.size(); lost += 2) {
    const size_t lines = kPipelinedLines[(lost - 7) / 2 % 3];
    Lines other_lines = expected;
    const auto first = other_lines.begin() + static_cast<ptrdiff_t>(line);
    other_lines.erase(first, first + static_cast<ptrdiff_t>(lines));
    EXPECT_EQ(pairs_without(frames, lost), other_lines) << "request " << lost;
    EXPECT_EQ(pairs_without(frames, lost + 1), other_lines) << "response " << lost;
    line += lines;
  }
}

TEST(PostgresQuery, ALossInALoginAffectsNoLaterTransaction) {
  const std::vector<Frame> frames = spoken(pipelined(1)).client_ack().close().frames();
  const Lines expected = parsed(frames);
  for (const size_t lost : {3u, 4u, 5u}) {
    Lines pairs = pairs_without(frames, lost);
    if (pairs.front().starts_with("connect")) pairs.erase(pairs.begin());
    EXPECT_EQ(pairs, Lines(expected.begin() + 1, expected.end())) << lost;
  }
}

// The error is the response to the password, not to the startup message.
TEST(PostgresQuery, ALoginWithoutItsFirstResponseHasNoTimeToFirstByte) {
  const Dialogue dialogue = {{true, startup()},
                             {false, message('R', number(5, 4) + "salt")},
                             {true, message('p', text("md5SECRET"))},
                             {false, error("28P01")}};
  std::vector<Frame> frames = spoken(dialogue).close().frames();
  EXPECT_EQ(parsed(frames, {"kind", "status", "partial"}), Lines{"connect error "});
  EXPECT_NE(parsed(frames, {"first_byte_ns"}), Lines{"-"});
  frames.erase(frames.begin() + 4);
  EXPECT_EQ(parsed(frames, {"kind", "status", "partial"}), Lines{"connect error "});
  EXPECT_EQ(parsed(frames, {"first_byte_ns"}), Lines{"-"});
}

// Tests that the result is the same if a frame is up to three places late, or repeated.
void expect_same_if_late_or_repeated(const std::vector<Frame>& frames) {
  Lines expected = parsed(frames);
  std::sort(expected.begin(), expected.end());
  for (size_t original = 3; original < frames.size(); ++original) {
    for (size_t places = 1; places <= 3 && original + places < frames.size(); ++places) {
      std::vector<Frame> moved_frames = frames;
      std::rotate(moved_frames.begin() + static_cast<ptrdiff_t>(original),
                  moved_frames.begin() + static_cast<ptrdiff_t>(original) + 1,
                  moved_frames.begin() + static_cast<ptrdiff_t>(original + places) + 1);
      Lines late_lines = parsed(moved_frames);
      std::sort(late_lines.begin(), late_lines.end());
      EXPECT_EQ(late_lines, expected) << original << " late by " << places;
      std::vector<Frame> more_frames = frames;
      more_frames.insert(more_frames.begin() + static_cast<ptrdiff_t>(original + places), frames[original]);
      Lines repeated_lines = parsed(more_frames);
      std::sort(repeated_lines.begin(), repeated_lines.end());
      EXPECT_EQ(repeated_lines, expected) << original << " again after " << places;
    }
  }
}

TEST(PostgresQuery, LateAndRepeatedSegmentsHaveNoEffect) {
  expect_same_if_late_or_repeated(spoken(self_identifying(), 60, true).close().frames());
  expect_same_if_late_or_repeated(spoken(pipelined(2), 60, true).close().frames());
  const Dialogue asks = {{true, kTlsRequest}, {false, "N"}}, repeated = {{true, kGssRequest}, {false, "N"}};
  expect_same_if_late_or_repeated(spoken(asks + self_identifying()).close().frames());
  expect_same_if_late_or_repeated(spoken(repeated + asks + self_identifying()).close().frames());
  const Dialogue agreed = {{true, kTlsRequest},           {false, "S"},     {true, "\x16\x03\x01 hello"},
                           {false, "\x16\x03\x03 hello"}, {true, "sealed"}, {false, "sealed"}};
  expect_same_if_late_or_repeated(spoken(agreed).close().frames());
}

TEST(PostgresQuery, JoinsInMidStream) {
  const Dialogue dialogue = self_identifying();
  const std::vector<Frame> frames = spoken(dialogue).close().frames();
  const Lines expected = parsed(frames);
  for (size_t skipped = 3 + 4; skipped < frames.size() - 4; ++skipped) {
    const Lines lines = parsed(std::vector<Frame>(frames.begin() + static_cast<ptrdiff_t>(skipped), frames.end()));
    const size_t whole = (3 + dialogue.size() - skipped) / 2;
    Lines last(expected.end() - static_cast<ptrdiff_t>(whole), expected.end());
    for (std::string& line : last) {
      if (skipped > 7 && line.starts_with("execute SELECT 2")) line = "execute - ok  2 0 ";
    }
    ASSERT_GE(lines.size(), last.size()) << skipped;
    EXPECT_EQ(Lines(lines.end() - static_cast<ptrdiff_t>(last.size()), lines.end()), last) << skipped;
  }
}

TEST(PostgresQuery, OneWayCaptures) {
  const Dialogue refused_dialogue = {{true, kTlsRequest}, {false, "N"}};
  const std::vector<Frame> frames = spoken(refused_dialogue + self_identifying()).close().frames();
  std::vector<Frame> request, answered;
  for (const Frame& frame : frames) (frame.bytes[14 + 15] == 1 ? request : answered).push_back(frame);
  EXPECT_EQ(parsed(request, {"kind", "statement", "partial"}),
            (Lines{"connect  request", "prepare SELECT 2 $1 request", "query SELECT 1 rows request",
                   "execute SELECT 2 $1 request", "query SELECT 3 rows request", "execute SELECT 4 rows request",
                   "query SELECT 5 rows request"}));
  EXPECT_EQ(parsed(answered, {"status", "rows", "partial"}),
            (Lines{"ok 0 response", "ok 0 response", "ok 1 response", "ok 2 response", "ok 3 response", "ok 4 response",
                   "ok 5 response"}));
}

TEST(PostgresQuery, AWrongLengthAffectsFewTransactions) {
  const Dialogue dialogue = self_identifying();
  for (const size_t wrong : {6u, 7u, 8u, 9u, 10u, 11u}) {
    Dialogue changed_dialogue = dialogue;
    changed_dialogue[wrong].bytes[2] = '\x7f';
    const Lines lines = parsed(changed_dialogue);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "query SELECT 5 rows ok  5 0 "), 1) << wrong;
  }
}

TEST(PostgresQuery, OtherProtocolsEmitNothing) {
  const std::string zeros(100, '\0');
  const std::string others[] = {"GET / HTTP/1.1\r\n\r\n",
                                "\x16\x03\x01\x02\x01",
                                "SSH-2.0-x\r\n",
                                "*1\r\n$4\r\nPING\r\n",
                                "NICK me\r\n",
                                "RETR 1\r\n",
                                zeros};
  for (const std::string& first : others) {
    for (const bool from_client : {true, false}) {
      for (const bool handshake : {true, false}) {
        const Dialogue dialogue = {{from_client, first}, {!from_client, "220 ready\r\n"}, {from_client, first}};
        EXPECT_EQ(parsed(spoken(dialogue, SIZE_MAX, false, handshake).frames()), Lines{}) << first;
      }
    }
  }
}

TEST(PostgresQuery, EndingAQueryReportsItsPendingTransactionsOnly) {
  const std::vector<Frame> frames =
      spoken(logged_in() + Dialogue{{true, query("SELECT 1")}, {false, selected(1) + kReady}}).frames();
  Harness run({"postgres_query"});
  run.feed({frames.begin(), frames.end() - 1}, 0b11);
  run.engine().end_queries(0b01);
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1].header.queries, 0b01u);
  EXPECT_EQ(run.tuples()[1]["partial"], "request");
  run.feed({frames.end() - 1, frames.end()}, 0b10);
  ASSERT_EQ(run.tuples().size(), 3u);
  EXPECT_EQ(run.tuples()[2]["partial"], "");
}

TEST(NamedTexts, AreBounded) {
  postgres::NamedTexts texts;
  for (int i = 0; i < 3000; ++i) texts.put("name " + std::to_string(i), "text", false);
  EXPECT_LT(texts.memory_bytes(), 1024u * 200);
  EXPECT_EQ(texts.find("name 2999")->text, "text");
  for (int i = 0; i < 3000; ++i) texts.forget("name " + std::to_string(i));
  EXPECT_EQ(texts.memory_bytes(), 0u);
}

}  // namespace
}  // namespace tapline
