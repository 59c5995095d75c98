#include "monitors/match/matcher.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace tapline {
namespace {

IpAddress ip(const char* text) {
  uint8_t bytes[16];
  if (inet_pton(AF_INET, text, bytes) == 1) return IpAddress::v4(bytes);
  EXPECT_EQ(inet_pton(AF_INET6, text, bytes), 1) << text;
  return IpAddress::v6(bytes);
}

Packet between(const char* src, uint16_t src_port, const char* dst, uint16_t dst_port) {
  Packet packet;
  packet.src_ip = ip(src);
  packet.src_port = src_port;
  packet.dst_ip = ip(dst);
  packet.dst_port = dst_port;
  return packet;
}

AddressPattern pattern(const char* prefix, uint16_t port = 0) { return *AddressPattern::parse(prefix, port); }

TEST(AddressPatternTest, PrefixesOfBothFamilies) {
  EXPECT_TRUE(pattern("10.1.0.0/16").covers(ip("10.1.255.3"), 80));
  EXPECT_FALSE(pattern("10.1.0.0/16").covers(ip("10.2.0.0"), 80));
  EXPECT_TRUE(pattern("10.1.2.3").covers(ip("10.1.2.3"), 80));
  EXPECT_FALSE(pattern("10.1.2.3").covers(ip("10.1.2.2"), 80));
  EXPECT_TRUE(pattern("10.1.2.3/8").covers(ip("10.200.0.1"), 80)) << "bits beyond the prefix are ignored";
  EXPECT_TRUE(pattern("2001:db8::/33").covers(ip("2001:db8:7fff::1"), 80));
  EXPECT_FALSE(pattern("2001:db8::/33").covers(ip("2001:db8:8000::1"), 80));
}

TEST(AddressPatternTest, WholeFamiliesAreDistinct) {
  EXPECT_TRUE(pattern("0.0.0.0/0").covers(ip("1.2.3.4"), 1));
  EXPECT_FALSE(pattern("0.0.0.0/0").covers(ip("::1"), 1));
  EXPECT_TRUE(pattern("::/0").covers(ip("2001:db8::1"), 1));
  EXPECT_FALSE(pattern("::/0").covers(ip("1.2.3.4"), 1));
  EXPECT_TRUE(pattern("").covers(ip("1.2.3.4"), 1));
  EXPECT_TRUE(pattern("").covers(ip("::1"), 1));
}

TEST(AddressPatternTest, Ports) {
  EXPECT_TRUE(pattern("", 80).covers(ip("1.2.3.4"), 80));
  EXPECT_FALSE(pattern("", 80).covers(ip("1.2.3.4"), 81));
}

TEST(AddressPatternTest, InvalidAddresses) {
  for (const char* text : {"h1", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "*"}) {
    EXPECT_FALSE(AddressPattern::parse(text, 0)) << text;
  }
}

// Compares patterns with the definition, bit by bit.
TEST(AddressPatternTest, AgreesWithBitByBitComparison) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    uint32_t network = random(), length = random() % 33;
    uint32_t address = network ^ (random() & random() & random());
    char text[32];
    std::snprintf(text, sizeof text, "%u.%u.%u.%u/%u", network >> 24, network >> 16 & 255, network >> 8 & 255,
                  network & 255, length);
    uint32_t in_network_order = htonl(address);
    bool is_same = length == 0 || (network ^ address) >> (32 - length) == 0;
    ASSERT_EQ(pattern(text).covers(IpAddress::v4(reinterpret_cast<uint8_t*>(&in_network_order)), 0), is_same) << text;
  }
}

TEST(ConnectionMatchTest, EmptyMatchSelectsAllPacketsWithoutAHint) {
  auto response = ConnectionMatch().match(between("1.1.1.1", 5, "2.2.2.2", 80));
  EXPECT_TRUE(response.wanted);
  EXPECT_EQ(response.to_side, ToSide::kUnknown);
}

TEST(ConnectionMatchTest, BothDirectionsOfAConnection) {
  ConnectionMatch match({pattern("10.0.0.0/8")}, {pattern("2.2.2.2", 80)});
  auto forward = match.match(between("10.1.1.1", 5, "2.2.2.2", 80));
  EXPECT_TRUE(forward.wanted);
  EXPECT_EQ(forward.to_side, ToSide::kDestination);
  auto back = match.match(between("2.2.2.2", 80, "10.1.1.1", 5));
  EXPECT_TRUE(back.wanted);
  EXPECT_EQ(back.to_side, ToSide::kSource);
  EXPECT_FALSE(match.match(between("2.2.2.2", 80, "11.1.1.1", 5)).wanted);
  EXPECT_FALSE(match.match(between("10.1.1.1", 80, "2.2.2.2", 5)).wanted) << "the port belongs to the TO side";
}

TEST(ConnectionMatchTest, OneListAlone) {
  ConnectionMatch from({pattern("10.0.0.1")}, {});
  EXPECT_EQ(from.match(between("10.0.0.1", 5, "2.2.2.2", 80)).to_side, ToSide::kDestination);
  EXPECT_EQ(from.match(between("2.2.2.2", 80, "10.0.0.1", 5)).to_side, ToSide::kSource);
  ConnectionMatch to({}, {pattern("", 80)});
  EXPECT_TRUE(to.match(between("2.2.2.2", 80, "10.0.0.1", 5)).wanted);
  EXPECT_FALSE(to.match(between("2.2.2.2", 81, "10.0.0.1", 5)).wanted);
}

TEST(ConnectionMatchTest, MatchingBothWaysGivesNoHint) {
  ConnectionMatch match({}, {pattern("", 80)});
  auto response = match.match(between("10.0.0.1", 80, "10.0.0.2", 80));
  EXPECT_TRUE(response.wanted);
  EXPECT_EQ(response.to_side, ToSide::kUnknown);
}

TEST(ConnectionMatchTest, PortsOfARange) {
  ConnectionMatch match({}, {*AddressPattern::parse("10.0.0.0/8", 8000, 8099)});
  for (uint16_t port : {8000, 8042, 8099}) EXPECT_TRUE(match.match(between("1.1.1.1", 5, "10.0.0.1", port)).wanted);
  for (uint16_t port : {7999, 8100}) EXPECT_FALSE(match.match(between("1.1.1.1", 5, "10.0.0.1", port)).wanted);
}

TEST(ConnectionMatchTest, VlansAndTenants) {
  ConnectionMatch match({}, {pattern("", 80)});
  match.restrict({100, 200}, {5001});
  Packet packet = between("1.1.1.1", 5, "10.0.0.1", 80);
  EXPECT_FALSE(match.match(packet).wanted);
  packet.vlan_tags = 1;
  packet.vlan[0] = 200;
  EXPECT_FALSE(match.match(packet).wanted);
  packet.network_id = 5001;
  EXPECT_TRUE(match.match(packet).wanted);
  packet.vlan[0] = 300;
  EXPECT_FALSE(match.match(packet).wanted);
  ConnectionMatch all;
  EXPECT_TRUE(all.wants_all());
  all.restrict({100}, {});
  EXPECT_FALSE(all.wants_all());
}

TEST(ConnectionMatchTest, FlowsOfOtherMonitorsAreLeftOutInBothDirections) {
  ConnectionMatch match({}, {pattern("10.1.0.2", 0)});
  match.except(ConnectionMatch({}, {pattern("10.0.0.2", 0)}));
  EXPECT_FALSE(match.match(between("10.0.0.2", 5, "10.1.0.2", 80)).wanted);
  EXPECT_FALSE(match.match(between("10.1.0.2", 80, "10.0.0.2", 5)).wanted);
  EXPECT_FALSE(match.match(between("10.0.0.2", 5, "10.2.0.2", 80)).wanted) << "matches neither query";
  EXPECT_EQ(match.match(between("10.2.0.2", 5, "10.1.0.2", 80)).to_side, ToSide::kDestination);
  ConnectionMatch all;
  all.except(ConnectionMatch({}, {pattern("10.0.0.2", 0)}));
  EXPECT_FALSE(all.wants_all());
}

TEST(ConnectionMatchTest, AnyOfSeveral) {
  ConnectionMatch match({}, {pattern("10.0.0.1", 80), pattern("2001:db8::/32", 3306)});
  EXPECT_TRUE(match.match(between("1.1.1.1", 5, "10.0.0.1", 80)).wanted);
  EXPECT_TRUE(match.match(between("2001:db8::7", 3306, "fe80::1", 5)).wanted);
  EXPECT_FALSE(match.match(between("1.1.1.1", 5, "10.0.0.1", 3306)).wanted);
}

TEST(ConnectionMatchTest, QueuesRestrictTheMatchToTheirTaps) {
  ConnectionMatch match;
  EXPECT_TRUE(match.wants_all());
  match.restrict_to_queues(uint64_t{1} << 63, 1);
  EXPECT_TRUE(match.of_queues());
  EXPECT_FALSE(match.wants_all());
  for (int tap = 0; tap < 256; ++tap) {
    Packet packet = between("10.0.0.1", 1, "10.0.0.2", 2);
    packet.tap = static_cast<uint8_t>(tap);
    EXPECT_EQ(match.match(packet).wanted, tap == 0 || tap == 63) << tap;
    for (const bool is_repeated : {false, true}) {
      packet.repeated_view = is_repeated;
      EXPECT_EQ(match.counts(packet), tap == 63) << tap;
    }
    packet.reassembled = true;
    EXPECT_FALSE(match.counts(packet)) << "its fragments count";
  }
}

TEST(ConnectionMatchTest, WithoutQueuesTheFirstViewCounts) {
  Packet packet;
  EXPECT_TRUE(ConnectionMatch().counts(packet));
  packet.repeated_view = true;
  EXPECT_FALSE(ConnectionMatch().counts(packet));
}

TEST(ConnectionMatchTest, SelectsFlowsInEitherDirection) {
  const ConnectionMatch match({pattern("10.0.0.0/8")}, {pattern("192.168.0.0/16", 80)});
  const IpAddress client = ip("10.1.1.1"), server = ip("192.168.1.1");
  EXPECT_TRUE(match.wants_flow({client, 4000}, {server, 80}));
  EXPECT_TRUE(match.wants_flow({server, 80}, {client, 4000}));
  EXPECT_FALSE(match.wants_flow({client, 80}, {server, 4000}));
  EXPECT_FALSE(match.wants_flow({client, 4000}, {client, 80}));
}

}  // namespace
}  // namespace tapline
