#include "bench/traffic/traffic.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline::traffic {
namespace {

struct ReceivedTraffic {
  uint64_t packets = 0, syns = 0;
  std::map<uint64_t, uint64_t> flows;
};

ReceivedTraffic make(Traffic* traffic, int packets) {
  ReceivedTraffic seen;
  FlowHasher hasher{HashKey{}};
  for (int i = 0; i < packets; ++i) {
    uint8_t frame[kMaxFrameBytes];
    size_t bytes = traffic->next(frame);
    Packet packet;
    RawPacket raw = {frame, static_cast<uint32_t>(bytes), static_cast<uint32_t>(bytes), i, LinkType::kEthernet};
    EXPECT_EQ(decode(raw, hasher, &packet), DecodeOutcome::kOk);
    ++seen.packets;
    ++seen.flows[packet.flow_hash];
    seen.syns += frame[14 + 20 + 13] == kSyn;
  }
  return seen;
}

TEST(TrafficTest, CountsSentAndLostPackets) {
  Traffic traffic({.flows = 1000, .flood = 0.2, .churn = 0.2, .loss = 0.1, .seed = 7});
  make(&traffic, 50'000);
  const Counts& counts = traffic.counts();
  EXPECT_EQ(counts.sent(), 50'000u);
  EXPECT_NEAR(static_cast<double>(counts.lost) / static_cast<double>(counts.made), 0.1, 0.01);
  EXPECT_NEAR(static_cast<double>(counts.flood) / static_cast<double>(counts.made), 0.2, 0.03);
  EXPECT_TRUE(traffic.all_flows_begun());
}

TEST(TrafficTest, KeptFlowsStayInUse) {
  Traffic traffic({.flows = 500, .flood = 0, .churn = 0, .loss = 0, .seed = 7});
  make(&traffic, 1500);
  EXPECT_TRUE(traffic.all_flows_begun());
  ReceivedTraffic second = make(&traffic, 10'000);
  EXPECT_EQ(second.flows.size(), 500u);
  for (const auto& [hash, packets] : second.flows) EXPECT_EQ(packets, 20u);
  EXPECT_EQ(second.syns, 0u);
}

TEST(TrafficTest, SameSeedGivesTheSameTraffic) {
  Traffic one({.flows = 100, .seed = 3}), other({.flows = 100, .seed = 3});
  for (int i = 0; i < 5000; ++i) {
    uint8_t a[kMaxFrameBytes], b[kMaxFrameBytes];
    size_t bytes = one.next(a);
    ASSERT_EQ(bytes, other.next(b));
    ASSERT_EQ(std::memcmp(a, b, bytes), 0);
  }
}

TEST(FrameTest, ADatagramHasItsCodePointAndItsPorts) {
  uint8_t frame[kMaxFrameBytes];
  const size_t bytes = write_datagram({0x0a000001, 1234}, {0x0a000002, 9}, 46, std::string(64, 'x'), frame);
  EXPECT_EQ(bytes, 14u + 20 + 8 + 64);
  FlowHasher hasher{HashKey{}};
  Packet packet;
  const auto length = static_cast<uint32_t>(bytes);
  const RawPacket raw = {frame, length, length, 0, LinkType::kEthernet};
  ASSERT_EQ(decode(raw, hasher, &packet), DecodeOutcome::kOk);
  EXPECT_EQ(frame[packet.ip_offset + 1] >> 2, 46);
  EXPECT_EQ(packet.src_port, 1234);
  EXPECT_EQ(packet.dst_port, 9);
}

}  // namespace
}  // namespace tapline::traffic
