#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parsers/queues/testing/queue_frames.h"

namespace tapline {
namespace {

using queues::testing::kDepartures;
using queues::testing::two_flows;
using testing::Frame;
using testing::Harness;

Harness harness_of(uint64_t every_ns, uint64_t link_bits_per_second = 0) {
  const Value values[] = {Value::u64(every_ns), Value::string("five_tuple"), Value::u64(kNsPerSecond),
                          Value::string("one"), Value::u64(link_bits_per_second)};
  return queues::testing::tapped("queue_depth", values);
}

uint64_t sum(const Harness& harness, const std::string& field) {
  uint64_t sum = 0;
  for (const testing::Tuple& tuple : harness.tuples()) sum += std::stoull(tuple[field]);
  return sum;
}

TEST(QueueDepth, ReportsTheFullestMomentAndTheWaits) {
  Harness harness = harness_of(kNsPerSecond);
  harness.all(two_flows(12));
  // The first tuple is the probe's.
  EXPECT_EQ(
      harness.lines({"queue", "queue_bytes", "queue_packets", "flows_in_queue", "min_delay_ns", "max_delay_ns",
                     "packets", "bytes", "lost", "never_came", "ambiguous", "error_bytes", "offset_ns"}),
      (std::vector<std::string>{"s1:2 0 0 0 0 0 1 1000 0 0 0 0 0", "s1:2 6000 6 2 40000 260000 12 12000 0 0 0 0 0"}));
  // Packet i waits for 40 (i + 1) - 20 i µs, and finds the packets from number max(ceil(i / 2) - 1, 0) on.
  EXPECT_EQ(harness.tuples()[1]["mean_delay_ns"], "150000");
}

// A switch reads four packets at a time. After the correction, packet i leaves when its transmission begins, and waits
// for 40 i - 20 i µs.
TEST(QueueDepth, CorrectsLateStampsByTheSpeedOfTheLink) {
  std::vector<Frame> frames = two_flows(12);
  for (Frame& frame : frames) {
    const int64_t sent_ns = frame.time_ns - queues::testing::kStart;
    if (frame.tap == kDepartures && sent_ns > 0) frame.time_ns += (160'000 - sent_ns % 160'000) % 160'000;
  }
  queues::testing::sort_by_time(&frames);
  const auto measured = [&](uint64_t link_bits_per_second) {
    Harness harness = harness_of(kNsPerSecond, link_bits_per_second);
    harness.all(frames);
    return harness.lines({"queue_bytes", "min_delay_ns", "max_delay_ns", "mean_delay_ns", "packets"})[1];
  };
  EXPECT_EQ(measured(0), "8000 100000 320000 210000 12");
  EXPECT_EQ(measured(200'000'000), "5000 0 220000 110000 12");
}

TEST(QueueDepth, IntervalsAddUp) {
  Harness harness = harness_of(kNsPerMs);
  harness.all(two_flows(300));
  EXPECT_GT(harness.tuples().size(), 10u);
  EXPECT_EQ(sum(harness, "packets"), 301u);
  EXPECT_EQ(sum(harness, "bytes"), 301'000u);
}

TEST(QueueDepth, CountsPacketsThatEitherTapMissed) {
  std::vector<Frame> frames = two_flows(90);
  std::erase_if(frames, [](const Frame& frame) { return frame.bytes[19] % 10 == (frame.tap == kDepartures ? 2 : 5); });
  Harness harness = harness_of(kNsPerMs);
  harness.all(frames);
  EXPECT_EQ(sum(harness, "packets"), 82u);
  EXPECT_EQ(sum(harness, "lost"), 9u);
  EXPECT_EQ(sum(harness, "lost_bytes"), 9000u);
  EXPECT_EQ(sum(harness, "never_came"), 9u);
}

// After the interval of the last packet, the last departures stop waiting for their arrivals, and the last arrival
// expires.
TEST(QueueDepth, ReportsTheLastPacketsEvenIfNoneFollow) {
  std::vector<Frame> frames = two_flows(90);
  std::erase_if(frames, [](const Frame& frame) {
    const int number = frame.bytes[19];
    return frame.tap == kDepartures ? number == 90 : number == 88 || number == 89;
  });
  Harness harness = harness_of(kNsPerMs);
  harness.feed(frames);
  EXPECT_LT(sum(harness, "packets"), 90u);
  for (int ms = 1; ms < 3000; ++ms) harness.engine().advance(frames.back().time_ns + ms * kNsPerMs);
  EXPECT_EQ(sum(harness, "packets"), 90u);
  EXPECT_EQ(sum(harness, "never_came"), 2u);
  EXPECT_EQ(sum(harness, "lost"), 1u);
}

// 152 packets arrived at a real queue, which dropped 18.
TEST(QueueDepth, CountsTheDropsOfARealQueue) {
  Harness harness = harness_of(kNsPerMs);
  harness.all(queues::testing::captured_queue());
  EXPECT_EQ(sum(harness, "packets"), 134u);
  EXPECT_EQ(sum(harness, "lost"), 18u);
  EXPECT_EQ(sum(harness, "never_came"), 0u);
  uint64_t max_bytes = 0;
  for (const testing::Tuple& tuple : harness.tuples()) {
    if (tuple["queue_bytes"] == "-") continue;  // only losses
    max_bytes = std::max<uint64_t>(max_bytes, std::stoull(tuple["queue_bytes"]));
  }
  // The queue has room for 30,000 bytes; the token bucket has room for another packet, and one is being sent.
  EXPECT_GT(max_bytes, 25'000u);
  EXPECT_LE(max_bytes, 33'000u);
}

}  // namespace
}  // namespace tapline
