#include "sim/mirroring/originals.h"

#include <gtest/gtest.h>

namespace tapline::mirroring {
namespace {

constexpr int64_t kUs = 1'000;

SentPacket segment(uint32_t seq, int64_t sent_us, int64_t received_us) {
  SentPacket packet;
  packet.seq = seq;
  packet.payload_bytes = 1000;
  packet.sent_ns = sent_us * kUs;
  packet.received_ns = received_us < 0 ? -1 : received_us * kUs;
  return packet;
}

// Segment 1000 is lost twice. Segment 2000 arrives, and its spurious retransmission does not count.
TEST(Originals, ADelayLastsUntilTheFirstTransmissionThatArrives) {
  Observation seen;
  seen.flows = 1;
  seen.sent = {segment(1000, 10, -1), segment(2000, 11, 61), segment(1000, 210, -1), segment(2000, 211, 261),
               segment(1000, 410, 460)};
  const Originals originals = originals_of(seen, 0, 1000 * kUs, 500 * kUs);
  EXPECT_EQ(originals.delays_us, (std::vector<double>{450, 50}));
  EXPECT_DOUBLE_EQ(originals.lost, 0.4);
  EXPECT_EQ(originals.gigabits_per_second, (std::vector<double>{2000 * 8 / 500e3, 0}));
}

TEST(Originals, EarlierPacketsAndThoseInFlightAreExcluded) {
  Observation seen;
  seen.flows = 1;
  seen.sent = {segment(1000, 10, -1), segment(2000, 120, 170), segment(3000, 290, -1)};
  const Originals originals = originals_of(seen, 100 * kUs, 300 * kUs, 100 * kUs);
  EXPECT_EQ(originals.delays_us, (std::vector<double>{50}));
  EXPECT_EQ(originals.lost, 0);
  EXPECT_EQ(originals.gigabits_per_second.size(), 2u);
}

}  // namespace
}  // namespace tapline::mirroring
