#include "parsers/rates/mirror_queue.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tapline::rates {
namespace {

constexpr int64_t kFrameNs = 1231;  // 1,538 bytes at 10 Gb/s
constexpr uint32_t kFrameBytes = MirrorQueue::kFullFrameBytes;

class Port {
 public:
  explicit Port(const MirrorPort& port = {10'000'000'000, 0, 0}) : queue(port) {}

  void send(int frames, int64_t after_ns = kFrameNs) {
    for (int i = 0; i < frames; ++i) queue.observe(now_ns += after_ns, kFrameBytes);
  }
  void hole(int64_t previous_ns) {
    Progress progress;
    progress.step = Step::kHole;
    progress.previous_ns = progress.last_hole_ns = previous_ns;
    queue.observe(progress);
  }
  void overflow() {
    for (int i = 0; i < 3; ++i) hole(now_ns - 3 * kFrameNs + i);
  }

  MirrorQueue queue;
  int64_t now_ns = 1'000'000'000;
};

TEST(MirrorQueue, FillsStaysFullAndDrains) {
  Port port;
  port.send(50, 10 * kFrameNs);
  EXPECT_EQ(port.queue.state(), MirrorState::kComplete);
  EXPECT_EQ(port.queue.interval_state(), MirrorState::kComplete);
  port.queue.next_interval();
  port.send(100);
  EXPECT_EQ(port.queue.state(), MirrorState::kFilling);
  EXPECT_EQ(port.queue.interval_state(), MirrorState::kFilling);
  EXPECT_EQ(port.queue.delay(Progress()).high_ns, 100 * kFrameNs);
  port.overflow();
  EXPECT_EQ(port.queue.state(), MirrorState::kSteady);
  EXPECT_TRUE(port.queue.delay(Progress()).from_full);
  EXPECT_LE(port.queue.full_delay_ns(), 100 * kFrameNs);
  port.send(300);
  EXPECT_EQ(port.queue.state(), MirrorState::kDraining);
  port.send(1, 3 * kFrameNs);
  EXPECT_EQ(port.queue.state(), MirrorState::kComplete);
  EXPECT_EQ(port.queue.delay(Progress()).high_ns, 0);
  EXPECT_EQ(port.queue.interval_state(), MirrorState::kSteady);
}

TEST(MirrorQueue, AnIntervalIsCompleteOnlyIfThePortWasNeverBusyForLong) {
  Port port;
  port.send(10, 10 * kFrameNs);
  port.send(100);
  port.send(10, 10 * kFrameNs);
  EXPECT_FALSE(port.queue.complete());
  EXPECT_EQ(port.queue.longest_busy_ns(), 100 * kFrameNs);
  port.queue.next_interval();
  port.send(10, 10 * kFrameNs);
  EXPECT_TRUE(port.queue.complete());
  for (int i = 0; i < 3; ++i) port.hole(port.now_ns - 100);
  EXPECT_FALSE(port.queue.complete());
}

// A loss before the switch is retransmitted; one at the mirror port is not.
TEST(MirrorQueue, AHoleIsAMirrorDropUnlessItIsFilled) {
  Port port;
  port.send(10, 10 * kFrameNs);
  port.hole(port.now_ns - 100);
  EXPECT_FALSE(port.queue.complete());
  Progress late_progress;
  late_progress.step = Step::kReordered;
  port.queue.observe(late_progress);
  EXPECT_TRUE(port.queue.complete());
}

TEST(MirrorQueue, AThousandSamplesWithoutAHoleProveThatNothingWasDropped) {
  Port port;
  port.send(5, 10 * kFrameNs);
  Progress progress;
  progress.step = Step::kNext;
  for (int i = 0; i < 1000; ++i) port.queue.observe(progress);  // acknowledgements prove nothing
  progress.new_bytes = 1448;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(port.queue.complete(), i <= 5) << i;  // 8 KiB
    port.send(1);
    port.queue.observe(progress);
  }
  EXPECT_TRUE(port.queue.complete());
  port.overflow();
  EXPECT_FALSE(port.queue.complete());
}

TEST(MirrorQueue, AConfiguredDelayBoundsAllDelays) {
  Port port({10'000'000'000, 26'000, 0});
  port.send(1000);
  EXPECT_EQ(port.queue.delay(Progress()).high_ns, 26'000);
  EXPECT_FALSE(port.queue.complete());
}

TEST(MirrorQueue, CopiesQueuedAtTheStartHaveUnknownWaits) {
  Port port;
  port.send(3);
  const QueueDelay first = port.queue.delay(Progress());
  EXPECT_EQ(first.high_ns, MirrorQueue::kUnknownNs);
  port.send(10);
  const Bounded interval = port.queue.true_interval(10 * kFrameNs, first, port.queue.delay(Progress()));
  EXPECT_EQ(interval.low, 0);
  EXPECT_TRUE(std::isinf(interval.high));
}

TEST(MirrorQueue, AFullQueueDelaysAllCopiesEqually) {
  Port port;
  port.send(5, 10 * kFrameNs);
  port.send(200);
  port.overflow();
  const QueueDelay first = port.queue.delay(Progress());
  port.send(500);
  port.overflow();
  const Bounded interval = port.queue.true_interval(500 * kFrameNs, first, port.queue.delay(Progress()));
  EXPECT_GT(interval.low, 490 * kFrameNs);
  EXPECT_LT(interval.high, 510 * kFrameNs);
}

// Two losses before the switch must not count as a full queue.
TEST(MirrorQueue, TwoHolesAreNotAnOverflow) {
  Port port;
  port.send(5, 10 * kFrameNs);
  port.send(200);
  port.hole(port.now_ns - 20);
  port.hole(port.now_ns - 10);
  EXPECT_EQ(port.queue.state(), MirrorState::kFilling);
}

TEST(MirrorQueue, LearnsThePortsSpeed) {
  Port port{MirrorPort()};
  EXPECT_EQ(port.queue.bits_per_second(), 0);
  port.send(200, 10 * kFrameNs);
  port.send(200);
  EXPECT_NEAR(port.queue.bits_per_second(), 10e9, 1e8);
}

TEST(MirrorQueue, ALongTimeBetweenPacketsLimitsTheSpeed) {
  Port port{MirrorPort()};
  port.send(130, int64_t{3} * 365 * 86400 * 1'000'000'000 / 64);
  EXPECT_NEAR(port.queue.bits_per_second(), 8e3, 1);
  port.send(200);
  EXPECT_NEAR(port.queue.bits_per_second(), 10e9, 1e8);
}

}  // namespace
}  // namespace tapline::rates
