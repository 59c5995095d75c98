#include "sim/mirroring/sampling.h"

#include <gtest/gtest.h>

namespace tapline::mirroring {
namespace {

// Returns copies of full packets from the given flows, 10 us apart. Flow 9 stands for an acknowledgement of flow 0.
Observation copies_of(const std::vector<uint32_t>& flows) {
  Observation seen;
  seen.flows = 3;
  for (const uint32_t flow : flows) {
    SentPacket packet;
    packet.flow = flow == 9 ? 0 : flow;
    packet.payload_bytes = flow == 9 ? 0 : 1448;
    packet.wire_bytes = packet.payload_bytes + 66;
    packet.sent_ns = 10'000 * static_cast<int64_t>(seen.sent.size());
    seen.copies.push_back({packet.sent_ns + 70'000, static_cast<uint32_t>(seen.sent.size())});
    seen.sent.push_back(packet);
  }
  return seen;
}

TEST(Sampling, CountsBurstsAndGaps) {
  const Sampling sampling = sampling_of(copies_of({0, 0, 1, 9, 0, 2, 2, 2, 1}), 0, 10'000'000'000);
  EXPECT_EQ(sampling.burst_mtu, (std::vector<double>{2, 1, 1, 3, 1}));
  EXPECT_EQ(sampling.gap_mtu, (std::vector<double>{1, 4}));  // of flow 0, then of flow 1
  EXPECT_EQ(sampling.samples_by_flow, (std::vector<double>{3, 2, 3}));
}

TEST(Sampling, ASendersGapIsTheTimeItsLinkIsIdle) {
  const Sampling sampling = sampling_of(copies_of({0, 1, 0}), 0, 10'000'000'000);
  ASSERT_EQ(sampling.sender_gap_mtu.size(), 1u);
  EXPECT_NEAR(sampling.sender_gap_mtu[0], (20'000 - 1538 * 0.8) / 1200, 1e-6);
}

TEST(Sampling, ExcludesEarlierPackets) {
  const Sampling sampling = sampling_of(copies_of({0, 0, 1, 2}), 90'000, 10'000'000'000);
  EXPECT_EQ(sampling.burst_mtu, (std::vector<double>{1, 1}));
  EXPECT_EQ(sample_delays_us(copies_of({0, 9, 1}), 85'000), (std::vector<double>{70}));
}

TEST(Sampling, Figures) {
  EXPECT_EQ(quantile({5, 1, 3}, 0.5), 3);
  EXPECT_EQ(quantile({5, 1, 3}, 1), 5);
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(mean({1, 2, 6}), 3);
  EXPECT_EQ(deviation({2, 4}), 1);
  EXPECT_EQ(share_within({1, 2, 3, 4}, 3), 0.75);
}

}  // namespace
}  // namespace tapline::mirroring
