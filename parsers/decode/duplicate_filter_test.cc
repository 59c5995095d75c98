#include "parsers/decode/duplicate_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "parsers/testing/frames.h"

namespace tapline {
namespace {

using testing::Bytes;
using testing::ethernet;
using testing::Frame;
using testing::ip_v4;
using testing::ip_v6;
using testing::tcp_segment;

const FlowHasher kHasher(HashKey{1, 2});
constexpr int64_t kMs = 1'000'000;

Bytes with(Bytes bytes, size_t offset, uint8_t value) {
  bytes.at(offset) = value;
  return bytes;
}

const Bytes kSegment =
    tcp_segment({.seq = 7, .ack = 9, .flags = tcp_flag::kAck, .payload = "a payload of some length"});
const Bytes kV4 = with(ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, kSegment), 5, 42);  // identification 42
const Bytes kV6 = ip_v6("fd00::1", "fd00::2", protocol::kTcp, kSegment);
const Bytes kUdp = with(ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, testing::udp_datagram(1, 2, "query")), 5, 42);

class DuplicateFilterTest : public ::testing::Test {
 protected:
  bool is_copy(const Bytes& frame, int64_t time_ns) {
    const Frame copy{frame, time_ns};
    Packet packet;
    const DecodeOutcome outcome = decode(copy.raw(), kHasher, &packet);
    EXPECT_TRUE(outcome == DecodeOutcome::kOk || outcome == DecodeOutcome::kFragment);
    return filter_.is_copy(packet);
  }
  bool v4_is_copy(const Bytes& ip, int64_t time_ns) { return is_copy(ethernet(0x0800, ip), time_ns); }
  bool v6_is_copy(const Bytes& ip, int64_t time_ns) { return is_copy(ethernet(0x86dd, ip), time_ns); }

  DuplicateFilter filter_{{}, HashKey{3, 4}};
};

TEST_F(DuplicateFilterTest, OnlyWithinTheWindow) {
  EXPECT_FALSE(v4_is_copy(kV4, 0));
  EXPECT_TRUE(v4_is_copy(kV4, 0));
  EXPECT_TRUE(v4_is_copy(kV4, 10 * kMs));
  EXPECT_FALSE(v4_is_copy(kV4, 10 * kMs + 1));
  EXPECT_TRUE(v4_is_copy(kV4, kMs));  // the other mirror's clock is a little behind
  EXPECT_FALSE(v6_is_copy(kV6, 0));
  EXPECT_TRUE(v6_is_copy(kV6, kMs));
  EXPECT_FALSE(v6_is_copy(kV6, kMs + 1));
  const Bytes no_id = with(kV4, 5, 0);
  EXPECT_FALSE(v4_is_copy(no_id, 0));
  EXPECT_FALSE(v4_is_copy(no_id, kMs + 1));
}

TEST_F(DuplicateFilterTest, TheCopyMayHaveBeenCapturedFirst) {
  EXPECT_FALSE(v4_is_copy(kV4, 20 * kMs));
  EXPECT_TRUE(v4_is_copy(kV4, 10 * kMs));
  EXPECT_FALSE(v4_is_copy(kV4, 10 * kMs - 1));
}

TEST_F(DuplicateFilterTest, IgnoresFieldsThatChangeInTransit) {
  v4_is_copy(kV4, 0);
  v4_is_copy(kUdp, 0);
  v6_is_copy(kV6, 0);
  EXPECT_TRUE(v4_is_copy(with(kV4, 1, 0xb8), 1));          // traffic class
  EXPECT_TRUE(v4_is_copy(with(kV4, 8, 63), 1));            // time to live
  EXPECT_TRUE(v4_is_copy(with(kV4, 10, 7), 1));            // header checksum
  EXPECT_TRUE(v4_is_copy(with(kV4, 20 + 16, 7), 1));       // TCP checksum
  EXPECT_TRUE(v4_is_copy(with(kUdp, 20 + 6, 7), 1));       // UDP checksum
  EXPECT_TRUE(v6_is_copy(with(kV6, 7, 63), 1));            // hop limit
  EXPECT_TRUE(is_copy(ethernet(0x0800, kV4, {9, 5}), 1));  // VLAN
  EXPECT_TRUE(is_copy(with(ethernet(0x0800, kV4), 0, 8), 1));
  EXPECT_TRUE(v4_is_copy(ip_v4("192.0.2.1", "192.0.2.2", protocol::kIpV4, kV4), 1));
}

// Changing any byte of the innermost datagram that is not in the list above makes a different packet.
TEST_F(DuplicateFilterTest, EveryOtherByteCounts) {
  int64_t time_ns = 0;
  const auto check = [&](const Bytes& ip, uint16_t type, std::initializer_list<size_t> ignored, size_t first) {
    for (size_t i = first; i < ip.size(); ++i) {
      if (std::find(ignored.begin(), ignored.end(), i) != ignored.end()) continue;
      time_ns += 100 * kMs;
      EXPECT_FALSE(is_copy(ethernet(type, ip), time_ns));
      EXPECT_FALSE(is_copy(ethernet(type, with(ip, i, ip[i] ^ 4)), time_ns)) << i;
    }
  };
  check(kV4, 0x0800, {8, 9, 10, 11, 20 + 12, 20 + 16, 20 + 17, 6}, 4);
  check(kUdp, 0x0800, {8, 9, 10, 11, 20 + 4, 20 + 5, 20 + 6, 20 + 7, 6}, 4);
  check(kV6, 0x86dd, {4, 5, 6, 7, 40 + 12, 40 + 16, 40 + 17}, 1);
}

TEST_F(DuplicateFilterTest, Fragments) {
  Bytes fragment = {protocol::kTcp, 0, 0, 8, 0, 0, 0, 9};
  for (const uint8_t byte : kSegment) fragment.push_back(byte);
  const Bytes ip = ip_v6("fd00::1", "fd00::2", protocol::kFragment, fragment);
  EXPECT_FALSE(v6_is_copy(ip, 0));
  EXPECT_TRUE(v6_is_copy(ip, 0));
  EXPECT_FALSE(v6_is_copy(with(ip, 40 + 7, 10), 0));  // identification
  EXPECT_FALSE(v6_is_copy(with(ip, 40 + 3, 16), 0));  // offset
}

// A sender may send equal packets without an identification, such as repeated acknowledgements.
TEST_F(DuplicateFilterTest, RepeatedPacketsTakeOneSlotEach) {
  filter_ = DuplicateFilter({.max_packets = 4}, HashKey{3, 4});
  EXPECT_FALSE(v4_is_copy(kV4, 0));
  for (int64_t ms = 1; ms <= 9; ms += 2) EXPECT_FALSE(v6_is_copy(kV6, ms * kMs));
  EXPECT_TRUE(v4_is_copy(kV4, 9 * kMs));
}

// Equal packets arrive at random times, up to 2 ms out of order. The model remembers all packets.
TEST_F(DuplicateFilterTest, AgreesWithAModelThatRemembersAllPackets) {
  std::mt19937 random(1618);
  std::map<std::pair<bool, uint8_t>, std::vector<int64_t>> kept;
  int copies = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool is_v6 = random() % 2 == 0;
    const auto value = static_cast<uint8_t>(random() % 16);
    const int64_t time_ns = i * kMs / 20 + static_cast<int64_t>(random() % 2'000'000);
    const int64_t window_ns = is_v6 ? kMs : 10 * kMs;
    std::vector<int64_t>& times = kept[{is_v6, value}];
    const bool expected = std::any_of(times.begin(), times.end(),
                                      [&](int64_t other_ns) { return std::abs(time_ns - other_ns) <= window_ns; });
    if (!expected) times.push_back(time_ns);
    copies += expected ? 1 : 0;
    const bool copy = is_v6 ? v6_is_copy(with(kV6, 30, value), time_ns) : v4_is_copy(with(kV4, 17, value), time_ns);
    ASSERT_EQ(copy, expected) << i;
  }
  EXPECT_GT(copies, 2000);
  EXPECT_LT(copies, 18'000);
}

TEST_F(DuplicateFilterTest, DifferentPacketsAreNeverConfused) {
  uint32_t missed_packets = 0;
  for (uint32_t i = 0; i < 200'000; ++i) {
    const Bytes ip = ip_v4("10.0.0.1", "10.0.0.2", protocol::kTcp, tcp_segment({.seq = i}));
    ASSERT_FALSE(v4_is_copy(with(ip, 5, 1), i)) << i;
    missed_packets += v4_is_copy(with(ip, 5, 1), i) ? 0 : 1;
  }
  EXPECT_EQ(missed_packets, 0u);
}

}  // namespace
}  // namespace tapline
