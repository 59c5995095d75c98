#include <gtest/gtest.h>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

const Lines kCounts = {"packets", "bytes"};
constexpr int64_t kSecond = 1'000'000'000;
// Bytes of the Ethernet, IPv4 and TCP headers of a frame.
constexpr int kHeaders = 14 + 20 + 20;

TEST(TcpPktSize, SumsBothDirectionsPerSecond) {
  Conversation conversation;
  conversation.handshake().client("abc").server("defgh").wait_ns(kSecond).client("x");
  Harness harness({"tcp_pkt_size"});
  harness.all(conversation.frames());
  EXPECT_EQ(harness.lines(kCounts),
            (Lines{"5 " + std::to_string(5 * kHeaders + 8), "1 " + std::to_string(kHeaders + 1)}));
  EXPECT_EQ(harness.tuples()[0].header.time_ns, 1000 * kSecond + kSecond - 1);
  // The capture ends before the last second does.
  EXPECT_EQ(harness.tuples()[1].header.time_ns, conversation.frames().back().time_ns);
}

TEST(TcpPktSize, CountsWireBytesUnderASnaplen) {
  std::vector<Frame> frames = Conversation().client(std::string(1000, 'x')).frames();
  frames[0].wire_bytes = static_cast<uint32_t>(frames[0].bytes.size());
  frames[0].bytes.resize(96);
  EXPECT_EQ(Harness({"tcp_pkt_size"}).all(frames).lines(kCounts), Lines{"1 " + std::to_string(kHeaders + 1000)});
}

TEST(TcpPktSize, EachQueryGetsTheCountsOfItsPackets) {
  const std::vector<Frame> frames = Conversation().handshake().client("x").frames();
  Harness harness({"tcp_pkt_size"});
  harness.feed({frames[0]}, 0b01);
  harness.feed({frames[1], frames[2]}, 0b11);
  harness.engine().end_queries(0b01);
  harness.feed({frames[3]}, 0b10);
  harness.engine().end();
  std::map<uint64_t, int> packets;
  for (const testing::Tuple& tuple : harness.tuples()) {
    for (const uint64_t query : {0b01u, 0b10u}) {
      if ((tuple.header.queries & query) != 0) packets[query] += std::stoi(tuple["packets"]);
    }
  }
  EXPECT_EQ(packets[0b01], 3);
  EXPECT_EQ(packets[0b10], 3);
}

TEST(TcpPktSize, EvictedAndReplacedFlowsAreCountedCompletely) {
  EngineOptions options = Harness::small();
  options.max_connections = 4;
  std::vector<Frame> frames;
  for (int64_t i = 0; i < 100; ++i) {
    frames.push_back(testing::tcp_frame({.src_port = static_cast<uint16_t>(1000 + i), .flags = tcp_flag::kAck},
                                        kSecond + i * 30'000'000));
  }
  Harness harness({"tcp_pkt_size"}, options);
  harness.all(frames);
  int packets = 0;
  for (const testing::Tuple& tuple : harness.tuples()) packets += std::stoi(tuple["packets"]);
  EXPECT_EQ(packets, 100);
}

}  // namespace
}  // namespace tapline
