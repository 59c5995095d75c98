#include <gtest/gtest.h>

#include <map>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

const Lines kCounts = {"flows", "client_packets", "server_packets", "client_bytes", "server_bytes", "bytes", "age_ns"};
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1000 * kSecond;
// Size of the Ethernet, IPv4 and UDP headers of the test's frames.
constexpr int kHeaders = 14 + 20 + 8;

Frame question(int64_t time_ns, uint16_t port = 40000, std::string_view payload = "abc") {
  return testing::udp_frame({.src_port = port, .payload = payload}, time_ns);
}
Frame answer(int64_t time_ns, uint16_t port = 40000, std::string_view payload = "defgh") {
  return testing::udp_frame(
      {.src = "10.0.0.2", .dst = "10.0.0.1", .src_port = 53, .dst_port = port, .payload = payload}, time_ns);
}

std::string counts(int flows, int client_packets, int server_packets, int client_payload, int server_payload,
                   int64_t age_ns) {
  const int client = client_packets * kHeaders + client_payload, server = server_packets * kHeaders + server_payload;
  std::string line;
  for (const int64_t number : {int64_t{flows}, int64_t{client_packets}, int64_t{server_packets}, int64_t{client},
                               int64_t{server}, int64_t{client + server}, age_ns}) {
    line += (line.empty() ? "" : " ") + std::to_string(number);
  }
  return line;
}

TEST(UdpFlow, CountsBothDirectionsPerSecond) {
  Harness harness({"udp_flow"});
  harness.all({question(kStart), answer(kStart + 1000), answer(kStart + 2000), question(kStart + 3 * kSecond + 5)});
  EXPECT_EQ(harness.lines(kCounts),
            (Lines{counts(1, 1, 2, 3, 10, kSecond - 1), counts(0, 1, 0, 3, 0, 3 * kSecond + 5)}));
  EXPECT_EQ(harness.tuples()[0].header.time_ns, kStart + kSecond - 1);
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.1:40000>10.0.0.2:53");
}

TEST(UdpFlow, AResponseWithoutItsRequestIsCountedForTheServer) {
  Harness harness({"udp_flow"});
  harness.all({answer(kStart)});
  EXPECT_EQ(harness.lines(kCounts), Lines{counts(1, 0, 1, 0, 5, 0)});
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.1:40000>10.0.0.2:53");
}

TEST(UdpFlow, FlowsOfTwoVlansOrPortsAreSeparate) {
  std::vector<Frame> frames;
  for (const uint16_t vlan : {1, 2}) {
    for (const uint16_t port : {1111, 2222}) {
      frames.push_back(testing::udp_frame({.src_port = port, .vlans = {vlan}}, kStart));
    }
  }
  EXPECT_EQ(Harness({"udp_flow"}).all(frames).tuples().size(), 4u);
}

TEST(UdpFlow, AFlowEndsAfterAMinuteOfSilence) {
  Harness harness({"udp_flow"});
  harness.all({question(kStart), question(kStart + 59 * kSecond), question(kStart + 120 * kSecond)});
  std::string flows;
  for (const testing::Tuple& tuple : harness.tuples()) flows += tuple["flows"];
  EXPECT_EQ(flows, "101");
}

TEST(UdpFlow, CountsWireBytesUnderASnaplen) {
  Frame frame = question(kStart, 40000, std::string(1000, 'x'));
  frame.wire_bytes = static_cast<uint32_t>(frame.bytes.size());
  frame.bytes.resize(96);
  EXPECT_EQ(Harness({"udp_flow"}).all({frame}).tuples().at(0)["client_bytes"], std::to_string(kHeaders + 1000));
}

TEST(UdpFlow, EachQueryGetsTheCountsOfItsPackets) {
  Harness harness({"udp_flow"});
  harness.feed({question(kStart)}, 0b01);
  harness.feed({answer(kStart + 1), answer(kStart + 2)}, 0b11);
  harness.engine().end_queries(0b01);
  harness.feed({question(kStart + 3)}, 0b10);
  harness.engine().end();
  std::map<uint64_t, std::array<int, 3>> seen;
  for (const testing::Tuple& tuple : harness.tuples()) {
    for (const uint64_t query : {0b01u, 0b10u}) {
      if ((tuple.header.queries & query) == 0) continue;
      seen[query][0] += std::stoi(tuple["flows"]);
      seen[query][1] += std::stoi(tuple["client_packets"]);
      seen[query][2] += std::stoi(tuple["server_packets"]);
    }
  }
  EXPECT_EQ(seen[0b01], (std::array<int, 3>{1, 1, 2}));
  EXPECT_EQ(seen[0b10], (std::array<int, 3>{1, 1, 2}));
}

TEST(UdpFlow, EvictedFlowsAreCountedCompletely) {
  EngineOptions options = Harness::small();
  options.max_connections = 4;
  std::vector<Frame> frames;
  for (int64_t i = 0; i < 100; ++i)
    frames.push_back(question(kStart + i * 30'000'000, static_cast<uint16_t>(1000 + i)));
  Harness harness({"udp_flow"}, options);
  harness.all(frames);
  int packets = 0;
  for (const testing::Tuple& tuple : harness.tuples()) packets += std::stoi(tuple["client_packets"]);
  EXPECT_EQ(packets, 100);
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), 96u);
}

TEST(UdpFlow, OtherProtocolsEmitNothing) {
  std::vector<Frame> frames = testing::Conversation().handshake().client("x").close().frames();
  frames.push_back(testing::icmp_frame("10.0.0.1", "10.0.0.2", std::string(8, '\0'), kStart + kSecond));
  EXPECT_EQ(Harness({"udp_flow"}).all(frames).tuples().size(), 0u);
}

}  // namespace
}  // namespace tapline
