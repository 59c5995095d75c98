// Runs Planck's experiments on a small scale, with modelled senders instead of ns-3's TCP.
#include "sim/mirroring/testing/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/mirroring/estimates.h"
#include "sim/mirroring/link_loads.h"
#include "sim/mirroring/sampling.h"

namespace tapline::mirroring {
namespace {

using rates::testing::FlowSpec;
using testing::replay;
using testing::ReplayOptions;

constexpr uint64_t kLink = 10'000'000'000;
constexpr uint64_t kSmallQueue = 32'768;
constexpr int64_t kMs = 1'000'000;

std::vector<FlowSpec> flows_of(size_t count, double factor, int64_t end_ns) {
  std::vector<FlowSpec> flows(count);
  for (FlowSpec& flow : flows) {
    flow.bits_per_second = static_cast<uint64_t>(factor * kLink / static_cast<double>(count));
    flow.end_ns = end_ns;
  }
  return flows;
}

EstimateOptions estimating(const ReplayOptions& replayed) {
  EstimateOptions options;
  options.mirror = {kLink, 0, 0, replayed.schedule == Schedule::kRoundRobin};
  if (replayed.limit_bytes == kSmallQueue) options.mirror.max_delay_ns = kSmallQueue * 8 / 10;
  options.path_ns = 4'000;
  return options;
}

struct JudgedEstimates {
  double within = 0, error = 0;
  size_t count = 0;
};

JudgedEstimates judge(const std::vector<Estimate>& estimates, bool steady_only) {
  JudgedEstimates judged;
  size_t valued = 0;
  for (const Estimate& estimate : estimates) {
    if (estimate.true_bits_per_second <= 0 || (steady_only && !estimate.steady)) continue;
    ++judged.count;
    judged.within += estimate.within();
    if (std::isnan(estimate.bits_per_second.value)) continue;
    judged.error += std::abs(estimate.error());
    ++valued;
  }
  judged.within /= static_cast<double>(std::max<size_t>(1, judged.count));
  judged.error /= static_cast<double>(std::max<size_t>(1, valued));
  return judged;
}

TEST(Replay, EveryCopyIsCollectedOnceOrDropped) {
  for (const Schedule schedule : {Schedule::kFifo, Schedule::kRoundRobin}) {
    const Observation seen = replay(flows_of(4, 2, 5 * kMs), {schedule, kLink, 9'000'000, 0.8, kSmallQueue}, 1);
    std::set<uint32_t> packets;
    for (const Copy& copy : seen.copies) packets.insert(copy.packet);
    EXPECT_EQ(packets.size(), seen.copies.size());
    EXPECT_EQ(seen.copies.size() + seen.mirrored_dropped, seen.mirrored);
    EXPECT_NEAR(static_cast<double>(seen.mirrored_dropped) / static_cast<double>(seen.mirrored), 0.5, 0.03);
  }
}

// Tests the result of Figures 5 to 7.
TEST(Replay, RoundRobinSamplesOnePacketOfEachFlowInTurn) {
  for (const size_t count : {5u, 9u, 13u}) {
    const Observation seen = replay(flows_of(count, static_cast<double>(count), 10 * kMs), {}, 1);
    const Sampling sampling = sampling_of(seen, 5 * kMs, kLink);
    EXPECT_GE(share_within(sampling.burst_mtu, 1), 0.96);
    EXPECT_GE(share_within(sampling.gap_mtu, static_cast<double>(count)), 0.85);
    EXPECT_NEAR(mean(sampling.gap_mtu), static_cast<double>(count) - 1, 0.5);
  }
}

// Tests the result of Figures 8 and 9: a queue of 4 MB in a buffer of 9 MB, and a small queue.
TEST(Replay, SamplesWaitAsLongAsTheQueueTakesAtAnyFactor) {
  for (const double factor : {1.3, 1.8, 2.5}) {
    ReplayOptions deep;
    deep.schedule = Schedule::kFifo;
    const double delay_us = quantile(sample_delays_us(replay(flows_of(4, factor, 25 * kMs), deep, 1), 15 * kMs), 0.5);
    EXPECT_NEAR(delay_us, 4e6 * 8 / 10e3, 150) << factor;
    ReplayOptions small = deep;
    small.limit_bytes = kSmallQueue;
    EXPECT_LE(quantile(sample_delays_us(replay(flows_of(4, factor, 5 * kMs), small, 1), kMs), 0.99), 100) << factor;
  }
}

// Tests the result of Figure 10: the sender puts the packets of a round trip on the link in one burst.
TEST(Replay, RollingAveragesJitterButBurstsDoNot) {
  std::vector<FlowSpec> flows = flows_of(1, 0.3, 20 * kMs);
  flows[0].pattern = rates::testing::Pattern::kBursts;
  flows[0].round_trip_ns = 300'000;
  const Observation seen = replay(flows, {}, 1);
  const EstimateOptions options = estimating({});
  std::vector<double> rolling, bursts;
  for (const Estimate& estimate : rolling_averages(seen, 0, 200'000, options))
    rolling.push_back(estimate.bits_per_second.value);
  for (const Estimate& burst : estimate(seen, options).bursts) {
    bursts.push_back(burst.bits_per_second.value);
    EXPECT_NEAR(burst.error(), 0, 0.02);
    EXPECT_TRUE(burst.within());
  }
  EXPECT_GT(bursts.size(), 20u);
  EXPECT_GT(deviation(rolling) / mean(rolling), 3 * deviation(bursts) / mean(bursts));
}

// Tests the result of Figure 11, also while the queue is filling, and with UDP.
TEST(Replay, ErrorsAreSmallAndBoundsAreCorrect) {
  for (const double factor : {1.2, 2.0, 2.5}) {
    for (const uint64_t limit : {kSmallQueue, PortQueue<uint32_t>::kNoLimit}) {
      ReplayOptions options;
      options.schedule = Schedule::kFifo;
      options.limit_bytes = limit;
      std::vector<FlowSpec> flows = flows_of(6, factor, 30 * kMs);
      flows[0].udp = true;
      const Estimates estimates = estimate(replay(flows, options, 1), estimating(options));
      const JudgedEstimates steady = judge(estimates.bursts, true);
      EXPECT_GT(steady.count, 30u) << factor << ' ' << limit;
      EXPECT_LE(steady.error, 0.01) << factor << ' ' << limit;
      EXPECT_GE(judge(estimates.bursts, false).within, 0.95) << factor << ' ' << limit;
      EXPECT_GE(judge(estimates.intervals, false).within, 0.95) << factor << ' ' << limit;
    }
  }
}

// Tests the estimates of the parser link_load, from which congestion events are derived.
TEST(Replay, LoadsOfLinksAreKnownSoonAndBoundsAreCorrect) {
  for (const double factor : {0.8, 2.0}) {
    ReplayOptions replayed;
    replayed.schedule = Schedule::kFifo;
    replayed.limit_bytes = kSmallQueue;
    const Observation seen = replay(flows_of(4, factor, 30 * kMs), replayed, 1);
    EstimateOptions options = estimating(replayed);
    options.every_ns = 100'000;
    const LinkLoads loads = link_loads(seen, options);
    EXPECT_GT(loads.loads.size(), 1000u);
    double errors = 0, within = 0, valued = 0;
    for (const Estimate& load : loads.loads) {
      within += load.within();
      if (std::isnan(load.bits_per_second.value)) continue;
      errors += std::abs(load.bits_per_second.value - load.true_bits_per_second) / kLink;
      ++valued;
    }
    EXPECT_GE(within / static_cast<double>(loads.loads.size()), 0.95) << factor;
    EXPECT_LE(errors / valued, 0.02) << factor;
    EXPECT_LE(quantile(waits_us(loads.waits, kMs), 1), 200) << factor;
  }
}

// Tests the result of Figure 12: the sample's delay plus the time until its burst ends.
TEST(Replay, EstimatesAreReadyWithinTheLongestBurst) {
  ReplayOptions options;
  options.limit_bytes = kSmallQueue;
  const Estimates estimates = estimate(replay(flows_of(4, 2, 10 * kMs), options, 1), estimating(options));
  const std::vector<double> waits = waits_us(estimates.waits, 0);
  EXPECT_GT(waits.size(), 1000u);
  EXPECT_LE(quantile(waits, 0.5), 550);
  EXPECT_LE(quantile(waits, 1), 850);
}

}  // namespace
}  // namespace tapline::mirroring
