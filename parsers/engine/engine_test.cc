#include "parsers/engine/engine.h"

#include <algorithm>

#include "parsers/engine/engine_fixture.h"

namespace tapline {
namespace {

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

TEST(Engine, AStraySynOnALiveConnectionIsNotANewIncarnation) {
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

TEST(Engine, StartsAStreamAtTheAcknowledgedSynAck) {
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

// An ended connection is kept for a short time, to recognise stray packets.
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

// Among equally useful connections, the one that has been silent the longest is evicted.
TEST(Engine, TheConnectionWithTheLongestSilenceIsEvicted) {
  EngineOptions options = Harness::small();
  options.max_connections = 3;
  Harness harness({"tcp_conn_time"}, options);
  for (const uint32_t isn : {300u, 100u, 200u, 400u}) {
    Conversation::Options conversation_options = at(kStart + isn * 1'000'000, isn);
    conversation_options.client_port = static_cast<uint16_t>(40000 + isn);
    harness.feed(Conversation(conversation_options).handshake().frames());
  }
  EXPECT_EQ(incarnations(harness, "timeout"), std::vector<uint32_t>{100});
}

TEST(Engine, AJumpOfPacketTimeEndsEverythingIdle) {
  Harness harness({"tcp_conn_time"});
  harness.feed(Conversation().handshake().frames());
  harness.feed(Conversation(at(kStart + 400'000'000'000'000, 5)).handshake().frames());
  EXPECT_EQ(incarnations(harness, "timeout"), std::vector<uint32_t>{1000});
}

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

// Mimics a lane whose queries are added and removed: http_get is requested, dropped, and requested again during one
// connection.
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

// Ending queries step by step emits the tuples that end_queries() would emit, with the time of begin_end(), although
// packets arrive in between.
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
  Conversation::Options late_options = at(kStart + 1'000'000'000, 500);
  late_options.client_port = 50000;
  harness.feed(Conversation(late_options).handshake().frames(), 0b01);
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

}  // namespace
}  // namespace tapline
