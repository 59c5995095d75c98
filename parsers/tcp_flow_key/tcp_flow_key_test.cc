#include <gtest/gtest.h>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Harness;

TEST(TcpFlowKey, OncePerFlowAndSecond) {
  Conversation conversation;
  conversation.handshake().client("x").wait_ns(999'000'000).client("y").client("z").wait_ns(5'000'000'000).client("w");
  Harness harness({"tcp_flow_key"});
  harness.all(conversation.frames());
  ASSERT_EQ(harness.tuples().size(), 3u);
  EXPECT_EQ(harness.tuples()[0].header.time_ns, conversation.frames()[0].time_ns);
  EXPECT_EQ(harness.tuples()[1].header.time_ns, conversation.frames()[4].time_ns);
  EXPECT_EQ(harness.tuples()[2].header.time_ns, conversation.frames()[6].time_ns);
  EXPECT_EQ(harness.tuples()[2].endpoints(), "10.0.0.1:40000>10.0.0.2:80");
}

TEST(TcpFlowKey, FlowsOfTwoVlansAreSeparate) {
  std::vector<testing::Frame> frames;
  for (const uint16_t vlan : {1, 2})
    frames.push_back(testing::tcp_frame({.flags = tcp_flag::kAck, .vlans = {vlan}}, 1'000'000'000));
  EXPECT_EQ(Harness({"tcp_flow_key"}).all(frames).tuples().size(), 2u);
}

TEST(TcpFlowKey, ReportsTheFlowToALaterQuery) {
  const std::vector<testing::Frame> frames = Conversation().handshake().frames();
  Harness harness({"tcp_flow_key"});
  harness.feed({frames[0]}, 0b01);
  harness.feed({frames[1], frames[2]}, 0b11);
  ASSERT_EQ(harness.tuples().size(), 2u);
  EXPECT_EQ(harness.tuples()[0].header.queries, 0b01u);
  EXPECT_EQ(harness.tuples()[1].header.queries, 0b10u);
}

TEST(TcpFlowKey, OtherProtocolsEmitNothing) {
  testing::Frame udp;
  udp.bytes = testing::ethernet(
      0x0800, testing::ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, testing::udp_datagram(1, 2, "x")));
  EXPECT_EQ(Harness({"tcp_flow_key"}).all({udp}).tuples().size(), 0u);
}

}  // namespace
}  // namespace tapline
