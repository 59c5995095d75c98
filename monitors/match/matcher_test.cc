#include "monitors/match/matcher.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace tapline {
namespace {

IpAddress Ip(const char* text) {
  uint8_t bytes[16];
  if (inet_pton(AF_INET, text, bytes) == 1) return IpAddress::v4(bytes);
  EXPECT_EQ(inet_pton(AF_INET6, text, bytes), 1) << text;
  return IpAddress::v6(bytes);
}

Packet Between(const char* src, uint16_t src_port, const char* dst, uint16_t dst_port) {
  Packet packet;
  packet.src_ip = Ip(src);
  packet.src_port = src_port;
  packet.dst_ip = Ip(dst);
  packet.dst_port = dst_port;
  return packet;
}

AddressPattern Pattern(const char* prefix, uint16_t port = 0) { return *AddressPattern::Parse(prefix, port); }

TEST(AddressPatternTest, PrefixesOfBothFamilies) {
  EXPECT_TRUE(Pattern("10.1.0.0/16").Covers(Ip("10.1.255.3"), 80));
  EXPECT_FALSE(Pattern("10.1.0.0/16").Covers(Ip("10.2.0.0"), 80));
  EXPECT_TRUE(Pattern("10.1.2.3").Covers(Ip("10.1.2.3"), 80));
  EXPECT_FALSE(Pattern("10.1.2.3").Covers(Ip("10.1.2.2"), 80));
  EXPECT_TRUE(Pattern("10.1.2.3/8").Covers(Ip("10.200.0.1"), 80)) << "bits beyond the prefix are ignored";
  EXPECT_TRUE(Pattern("2001:db8::/33").Covers(Ip("2001:db8:7fff::1"), 80));
  EXPECT_FALSE(Pattern("2001:db8::/33").Covers(Ip("2001:db8:8000::1"), 80));
}

TEST(AddressPatternTest, WholeFamiliesAreNotEachOther) {
  EXPECT_TRUE(Pattern("0.0.0.0/0").Covers(Ip("1.2.3.4"), 1));
  EXPECT_FALSE(Pattern("0.0.0.0/0").Covers(Ip("::1"), 1));
  EXPECT_TRUE(Pattern("::/0").Covers(Ip("2001:db8::1"), 1));
  EXPECT_FALSE(Pattern("::/0").Covers(Ip("1.2.3.4"), 1));
  EXPECT_TRUE(Pattern("").Covers(Ip("1.2.3.4"), 1));
  EXPECT_TRUE(Pattern("").Covers(Ip("::1"), 1));
}

TEST(AddressPatternTest, Ports) {
  EXPECT_TRUE(Pattern("", 80).Covers(Ip("1.2.3.4"), 80));
  EXPECT_FALSE(Pattern("", 80).Covers(Ip("1.2.3.4"), 81));
}

TEST(AddressPatternTest, WhatIsNoAddress) {
  for (const char* text : {"h1", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "*"}) {
    EXPECT_FALSE(AddressPattern::Parse(text, 0)) << text;
  }
}

// Against the definition, bit by bit.
TEST(AddressPatternTest, AgreesWithBitByBitComparison) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    uint32_t network = random(), length = random() % 33;
    uint32_t address = network ^ (random() & random() & random());
    char text[32];
    std::snprintf(text, sizeof text, "%u.%u.%u.%u/%u", network >> 24, network >> 16 & 255, network >> 8 & 255,
                  network & 255, length);
    uint32_t in_network_order = htonl(address);
    bool same = length == 0 || (network ^ address) >> (32 - length) == 0;
    ASSERT_EQ(Pattern(text).Covers(IpAddress::v4(reinterpret_cast<uint8_t*>(&in_network_order)), 0), same) << text;
  }
}

TEST(ConnectionMatchTest, EmptyIsEverythingWithoutAHint) {
  auto answer = ConnectionMatch().Ask(Between("1.1.1.1", 5, "2.2.2.2", 80));
  EXPECT_TRUE(answer.wanted);
  EXPECT_EQ(answer.to_side, ToSide::kUnknown);
}

TEST(ConnectionMatchTest, BothDirectionsOfAConnection) {
  ConnectionMatch match({Pattern("10.0.0.0/8")}, {Pattern("2.2.2.2", 80)});
  auto there = match.Ask(Between("10.1.1.1", 5, "2.2.2.2", 80));
  EXPECT_TRUE(there.wanted);
  EXPECT_EQ(there.to_side, ToSide::kDestination);
  auto back = match.Ask(Between("2.2.2.2", 80, "10.1.1.1", 5));
  EXPECT_TRUE(back.wanted);
  EXPECT_EQ(back.to_side, ToSide::kSource);
  EXPECT_FALSE(match.Ask(Between("2.2.2.2", 80, "11.1.1.1", 5)).wanted);
  EXPECT_FALSE(match.Ask(Between("10.1.1.1", 80, "2.2.2.2", 5)).wanted) << "the port belongs to the TO side";
}

TEST(ConnectionMatchTest, OneListAlone) {
  ConnectionMatch from({Pattern("10.0.0.1")}, {});
  EXPECT_EQ(from.Ask(Between("10.0.0.1", 5, "2.2.2.2", 80)).to_side, ToSide::kDestination);
  EXPECT_EQ(from.Ask(Between("2.2.2.2", 80, "10.0.0.1", 5)).to_side, ToSide::kSource);
  ConnectionMatch to({}, {Pattern("", 80)});
  EXPECT_TRUE(to.Ask(Between("2.2.2.2", 80, "10.0.0.1", 5)).wanted);
  EXPECT_FALSE(to.Ask(Between("2.2.2.2", 81, "10.0.0.1", 5)).wanted);
}

TEST(ConnectionMatchTest, FittingBothWaysGivesNoHint) {
  ConnectionMatch match({}, {Pattern("", 80)});
  auto answer = match.Ask(Between("10.0.0.1", 80, "10.0.0.2", 80));
  EXPECT_TRUE(answer.wanted);
  EXPECT_EQ(answer.to_side, ToSide::kUnknown);
}

TEST(ConnectionMatchTest, PortsOfARange) {
  ConnectionMatch match({}, {*AddressPattern::Parse("10.0.0.0/8", 8000, 8099)});
  for (uint16_t port : {8000, 8042, 8099}) EXPECT_TRUE(match.Ask(Between("1.1.1.1", 5, "10.0.0.1", port)).wanted);
  for (uint16_t port : {7999, 8100}) EXPECT_FALSE(match.Ask(Between("1.1.1.1", 5, "10.0.0.1", port)).wanted);
}

TEST(ConnectionMatchTest, VlansAndTenants) {
  ConnectionMatch match({}, {Pattern("", 80)});
  match.Restrict({100, 200}, {5001});
  Packet packet = Between("1.1.1.1", 5, "10.0.0.1", 80);
  EXPECT_FALSE(match.Ask(packet).wanted);
  packet.vlan_tags = 1;
  packet.vlan[0] = 200;
  EXPECT_FALSE(match.Ask(packet).wanted);
  packet.network_id = 5001;
  EXPECT_TRUE(match.Ask(packet).wanted);
  packet.vlan[0] = 300;
  EXPECT_FALSE(match.Ask(packet).wanted);
  ConnectionMatch all;
  EXPECT_TRUE(all.wants_all());
  all.Restrict({100}, {});
  EXPECT_FALSE(all.wants_all());
}

TEST(ConnectionMatchTest, WhatAnotherHasIsLeftOutWhicheverWayRound) {
  ConnectionMatch match({}, {Pattern("10.1.0.2", 0)});
  match.Except(ConnectionMatch({}, {Pattern("10.0.0.2", 0)}));
  EXPECT_FALSE(match.Ask(Between("10.0.0.2", 5, "10.1.0.2", 80)).wanted);
  EXPECT_FALSE(match.Ask(Between("10.1.0.2", 80, "10.0.0.2", 5)).wanted);
  EXPECT_FALSE(match.Ask(Between("10.0.0.2", 5, "10.2.0.2", 80)).wanted) << "is nobody's here";
  EXPECT_EQ(match.Ask(Between("10.2.0.2", 5, "10.1.0.2", 80)).to_side, ToSide::kDestination);
  ConnectionMatch all;
  all.Except(ConnectionMatch({}, {Pattern("10.0.0.2", 0)}));
  EXPECT_FALSE(all.wants_all());
}

TEST(ConnectionMatchTest, AnyOfSeveral) {
  ConnectionMatch match({}, {Pattern("10.0.0.1", 80), Pattern("2001:db8::/32", 3306)});
  EXPECT_TRUE(match.Ask(Between("1.1.1.1", 5, "10.0.0.1", 80)).wanted);
  EXPECT_TRUE(match.Ask(Between("2001:db8::7", 3306, "fe80::1", 5)).wanted);
  EXPECT_FALSE(match.Ask(Between("1.1.1.1", 5, "10.0.0.1", 3306)).wanted);
}

}  // namespace
}  // namespace tapline
