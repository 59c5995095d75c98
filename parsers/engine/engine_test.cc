#include "parsers/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

const Lines kEvent = {"event", "outcome"};

std::vector<Frame> concat(std::vector<Frame> first, const std::vector<Frame>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Conversation::Options at(int64_t start_ns, uint32_t client_isn) {
  Conversation::Options options;
  options.start_ns = start_ns;
  options.client_isn = client_isn;
  return options;
}

std::vector<uint32_t> incarnations(const Harness& harness, const std::string& event) {
  std::vector<uint32_t> found;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple["event"] == event) found.push_back(tuple.header.flow_incarnation);
  }
  return found;
}

constexpr int64_t kStart = 1'000'000'000'000;

TEST(Engine, ANewSynOnAClosedConnectionIsANewIncarnation) {
  Harness harness({"tcp_conn_time"});
  harness.all(concat(Conversation(at(kStart, 100)).handshake().close().frames(),
                     Conversation(at(kStart + 1'000'000'000, 900)).handshake().close().frames()));
  EXPECT_EQ(incarnations(harness, "syn"), (std::vector<uint32_t>{100, 900}));
  EXPECT_EQ(incarnations(harness, "fin"), (std::vector<uint32_t>{100, 900}));
}

TEST(Engine, RetransmittedSynsAndFinsAreNotNewIncarnations) {
  const std::vector<Frame> once = Conversation().handshake().close().frames();
  std::vector<Frame> twice;
  for (const Frame& frame : once) twice.insert(twice.end(), 2, frame);
  EXPECT_EQ(Harness({"tcp_conn_time"}).all(twice).lines(kEvent), (Lines{"syn ", "established ", "fin closed"}));
}

TEST(Engine, ANewSynOnASilentConnectionEndsItAsOpen) {
  Harness harness({"tcp_conn_time"});
  harness.all(concat(Conversation(at(kStart, 100)).handshake().frames(),
                     Conversation(at(kStart + 20'000'000'000, 900)).handshake().close().frames()));
  EXPECT_EQ(harness.lines(kEvent),
            (Lines{"syn ", "established ", "timeout open", "syn ", "established ", "fin closed"}));
}

// Emits the end of each of its intervals.
class Clock final : public Parser {
 public:
  explicit Clock(const char* name, int64_t interval_ns)
      : schema_({.name = name, .fields = {{"end_ns", FieldType::kI64}}}), interval_ns_(interval_ns) {}
  const Schema& schema() const override { return schema_; }
  Needs needs() const override { return {.packets = false, .interval_ns = interval_ns_}; }
  void set_arguments(uint32_t, std::span<const Value> arguments) override { interval_ns_ = arguments[0].as_i64(); }
  void on_interval(int64_t end_ns, Emitter& out) override {
    EXPECT_EQ(out.now_ns(), end_ns - 1);
    TupleHeader header;
    header.time_ns = out.now_ns();
    header.queries = 1;
    out.emit(header, {Value::i64(end_ns - kStart)});
  }

 private:
  Schema schema_;
  int64_t interval_ns_;
};

std::vector<std::unique_ptr<Parser>> clocks() {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::make_unique<Clock>("slow", kNsPerSecond));
  parsers.push_back(std::make_unique<Clock>("fast", 10 * kNsPerMs));
  return parsers;
}

Lines ends_of(const Harness& harness, uint32_t parser) {
  Lines ends;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple.parser == parser) ends.push_back(tuple["end_ns"]);
  }
  return ends;
}

TEST(Engine, EachParserHasSeparateIntervals) {
  static_assert(kStart % kNsPerSecond == 0);
  Harness harness(clocks());
  std::vector<Frame> frames;
  for (const int64_t time_ms : {0, 3, 9, 10, 25, 1500, 2000}) {
    frames.push_back(testing::tcp_frame({}, kStart + time_ms * kNsPerMs));
  }
  harness.feed(frames);
  // Only intervals with packets end. The harness fails the test if the times of tuples decrease.
  EXPECT_EQ(ends_of(harness, 0), (Lines{"1000000000", "2000000000"}));
  EXPECT_EQ(ends_of(harness, 1), (Lines{"10000000", "20000000", "30000000", "1510000000"}));
}

TEST(Engine, AnAddedParserStartsInTheMiddleOfAnInterval) {
  Harness harness(clocks());
  harness.engine().set_parser_queries(1, 0);
  harness.feed({testing::tcp_frame({}, kStart), testing::tcp_frame({}, kStart + 95 * kNsPerMs)});
  harness.engine().set_parser_queries(1, 1);
  harness.engine().advance(kStart + 99 * kNsPerMs);
  EXPECT_EQ(ends_of(harness, 1), Lines{});
  harness.engine().advance(kStart + 100 * kNsPerMs);
  EXPECT_EQ(ends_of(harness, 1), (Lines{"100000000"}));
}

// The interval changes in the middle of an interval, which then ends earlier or later than planned.
TEST(Engine, ArgumentsChangeAnInterval) {
  Harness harness(clocks());
  const auto choose = [&](int64_t interval_ns) {
    harness.engine().set_arguments(0, 1, std::vector<Value>{Value::i64(interval_ns)});
  };
  choose(500 * kNsPerMs);
  harness.feed({testing::tcp_frame({}, kStart), testing::tcp_frame({}, kStart + 510 * kNsPerMs)});
  choose(20 * kNsPerMs);
  harness.feed({testing::tcp_frame({}, kStart + 530 * kNsPerMs)});
  choose(kNsPerSecond);
  harness.engine().advance(kStart + kNsPerSecond);
  EXPECT_EQ(ends_of(harness, 0), (Lines{"500000000", "520000000", "1000000000"}));
  EXPECT_THROW(choose(kShortestIntervalNs - 1), std::invalid_argument);
}

TEST(Engine, IntervalsEndUpToTheEndOfTime) {
  Harness harness(clocks());
  harness.feed({testing::tcp_frame({}, 0), testing::tcp_frame({}, kLatestTimeNs)});
  harness.engine().advance(INT64_MAX);
  harness.engine().advance(INT64_MAX);
  EXPECT_EQ(harness.engine().now_ns(), INT64_MAX);
  std::vector<std::unique_ptr<Parser>> too_short;
  too_short.push_back(std::make_unique<Clock>("hasty", kShortestIntervalNs - 1));
  EXPECT_THROW(Harness{std::move(too_short)}, std::invalid_argument);
}

TEST(Engine, AStraySynOnALiveConnectionIsIgnored) {
  Conversation conversation;
  conversation.handshake().client("x");
  const Frame stray = testing::tcp_frame({.seq = 77777, .flags = tcp_flag::kSyn}, conversation.now_ns());
  conversation.frames().push_back(stray);
  conversation.client("y").close();
  EXPECT_EQ(Harness({"tcp_conn_time"}).all(conversation.frames()).lines(kEvent),
            (Lines{"syn ", "established ", "fin closed"}));
}

TEST(Engine, ASynAckConfirmsTheSyn) {
  std::vector<Frame> second = Conversation(at(kStart + 1'000'000'000, 900)).handshake().close().frames();
  Harness harness({"tcp_conn_time"});
  harness.all(concat(Conversation(at(kStart, 100)).handshake().client("x").frames(), second));
  EXPECT_EQ(incarnations(harness, "fin"), (std::vector<uint32_t>{900}));
}

TEST(Engine, ALateSynBelongsToTheSameConnection) {
  Conversation conversation;
  conversation.handshake().client("x").close();
  std::vector<Frame>& frames = conversation.frames();
  std::rotate(frames.begin(), frames.begin() + 1, frames.begin() + 3);  // SYN/ACK, ACK, SYN
  Harness harness({"tcp_conn_time"});
  harness.all(frames);
  EXPECT_EQ(incarnations(harness, "fin"), (std::vector<uint32_t>{1000}));
  EXPECT_EQ(harness.tuples().size(), harness.lines(kEvent).size());
  EXPECT_EQ(incarnations(harness, "timeout").size(), 0u);
}

TEST(Engine, TheClientIsDerivedFromTheEvidence) {
  const auto header = [](const std::vector<Frame>& frames, ToSide to_side) {
    Harness harness({"tcp_flow_key"});
    harness.feed(frames, 1, 32, to_side);
    return harness.tuples().at(0).endpoints() + " " +
           std::string(name_of(harness.tuples().at(0).header.client_known_by));
  };
  Conversation::Options options;
  options.client_port = 80;
  options.server_port = 40000;
  const std::vector<Frame> handshake = Conversation(options).handshake().frames();
  EXPECT_EQ(header(handshake, ToSide::kSource), "10.0.0.1:80>10.0.0.2:40000 handshake");
  EXPECT_EQ(header({handshake[1]}, ToSide::kDestination), "10.0.0.1:80>10.0.0.2:40000 handshake");
  EXPECT_EQ(header({handshake[2]}, ToSide::kDestination), "10.0.0.1:80>10.0.0.2:40000 query");
  EXPECT_EQ(header({handshake[2]}, ToSide::kSource), "10.0.0.2:40000>10.0.0.1:80 query");
  EXPECT_EQ(header({handshake[2]}, ToSide::kUnknown), "10.0.0.2:40000>10.0.0.1:80 port");
}

Frame from_server(uint32_t seq, uint32_t ack, uint8_t flags, int64_t time_ns) {
  return testing::tcp_frame(
      {.src = "10.0.0.2", .dst = "10.0.0.1", .src_port = 80, .dst_port = 40000, .seq = seq, .ack = ack, .flags = flags},
      time_ns);
}

const Lines kPair = {"url", "status", "partial"};
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

TEST(Engine, AStreamStartsAtTheSynAckThatTheClientAcknowledges) {
  for (const uint32_t forged : {4000u, 900'000u, 3'000'000'000u}) {
    Conversation conversation;
    conversation.client("", tcp_flag::kSyn);
    conversation.frames().push_back(from_server(forged, 1001, tcp_flag::kSyn | tcp_flag::kAck, conversation.now_ns()));
    conversation.server("", tcp_flag::kSyn | tcp_flag::kAck).client_ack();
    conversation.client("GET /a HTTP/1.1\r\n\r\n").server(kAnswer).close();
    EXPECT_EQ(Harness({"http_get"}).all(conversation.frames()).lines(kPair), (Lines{"/a 200 "})) << forged;
  }
}

TEST(Engine, StreamsContinueAfterARstThatBothSidesIgnore) {
  Conversation conversation;
  conversation.handshake().client("GET /a HTTP/1.1\r\n\r\n").server(kAnswer);
  const auto answered = static_cast<uint32_t>(5001 + kAnswer.size());
  conversation.frames().push_back(from_server(answered, 0, tcp_flag::kRst, conversation.now_ns()));
  for (const char* page : {"/b", "/c", "/d"}) {
    conversation.client("GET " + std::string(page) + " HTTP/1.1\r\n\r\n").server(kAnswer);
  }
  conversation.close();
  const Lines lines = Harness({"http_get"}).all(conversation.frames()).lines(kPair);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines.front(), "/a 200 ");
  EXPECT_EQ(lines[lines.size() - 2], "/c 200 ");
  EXPECT_EQ(lines.back(), "/d 200 ");
}

TEST(Engine, TextsAreEmittedReadablyAndStatementsWithTheirLineBreaks) {
  const auto texts = [](const Packet& packet, Emitter& out) {
    const Value text = Value::string(packet.payload_text());
    out.emit(packet, {text, Value::u64(7), text, Value::string("plain")});
  };
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(packet_parser({.name = "texts",
                                   .fields = {{"key", FieldType::kString, "", "", false, TextKind::kKey},
                                              {"number"},
                                              {"statement", FieldType::kString, "", "", false, TextKind::kSql},
                                              {"other", FieldType::kString}}},
                                  texts));
  Conversation conversation;
  conversation.client("a\n\x01\xff").client("a\nb").client("ab");
  EXPECT_EQ(Harness(std::move(parsers)).all(conversation.frames()).lines({"key", "number", "statement", "other"}),
            (Lines{"a%0A%01%FF 7 a\n%01%FF plain", "a%0Ab 7 a\nb plain", "ab 7 ab plain"}));
}

TEST(Engine, AUrlWithAControlCharacterIsFoundAtEveryCut) {
  const std::string request = "GET /" + std::string(80, 'a') + "\x01" + "b HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const size_t bytes : {size_t{1}, size_t{3}, size_t{70}, size_t{85}, size_t{86}, request.size()}) {
    Conversation conversation;
    conversation.handshake().client_cut(request, bytes).server(kAnswer).close();
    EXPECT_EQ(Harness({"http_get"}).all(conversation.frames()).lines(kPair),
              Lines{"/" + std::string(80, 'a') + "%01b 200 "})
        << bytes;
  }
}

TEST(Engine, AKeyWithAControlCharacterIsFound) {
  Conversation::Options options;
  options.server_port = 11211;
  Conversation conversation(options);
  conversation.handshake().client("get k\x01y\r\n").server("VALUE k\x01y 0 1\r\nx\r\nEND\r\n").close();
  EXPECT_EQ(Harness({"memcached_get"}).all(conversation.frames()).lines({"command", "key", "partial"}),
            Lines{"get k%01y "});
}

TEST(Engine, IdleConnectionsEndByPacketTime) {
  EngineOptions options = Harness::small();
  options.idle_timeout_ns = 30'000'000'000;
  Harness harness({"tcp_conn_time"}, options);
  harness.feed(Conversation().handshake().frames());
  harness.engine().advance(kStart + 29'000'000'000);
  EXPECT_EQ(incarnations(harness, "timeout").size(), 0u);
  harness.engine().advance(kStart + 33'000'000'000);
  ASSERT_EQ(harness.lines(kEvent).back(), "timeout open");
  const testing::Tuple& timeout = harness.tuples().back();
  EXPECT_EQ(timeout.header.time_ns - std::stoll(timeout["certain_after_ns"]), kStart + 2 * Conversation::kStepNs);
  EXPECT_EQ(harness.engine().stats().live_connections, 0u);
}

// An ended connection is remembered for stray packets only.
TEST(Engine, EndedConnectionsAreForgottenSoon) {
  EngineOptions options = Harness::small();
  options.closed_timeout_ns = 10'000'000'000;
  options.idle_timeout_ns = 300'000'000'000;
  Harness harness({"tcp_conn_time"}, options);
  harness.feed(Conversation(at(kStart, 100)).handshake().close().frames());
  harness.engine().advance(kStart + 9'000'000'000);
  EXPECT_EQ(harness.engine().stats().live_connections, 1u);
  harness.engine().advance(kStart + 13'000'000'000);
  EXPECT_EQ(harness.engine().stats().live_connections, 0u);
  EXPECT_EQ(harness.lines(kEvent).back(), "fin closed");
}

// Among equally useful connections, the longest silent is evicted.
TEST(Engine, TheConnectionWithTheLongestSilenceIsEvicted) {
  EngineOptions options = Harness::small();
  options.max_connections = 3;
  Harness harness({"tcp_conn_time"}, options);
  for (const uint32_t isn : {300u, 100u, 200u, 400u}) {
    Conversation::Options each = at(kStart + isn * 1'000'000, isn);
    each.client_port = static_cast<uint16_t>(40000 + isn);
    harness.feed(Conversation(each).handshake().frames());
  }
  EXPECT_EQ(incarnations(harness, "timeout"), std::vector<uint32_t>{100});
}

TEST(Engine, AJumpOfPacketTimeEndsEverythingIdle) {
  Harness harness({"tcp_conn_time"});
  harness.feed(Conversation().handshake().frames());
  harness.feed(Conversation(at(kStart + 400'000'000'000'000, 5)).handshake().frames());
  EXPECT_EQ(incarnations(harness, "timeout"), std::vector<uint32_t>{1000});
}

std::vector<Frame> syn_flood(int flows) {
  std::vector<Frame> frames;
  for (int i = 0; i < flows; ++i) {
    frames.push_back(testing::tcp_frame({.src = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250),
                                         .seq = static_cast<uint32_t>(i),
                                         .flags = tcp_flag::kSyn},
                                        kStart + i * 1000));
  }
  return frames;
}

TEST(Engine, SynFloodIsBoundedAndCountedAndSparesEstablishedConnections) {
  Harness harness({"tcp_conn_time"});
  Conversation conversation(at(kStart, 1000));
  harness.feed(conversation.handshake().frames());
  harness.feed(syn_flood(5000));
  conversation.wait_ns(1'000'000'000).close();
  harness.feed({conversation.frames().begin() + 3, conversation.frames().end()});
  EXPECT_EQ(incarnations(harness, "fin"), std::vector<uint32_t>{1000});
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), 5000u - 63u);
  EXPECT_EQ(harness.engine().stats().live_connections, 64u);
  harness.engine().end();
  // Each connection has exactly one end.
  EXPECT_EQ(incarnations(harness, "syn").size(), 5001u);
  EXPECT_EQ(incarnations(harness, "timeout").size(), 5000u);
  EXPECT_EQ(harness.engine().stats().live_connections, 0u);
}

// A hundred connections, each with a transaction before, amidst and after a flood that would fill the table ten times.
// `answered`: the server answers each SYN of the flood.
void expect_connections_survive_a_flood(bool answered) {
  constexpr int kConnections = 100, kTableSize = 1000;
  EngineOptions options = Harness::small();
  options.max_connections = kTableSize;
  Harness harness({"http_get"}, options);
  std::vector<Conversation> conversations;
  for (int i = 0; i < kConnections; ++i) {
    Conversation::Options each = at(kStart, 1000);
    each.client_port = static_cast<uint16_t>(20000 + i);
    conversations.emplace_back(each);
  }
  std::vector<size_t> fed(kConnections, 0);
  const auto feed_all = [&](int64_t until_ns, auto&& say) {
    for (int i = 0; i < kConnections; ++i) {
      Conversation& conversation = conversations[static_cast<size_t>(i)];
      conversation.wait_ns(until_ns - conversation.now_ns());
      say(conversation, std::to_string(i));
      std::vector<Frame>& frames = conversation.frames();
      harness.feed({frames.begin() + static_cast<ptrdiff_t>(fed[static_cast<size_t>(i)]), frames.end()});
      fed[static_cast<size_t>(i)] = frames.size();
    }
  };
  const auto transaction = [](Conversation& conversation, const std::string& number) {
    conversation.client("GET /" + number + " HTTP/1.1\r\n\r\n").server("HTTP/1.1 204 No Content\r\n\r\n");
  };
  feed_all(kStart, [&](Conversation& conversation, const std::string& number) {
    conversation.handshake();
    transaction(conversation, number);
  });
  const std::vector<Frame> flood = syn_flood(10 * kTableSize);
  for (size_t i = 0; i < flood.size(); ++i) {
    Frame syn = flood[i];
    syn.time_ns += 1'000'000'000;
    harness.feed({syn});
    if (answered) {
      harness.feed({testing::tcp_frame({.src = "10.0.0.2",
                                        .dst = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250),
                                        .src_port = 80,
                                        .dst_port = 40000,
                                        .ack = static_cast<uint32_t>(i) + 1,
                                        .flags = tcp_flag::kSyn | tcp_flag::kAck},
                                       syn.time_ns + 500)});
    }
    if (i == flood.size() / 2) feed_all(syn.time_ns, transaction);
  }
  feed_all(kStart + 2'000'000'000, transaction);
  EXPECT_LE(harness.engine().stats().live_connections, static_cast<uint64_t>(kTableSize));
  harness.engine().end();
  EXPECT_EQ(harness.tuples().size(), 3u * kConnections);
  std::map<std::string, int> times;
  for (const testing::Tuple& tuple : harness.tuples()) {
    EXPECT_EQ(tuple["partial"], "");
    EXPECT_EQ(tuple["url"], "/" + std::to_string(tuple.header.src_port - 20000));
    ++times[tuple["url"]];
  }
  EXPECT_EQ(times.size(), static_cast<size_t>(kConnections));
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), flood.size() + kConnections - kTableSize);
}

TEST(Engine, EstablishedConnectionsSurviveAFloodOfSyns) { expect_connections_survive_a_flood(false); }
TEST(Engine, EstablishedConnectionsSurviveAFloodOfAnsweredSyns) { expect_connections_survive_a_flood(true); }

TEST(Engine, ResultsDoNotDependOnTheBurst) {
  const auto run = [](size_t burst, const Lines& parsers) {
    Harness harness(parsers);
    harness.feed(
        concat(syn_flood(200), Conversation(at(kStart + 2'000'000'000, 9)).handshake().client("x").close().frames()), 1,
        burst);
    harness.engine().end();
    std::vector<std::string> seen;
    for (const testing::Tuple& tuple : harness.tuples()) {
      seen.push_back(std::to_string(tuple.header.time_ns) + " " + tuple.endpoints() + " " + tuple["event"]);
    }
    return seen;
  };
  const auto expected = run(1, {"tcp_conn_time"});
  EXPECT_GT(expected.size(), 400u);
  EXPECT_EQ(run(7, {"tcp_conn_time"}), expected);
  EXPECT_EQ(run(64, {"tcp_conn_time"}), expected);
}

TEST(Engine, EachParserReportsOnlyToItsQueries) {
  Harness harness(Lines{"tcp_conn_time", "tcp_flow_key"});
  harness.engine().set_parser_queries(0, 0b01);
  harness.engine().set_parser_queries(1, 0b10);
  harness.feed(Conversation().handshake().frames(), 0b11);
  ASSERT_EQ(harness.tuples().size(), 3u);
  for (const testing::Tuple& tuple : harness.tuples()) {
    EXPECT_EQ(tuple.header.queries, tuple.parser == 0 ? 0b01u : 0b10u);
  }
}

TEST(Engine, AnEndedQueryGetsNothingMore) {
  Harness harness({"tcp_conn_time"});
  Conversation conversation;
  conversation.handshake().close();
  const std::vector<Frame>& frames = conversation.frames();
  harness.feed({frames.begin(), frames.begin() + 3}, 0b11);
  harness.engine().end_queries(0b01);
  harness.feed({frames.begin() + 3, frames.end()}, 0b10);
  harness.engine().end();
  EXPECT_EQ(harness.lines(kEvent), (Lines{"syn ", "established ", "timeout open", "fin closed"}));
  EXPECT_EQ(harness.tuples()[2].header.queries, 0b01u);
  EXPECT_EQ(harness.tuples()[3].header.queries, 0b10u);
}

TEST(Engine, TheTableSurvivesManyConnections) {
  EngineOptions options = Harness::small();
  options.max_connections = 1000;
  Harness harness({"tcp_conn_time"}, options);
  for (int round = 0; round < 20; ++round) {
    std::vector<Frame> frames = syn_flood(900);
    for (Frame& frame : frames) frame.time_ns += round * 200'000'000'000;
    harness.feed(frames);
    EXPECT_EQ(harness.engine().stats().live_connections, 900u);
  }
  harness.engine().end();
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), 0u);
  EXPECT_EQ(incarnations(harness, "syn").size(), 20u * 900u);
  EXPECT_EQ(incarnations(harness, "timeout").size(), 20u * 900u);
}

// Mimics a lane whose queries come and go: http_get is requested, dropped, and requested again in the same connection.
TEST(Engine, AParserThatIsAddedAgainStartsEmpty) {
  Conversation conversation;
  conversation.handshake();
  const size_t first = conversation.frames().size();
  conversation.client("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  const size_t second = conversation.frames().size();
  conversation.server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  conversation.client("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  conversation.server("HTTP/1.1 204 No Content\r\n\r\n").close();
  const std::vector<Frame> frames = conversation.frames();
  Harness harness(std::vector<std::string>{"tcp_conn_time", "http_get"});
  Engine& engine = harness.engine();
  engine.set_parser_queries(0, 0b01);
  engine.set_parser_queries(1, 0b10);
  harness.feed({frames.begin() + static_cast<int64_t>(first), frames.begin() + static_cast<int64_t>(second)}, 0b11);
  engine.begin_end(0b10);
  harness.feed({frames.begin() + static_cast<int64_t>(second), frames.begin() + static_cast<int64_t>(second) + 1},
               0b01);
  while (!engine.continue_end(1)) {
  }
  engine.set_parser_queries(1, 0);
  EXPECT_EQ(engine.stats().reassembly_bytes, 0u);
  engine.set_parser_queries(1, 0b10);
  harness.feed({frames.begin() + static_cast<int64_t>(second) + 1, frames.end()}, 0b11);
  engine.end();
  std::vector<std::string> requests;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple.parser == 1) requests.push_back(tuple["url"] + " " + tuple["status"] + " " + tuple["partial"]);
  }
  EXPECT_EQ(requests, (Lines{"/a - request", "/b 204 "}));
}

// Ending in steps emits the same tuples as ending at once, at the time of the end, despite packets in between.
TEST(Engine, EndingStepByStepIsEquivalent) {
  Harness harness({"tcp_conn_time"});
  for (uint32_t i = 0; i < 10; ++i) {
    Conversation::Options options = at(kStart + i, 100 + i);
    options.client_port = static_cast<uint16_t>(40000 + i);
    harness.feed(Conversation(options).handshake().frames(), 0b11);
  }
  Engine& engine = harness.engine();
  const int64_t end_ns = engine.now_ns();
  engine.begin_end(0b10);
  Conversation::Options late = at(kStart + 1'000'000'000, 500);
  late.client_port = 50000;
  harness.feed(Conversation(late).handshake().frames(), 0b01);
  int steps = 0;
  while (!engine.continue_end(2)) ++steps;
  EXPECT_EQ(steps, 5);
  int ended = 0;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple["event"] != "timeout") continue;
    EXPECT_EQ(tuple.header.queries, 0b10u);
    EXPECT_EQ(tuple.header.time_ns, end_ns);
    ++ended;
  }
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(engine.stats().live_connections, 11u);
}

// ---- datagrams ----

std::vector<Frame> udp_flood(int flows) {
  std::vector<Frame> frames;
  for (int i = 0; i < flows; ++i) {
    const std::string src = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250);
    frames.push_back(testing::udp_frame({.src = src, .payload = "x"}, kStart + 1'000'000'000 + i * 1000));
  }
  return frames;
}

// TCP parsers do not see the flows of datagram parsers, and vice versa.
TEST(Engine, DatagramFlowsAreReportedOnRequest) {
  const std::vector<Frame> tcp = Conversation().handshake().client("x").close().frames();
  const std::vector<Frame> both = concat(tcp, udp_flood(3));
  Lines alone;
  for (const std::string name : {"tcp_conn_time", "tcp_flow_key", "tcp_pkt_size", "udp_flow"}) {
    Harness harness(Lines{name});
    harness.all(both);
    for (const testing::Tuple& tuple : harness.tuples()) alone.push_back(name + " " + tuple.endpoints());
  }
  Harness together(Lines{"tcp_conn_time", "tcp_flow_key", "tcp_pkt_size", "udp_flow"});
  together.all(both);
  Lines seen;
  for (const testing::Tuple& tuple : together.tuples()) {
    seen.push_back(together.engine().parser(tuple.parser).schema().name + " " + tuple.endpoints());
  }
  std::sort(alone.begin(), alone.end());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, alone);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const std::string& s) { return s.starts_with("udp_flow"); }), 3);
}

TEST(Engine, DatagramFlowsEndByTimeout) {
  Harness harness({"udp_flow"});
  harness.feed(udp_flood(5));
  EXPECT_EQ(harness.engine().stats().live_connections, 5u);
  harness.engine().advance(kStart + 60'000'000'000);
  EXPECT_EQ(harness.engine().stats().live_connections, 5u);
  harness.engine().advance(kStart + 63'000'000'000);
  EXPECT_EQ(harness.engine().stats().live_connections, 0u);
}

TEST(Engine, EstablishedConnectionsSurviveAFloodOfDatagrams) {
  Harness harness(Lines{"tcp_conn_time", "udp_flow"});
  Conversation conversation(at(kStart, 1000));
  harness.feed(conversation.handshake().frames());
  harness.feed(udp_flood(1000));
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), 1000u - 63u);
  conversation.wait_ns(2'000'000'000).close();
  harness.feed({conversation.frames().begin() + 3, conversation.frames().end()});
  std::vector<std::string> outcomes;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple.parser == 0) outcomes.push_back(tuple["event"]);
  }
  EXPECT_EQ(outcomes, (Lines{"syn", "established", "fin"}));
}

}  // namespace
}  // namespace tapline
