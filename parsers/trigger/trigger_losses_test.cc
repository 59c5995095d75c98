// Tests that a window's events show the packets that it may have lost.
#include <gtest/gtest.h>

#include <vector>

#include "parsers/trigger/testing/engine_run.h"

namespace tapline::trigger::testing {
namespace {

TEST(TriggerLossesTest, LossesMakeAbsenceUncertain) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(2))),
                 trigger_of(2, above(value_of(Measure::kPackets), number(0)))});
  run.engine->advance(kStart);
  run.engine->lose({7, kStart, kStart});
  run.send(packet(kStart));
  run.engine->advance(kStart + 10 * kMs);
  ASSERT_EQ(run.recorder.events.size(), 2u);
  for (const Event& event : run.recorder.events) {
    EXPECT_EQ(event.lost_packets, 7u);
    EXPECT_EQ(event.verdict, event.trigger == 1 ? Verdict::kPossible : Verdict::kTrue);
  }
  EXPECT_EQ(run.recorder.reports[0].lost_packets, 7u);
}

TEST(TriggerLossesTest, LossesWithATimeBelongToTheirWindows) {
  EngineRun run({trigger_of(1, above(value_of(Measure::kPackets), number(0)))});
  run.send(packet(kStart + kMs));
  run.engine->lose({5, kStart + 2 * kMs, kStart + 2 * kMs});
  run.engine->lose({6, kStart + 12 * kMs, kStart + 12 * kMs});
  run.send(packet(kStart + 13 * kMs));
  run.engine->advance(kStart + 20 * kMs);
  ASSERT_EQ(run.recorder.reports.size(), 2u);
  EXPECT_EQ(run.recorder.reports[0].lost_packets, 5u);
  EXPECT_EQ(run.recorder.reports[1].lost_packets, 6u);
  EXPECT_EQ(run.recorder.reports[1].packets, 1u);
}

// A loss is known before the packets that a full queue held, so its windows are not open yet.
TEST(TriggerLossesTest, ALossCountsInEachWindowThatMayContainIt) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(2))),
                 trigger_of(2, above(value_of(Measure::kPackets), number(0)))});
  run.send(packet(kStart));
  run.engine->lose({3, kStart + 15 * kMs, kStart + 30 * kMs - 1});
  for (int window = 1; window < 5; ++window) run.send(packet(kStart + window * 10 * kMs));
  run.engine->advance(kStart + 50 * kMs);
  const std::vector<uint64_t> lost = {0, 3, 3, 0, 0};
  ASSERT_EQ(run.recorder.reports.size(), lost.size());
  for (size_t window = 0; window < lost.size(); ++window) {
    EXPECT_EQ(run.recorder.reports[window].lost_packets, lost[window]) << window;
  }
  for (const Event& event : run.recorder.events) {
    const bool is_lossy = lost[(event.window_start_ns - kStart) / (10 * kMs)] > 0;
    EXPECT_EQ(event.verdict, event.trigger == 1 && is_lossy ? Verdict::kPossible : Verdict::kTrue);
  }
}

TEST(TriggerLossesTest, AWindowWithoutPacketsShowsItsLoss) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(1)))});
  run.send(packet(kStart));
  run.engine->lose({3, kStart + 12 * kMs, kStart + 13 * kMs});
  run.send(packet(kStart + 40 * kMs));
  run.engine->advance(kStart + 50 * kMs);
  std::vector<Verdict> verdicts;
  for (const Event& event : run.recorder.events) verdicts.push_back(event.verdict);
  EXPECT_EQ(verdicts, (std::vector<Verdict>{Verdict::kPossible, Verdict::kTrue, Verdict::kTrue}));
}

TEST(TriggerLossesTest, ASwapKeepsLossesOfLaterWindows) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(2)))});
  run.send(packet(kStart));
  run.engine->lose({3, kStart + 25 * kMs, kStart + 26 * kMs});
  run.offer({trigger_of(1, below(value_of(Measure::kPackets), number(3)))});
  for (int window = 1; window < 4; ++window) run.send(packet(kStart + window * 10 * kMs));
  run.engine->advance(kStart + 40 * kMs);
  EXPECT_EQ(run.engine->stats().swaps, 1u);
  for (const Event& event : run.recorder.events) {
    EXPECT_EQ(event.lost_packets, event.window_start_ns == kStart + 20 * kMs ? 3u : 0u);
  }
  EXPECT_EQ(run.recorder.events.size(), 4u);
}

// Losses of past windows are forgotten, so they leave room for later ones, which are then kept apart.
TEST(TriggerLossesTest, LossesOfManyWindowsAreKeptApart) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(2)))});
  for (int64_t window = 0; window < 300; ++window) {
    const int64_t next_ns = kStart + (window + 1) * 10 * kMs;
    run.send(packet(next_ns - 10 * kMs));
    if (window % 2 == 0) run.engine->lose({1, next_ns, next_ns});
  }
  run.engine->advance(kStart + 3000 * kMs);
  ASSERT_EQ(run.recorder.reports.size(), 300u);
  for (size_t window = 0; window < 300; ++window) {
    EXPECT_EQ(run.recorder.reports[window].lost_packets, window % 2) << window;
  }
}

TEST(TriggerLossesTest, ManyLossesAreKeptInBoundedMemory) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(2)))});
  run.send(packet(kStart));
  for (int loss = 0; loss < 10'000; ++loss) run.engine->lose({1, kStart + 10 * kMs + loss, kStart + 10 * kMs + loss});
  run.send(packet(kStart + 10 * kMs));
  run.engine->advance(kStart + 20 * kMs);
  ASSERT_EQ(run.recorder.reports.size(), 2u);
  EXPECT_EQ(run.recorder.reports[1].lost_packets, 10'000u);
}

}  // namespace
}  // namespace tapline::trigger::testing
