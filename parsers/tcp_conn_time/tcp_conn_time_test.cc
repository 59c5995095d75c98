#include <gtest/gtest.h>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

Lines events(const std::vector<Frame>& frames) {
  return Harness({"tcp_conn_time"}).all(frames).lines({"event", "outcome", "certain_after_ns"});
}

TEST(TcpConnTime, ClosedByBothSides) {
  Conversation conversation;
  conversation.handshake().client("x").server("y").close();
  Harness harness({"tcp_conn_time"});
  harness.all(conversation.frames());
  EXPECT_EQ(harness.lines({"event", "outcome", "certain_after_ns"}),
            (Lines{"syn  0", "established  0", "fin closed 0"}));
  EXPECT_EQ(harness.tuples()[0].header.time_ns, conversation.frames()[0].time_ns);
  EXPECT_EQ(harness.tuples()[2].header.time_ns, conversation.frames()[6].time_ns);  // the second FIN
  EXPECT_EQ(harness.tuples()[2].header.flow_incarnation, 1000u);
}

TEST(TcpConnTime, ServerClosesFirst) {
  EXPECT_EQ(events(Conversation().handshake().server_fin().client_fin().frames()).back(), "fin closed 0");
}

TEST(TcpConnTime, Refused) {
  Conversation conversation;
  conversation.client("", tcp_flag::kSyn).server("", tcp_flag::kRst | tcp_flag::kAck);
  EXPECT_EQ(events(conversation.frames()), (Lines{"syn  0", "rst refused 0"}));
}

TEST(TcpConnTime, Reset) {
  EXPECT_EQ(events(Conversation().handshake().client("x").server("", tcp_flag::kRst).frames()),
            (Lines{"syn  0", "established  0", "rst reset 0"}));
  EXPECT_EQ(events(Conversation().handshake().client_fin().server("", tcp_flag::kRst).frames()).back(), "rst reset 0");
}

TEST(TcpConnTime, ARstAfterTheEndIsNotASecondEnd) {
  EXPECT_EQ(events(Conversation().handshake().close().client("", tcp_flag::kRst).frames()).back(), "fin closed 0");
}

TEST(TcpConnTime, ABlindRstEndsNothing) {
  Conversation conversation;
  conversation.handshake().client("x");
  conversation.frames().push_back(
      testing::tcp_frame({.seq = 0x80000000, .flags = tcp_flag::kRst}, conversation.now_ns()));
  conversation.close();
  EXPECT_EQ(events(conversation.frames()).back(), "fin closed 0");
}

// Makes a segment from the server. In a Conversation, the client's sequence numbers begin at 1000, the server's at
// 5000.
Frame from_server(uint32_t seq, uint32_t ack, uint8_t flags, const Conversation& conversation) {
  return testing::tcp_frame(
      {.src = "10.0.0.2", .dst = "10.0.0.1", .src_port = 80, .dst_port = 40000, .seq = seq, .ack = ack, .flags = flags},
      conversation.now_ns());
}
constexpr uint8_t kRstAck = tcp_flag::kRst | tcp_flag::kAck, kSynAck = tcp_flag::kSyn | tcp_flag::kAck;

// Returns the events of a connection in which an attacker's response to the SYN precedes the genuine one.
Lines after_forged_response(uint32_t seq, uint32_t ack, uint8_t flags) {
  Conversation conversation;
  conversation.client("", tcp_flag::kSyn);
  conversation.frames().push_back(from_server(seq, ack, flags, conversation));
  conversation.server("", kSynAck).client_ack().client("x").server("y").close();
  return events(conversation.frames());
}

TEST(TcpConnTime, BlindFinsEndNothing) {
  Conversation conversation;
  conversation.handshake().client("x");
  const uint8_t fin = tcp_flag::kAck | tcp_flag::kFin;
  const int64_t now_ns = conversation.now_ns();
  conversation.frames().push_back(testing::tcp_frame({.seq = 0x80000000, .ack = 0x80000000, .flags = fin}, now_ns));
  conversation.frames().push_back(from_server(0x80000000, 0x80000000, fin, conversation));
  conversation.client("y").server("", tcp_flag::kRst);
  EXPECT_EQ(events(conversation.frames()).back(), "rst reset 0");
}

TEST(TcpConnTime, AForgedRefusalWithAWrongNumberIsIgnored) {
  const Lines expected = {"syn  0", "rst-ignored  0", "established  0", "fin closed 0"};
  EXPECT_EQ(after_forged_response(0, 1500, kRstAck), expected);
  EXPECT_EQ(after_forged_response(0, 1000, kRstAck), expected);
  EXPECT_EQ(after_forged_response(0, 0, tcp_flag::kRst), expected);
}

TEST(TcpConnTime, AForgedRefusalIsNotAnEndIfTheConnectionContinues) {
  EXPECT_EQ(
      after_forged_response(0, 1001, kRstAck),
      (Lines{"syn  0", "rst-ignored  " + std::to_string(Conversation::kStepNs), "established  0", "fin closed 0"}));
}

TEST(TcpConnTime, ARefusalContradictedOnlyByTheServerIsTheEnd) {
  Conversation conversation;
  conversation.client("", tcp_flag::kSyn);
  conversation.frames().push_back(from_server(0, 1001, kRstAck, conversation));
  conversation.server("", kSynAck).client("", tcp_flag::kRst);
  const std::string delay = std::to_string(Conversation::kStepNs);
  EXPECT_EQ(events(conversation.frames()), (Lines{"syn  0", "rst refused " + delay}));
}

TEST(TcpConnTime, ARstThatBothSidesIgnoreIsNotAnEnd) {
  Conversation conversation;
  conversation.handshake().client("x").server("y");
  conversation.frames().push_back(from_server(5002, 1002, kRstAck, conversation));
  conversation.client("z").server("w").close();
  const Lines lines = events(conversation.frames());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2].substr(0, 12), "rst-ignored ");
  EXPECT_EQ(lines[3], "fin closed 0");
}

// The client's packets in flight when the server sends its RST do not contradict it.
TEST(TcpConnTime, OneContinuingSideDoesNotUndoAReset) {
  Conversation conversation;
  conversation.handshake().client("x").server("y");
  conversation.frames().push_back(from_server(5002, 1002, kRstAck, conversation));
  conversation.client("z").client("w").client("", tcp_flag::kRst);
  const std::string delay = std::to_string(2 * Conversation::kStepNs);
  EXPECT_EQ(events(conversation.frames()).back(), "rst reset " + delay);
}

TEST(TcpConnTime, ARstIsReportedAfterASecond) {
  Conversation conversation;
  conversation.handshake().server("", tcp_flag::kRst);
  const int64_t rst_ns = conversation.frames().back().time_ns;
  Harness harness({"tcp_conn_time"});
  harness.feed(conversation.frames());
  harness.engine().advance(rst_ns + 999'000'000);
  EXPECT_EQ(harness.tuples().size(), 2u);
  harness.engine().advance(rst_ns + 2'500'000'000);
  ASSERT_EQ(harness.tuples().size(), 3u);
  const testing::Tuple& rst = harness.tuples()[2];
  EXPECT_EQ(rst["outcome"], "reset");
  EXPECT_EQ(rst.header.time_ns - std::stoll(rst["certain_after_ns"]), rst_ns);
  harness.engine().end();
  EXPECT_EQ(harness.tuples().size(), 3u);
}

TEST(TcpConnTime, ARstOfAnUnknownConnectionIsReported) {
  const Frame rst = testing::tcp_frame({.seq = 7, .flags = tcp_flag::kRst}, 1'000'000'000'000);
  EXPECT_EQ(events({rst}), (Lines{"stray-rst  0"}));
}

TEST(TcpConnTime, SynAcksWithDifferentNumbersAreReported) {
  const Lines expected = {"syn  0", "syn-ack-conflict  0", "established  0", "fin closed 0"};
  EXPECT_EQ(after_forged_response(900'000, 1001, kSynAck), expected);
  Conversation late_conversation;
  late_conversation.handshake();
  late_conversation.frames().push_back(from_server(900'000'000, 1001, kSynAck, late_conversation));
  late_conversation.close();
  EXPECT_EQ(events(late_conversation.frames()),
            (Lines{"syn  0", "established  0", "syn-ack-conflict  0", "fin closed 0"}));
  Conversation repeated_conversation;
  repeated_conversation.handshake().server("y").client_ack();
  repeated_conversation.frames().push_back(from_server(5000, 1001, kSynAck, repeated_conversation));
  repeated_conversation.close();
  EXPECT_EQ(events(repeated_conversation.frames()), (Lines{"syn  0", "established  0", "fin closed 0"}));
}

TEST(TcpConnTime, UnansweredSynsAreOneConnection) {
  std::vector<Frame> frames;
  int64_t seconds = 1;
  for (int retry = 0; retry < 6; ++retry, seconds *= 2) {
    frames.push_back(
        testing::tcp_frame({.seq = 5, .flags = tcp_flag::kSyn}, 1'000'000'000'000 + seconds * 1'000'000'000));
  }
  EXPECT_EQ(events(frames), (Lines{"syn  0", "timeout unanswered 0"}));
}

TEST(TcpConnTime, ReportsPendingHandshakesAtTheEndOfTheCapture) {
  Conversation half;
  half.handshake().client_fin();
  Conversation::Options options;
  options.client_port = 41000;
  options.start_ns = half.now_ns() + 500'000'000;
  const std::vector<Frame> late_frames = Conversation(options).handshake().frames();
  std::vector<Frame> frames = half.frames();
  frames.insert(frames.end(), late_frames.begin(), late_frames.end());
  const Lines lines = events(frames);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[4], "timeout half-closed " + std::to_string(frames.back().time_ns - frames[3].time_ns));
  EXPECT_EQ(lines[5], "timeout open 0");
}

TEST(TcpConnTime, OneDirectionIsSufficient) {
  const std::vector<Frame> frames = Conversation().handshake().client("x").server("y").close().frames();
  std::vector<Frame> client, server;
  for (const Frame& frame : frames) {
    (frame.bytes[29] == 1 ? client : server).push_back(frame);
  }
  EXPECT_EQ(events(client), (Lines{"syn  0", "established  0", "timeout half-closed 0"}));
  EXPECT_EQ(events(server), (Lines{"established  0", "timeout half-closed 0"}));
}

}  // namespace
}  // namespace tapline
