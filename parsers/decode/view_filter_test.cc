#include "parsers/decode/view_filter.h"

#include <gtest/gtest.h>

#include "parsers/testing/frames.h"

namespace tapline {
namespace {

using testing::Bytes;
using testing::ethernet;
using testing::Frame;

const FlowHasher kHasher(HashKey{1, 2});
constexpr int64_t kMs = 1'000'000;

Bytes datagram(uint16_t identification) {
  Bytes ip =
      testing::ip_v4("10.0.0.1", "10.0.0.2", protocol::kUdp, testing::udp_datagram(7, 9, "a datagram of some length"));
  ip[4] = static_cast<uint8_t>(identification >> 8);
  ip[5] = static_cast<uint8_t>(identification);
  return ethernet(0x0800, ip);
}

class ViewFilterTest : public ::testing::Test {
 protected:
  void make(ViewOptions options) { filter_ = std::make_unique<ViewFilter>(options, HashKey{3, 4}); }

  bool is_repeated(uint8_t tap, uint16_t identification, int64_t time_ns) {
    const Frame frame{datagram(identification), time_ns};
    RawPacket raw = frame.raw();
    raw.tap = tap;
    Packet packet;
    EXPECT_EQ(decode(raw, kHasher, &packet), DecodeOutcome::kOk);
    return filter_->is_repeated(packet);
  }

  std::unique_ptr<ViewFilter> filter_ = std::make_unique<ViewFilter>(ViewOptions{}, HashKey{3, 4});
};

TEST_F(ViewFilterTest, AnotherTapRepeatsAPacketUntilTheHorizon) {
  make({.horizon_ns = 50 * kMs});
  EXPECT_FALSE(is_repeated(0, 1, 0));
  EXPECT_TRUE(is_repeated(1, 1, 50 * kMs));
  EXPECT_FALSE(is_repeated(0, 2, 0));
  EXPECT_FALSE(is_repeated(1, 2, 50 * kMs + 1));
  EXPECT_EQ(filter_->forgotten_early(), 0u) << "the horizon is the user's choice";
}

TEST_F(ViewFilterTest, EitherTapMayShowItFirst) {
  EXPECT_FALSE(is_repeated(1, 1, 10 * kMs));
  EXPECT_TRUE(is_repeated(0, 1, 9 * kMs));
}

TEST_F(ViewFilterTest, EqualPacketsOfOneTapAreDifferentPackets) {
  EXPECT_FALSE(is_repeated(0, 1, 0));
  EXPECT_FALSE(is_repeated(0, 1, 1)) << "a retransmission";
  EXPECT_TRUE(is_repeated(1, 1, 2));
  EXPECT_TRUE(is_repeated(1, 1, 3));
  EXPECT_FALSE(is_repeated(1, 1, 4)) << "there were only two";
}

TEST_F(ViewFilterTest, EveryTapHasOneView) {
  make({.taps = 3});
  EXPECT_FALSE(is_repeated(0, 1, 0));
  EXPECT_TRUE(is_repeated(1, 1, 1));
  EXPECT_TRUE(is_repeated(2, 1, 2));
  EXPECT_FALSE(is_repeated(2, 1, 3));
}

TEST_F(ViewFilterTest, AnUnseenRetransmissionIsTheOldestOne) {
  // The queue dropped the first of two equal packets.
  EXPECT_FALSE(is_repeated(0, 1, 0));
  EXPECT_FALSE(is_repeated(0, 1, 200 * kMs));
  EXPECT_TRUE(is_repeated(1, 1, 240 * kMs));
}

TEST_F(ViewFilterTest, MemoryIsBoundedAndEvictionsAreCounted) {
  make({.max_packets = 64});
  for (uint16_t i = 0; i < 100; ++i) EXPECT_FALSE(is_repeated(0, i, i));
  EXPECT_EQ(filter_->forgotten_early(), 36u);
  for (uint16_t i = 36; i < 100; ++i) EXPECT_TRUE(is_repeated(1, i, 200));
  EXPECT_FALSE(is_repeated(1, 35, 200)) << "forgotten";
  EXPECT_EQ(filter_->forgotten_early(), 36u) << "both taps have shown the evicted packet";
}

TEST_F(ViewFilterTest, EvictsPacketsBeyondTheHorizon) {
  make({.horizon_ns = kMs, .max_packets = 64});
  for (uint16_t i = 0; i < 1000; ++i) EXPECT_FALSE(is_repeated(0, i, i * kMs));
  EXPECT_EQ(filter_->forgotten_early(), 0u);
}

TEST_F(ViewFilterTest, AFloodOfEqualPacketsIsBoundedAndCounted) {
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(is_repeated(0, 1, i));
  EXPECT_GT(filter_->forgotten_early(), 0u);
  uint64_t repeated = 0;
  for (int i = 0; i < 1000; ++i) repeated += is_repeated(1, 1, 1000 + i);
  EXPECT_GE(repeated, 64u);
  EXPECT_GE(repeated + filter_->forgotten_early(), 1000u) << "every packet that may have counted twice is reported";
}

}  // namespace
}  // namespace tapline
