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

TEST(TcpConnTime, RstAfterTheEndIsNoSecondEnd) {
  EXPECT_EQ(events(Conversation().handshake().close().client("", tcp_flag::kRst).frames()).back(), "fin closed 0");
}

TEST(TcpConnTime, BlindRstEndsNothing) {
  Conversation conversation;
  conversation.handshake().client("x");
  conversation.frames().push_back(
      testing::tcp_frame({.seq = 0x80000000, .flags = tcp_flag::kRst}, conversation.now_ns()));
  conversation.close();
  EXPECT_EQ(events(conversation.frames()).back(), "fin closed 0");
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

TEST(TcpConnTime, GivenUpAtTheEndOfTheCapture) {
  Conversation half;
  half.handshake().client_fin();
  Conversation::Options options;
  options.client_port = 41000;
  options.start_ns = half.now_ns() + 500'000'000;
  const std::vector<Frame> later = Conversation(options).handshake().frames();
  std::vector<Frame> frames = half.frames();
  frames.insert(frames.end(), later.begin(), later.end());
  const Lines lines = events(frames);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[4], "timeout half-closed " + std::to_string(frames.back().time_ns - frames[3].time_ns));
  EXPECT_EQ(lines[5], "timeout open 0");
}

TEST(TcpConnTime, OneDirectionIsEnough) {
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
