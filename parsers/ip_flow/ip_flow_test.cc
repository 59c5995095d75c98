#include <gtest/gtest.h>

#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Bytes;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

constexpr int64_t kStart = 1'000'000'000'000, kSecond = 1'000'000'000;

Frame frame(uint8_t protocol, const Bytes& payload, int64_t time_ns) {
  return {testing::ethernet(0x0800, testing::ip_v4("10.0.0.1", "10.0.0.2", protocol, payload)), time_ns};
}

TEST(IpFlow, NamesProtocolsOncePerSecond) {
  const Bytes sctp = {0x0b, 0x59, 0x0b, 0x5a, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 4};
  Harness harness({"ip_flow"});
  harness.all({frame(132, sctp, kStart), frame(132, sctp, kStart + 1), frame(50, Bytes(16), kStart + 2),
               frame(200, Bytes(4), kStart + 3), testing::udp_frame({.payload = "x"}, kStart + 4),
               frame(132, sctp, kStart + kSecond), testing::tcp_frame({.flags = tcp_flag::kSyn}, kStart + kSecond)});
  EXPECT_EQ(harness.lines({"protocol"}), (Lines{"sctp", "esp", "200", "udp", "sctp"}));
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.2:2906>10.0.0.1:2905");
}

TEST(IpFlow, EncryptedTunnelsAreNamed) {
  const auto protocol = [](uint16_t port, std::string_view payload) {
    return Harness({"ip_flow"})
        .all({testing::udp_frame({.dst_port = port, .payload = payload}, kStart)})
        .lines({"protocol"});
  };
  const std::string_view record("\x17\xfe\xfd\0\0", 5);
  EXPECT_EQ(protocol(4755, record), Lines{"gre-dtls"});
  EXPECT_EQ(protocol(4755, "text"), Lines{"udp"});
  EXPECT_EQ(protocol(4433, record), Lines{"udp"});
}

TEST(IpFlow, EachQueryGetsTheTuplesOfItsPackets) {
  Harness harness({"ip_flow"});
  harness.feed({frame(50, Bytes(16), kStart)}, 1);
  harness.feed({frame(50, Bytes(16), kStart + 1)}, 3);
  ASSERT_EQ(harness.tuples().size(), 2u);
  EXPECT_EQ(harness.tuples()[1].header.queries, 2u);
}

}  // namespace
}  // namespace tapline
