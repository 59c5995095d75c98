// What ConQuest's sketch answers, beside the exact answer on the same traffic.
#include "parsers/queues/snapshots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "parsers/queues/queue_contents.h"
#include "parsers/queues/testing/queue_simulator.h"

namespace tapline::queues {
namespace {

constexpr HashKey kKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

// Weight of each flow by window.
using Windows = std::map<int64_t, std::map<uint64_t, uint64_t>>;

uint64_t exact(const Windows& windows, uint64_t key, int64_t first, int64_t last) {
  uint64_t sum = 0;
  for (auto window = windows.lower_bound(first); window != windows.end() && window->first <= last; ++window) {
    const auto found = window->second.find(key);
    if (found != window->second.end()) sum += found->second;
  }
  return sum;
}
uint64_t total(const Windows& windows, int64_t first, int64_t last) {
  uint64_t sum = 0;
  for (auto window = windows.lower_bound(first); window != windows.end() && window->first <= last; ++window) {
    for (const auto& [key, weight] : window->second) sum += weight;
  }
  return sum;
}

TEST(Snapshots, CompleteWindowsAreWithinTheBoundAndNeverTooLow) {
  for (const uint32_t columns : {8u, 32u, 128u}) {
    Snapshots snapshots({.snapshots = 4, .rows = 2, .columns = columns, .window_shift = 14}, kKey);
    Windows windows;
    uint64_t queries = 0, beyond = 0;
    for (const Passage& passage : testing::passages_of(testing::simulate({.packets = 200'000, .flows = 300}, 3))) {
      const int64_t current = passage.departure_ns >> 14;
      // The read, over two complete windows.
      const int64_t first = current - 2;
      const double estimate =
          snapshots.estimate(passage.flow_key, first << 14, passage.departure_ns, Reading::kComplete);
      const auto truth = static_cast<double>(exact(windows, passage.flow_key, first, current - 1));
      const auto weight = static_cast<double>(total(windows, first, current - 1));
      ASSERT_GE(estimate, truth);
      beyond += estimate > truth + snapshots.error_share() * weight;
      ++queries;
      snapshots.add(passage.flow_key, passage.departure_ns, passage.bytes);
      windows[current][passage.flow_key] += passage.bytes;
      windows.erase(windows.begin(), windows.lower_bound(current - 4));
    }
    EXPECT_LE(static_cast<double>(beyond), snapshots.failure_probability() * static_cast<double>(queries)) << columns;
  }
}

TEST(Snapshots, IdleWindowsAreCleaned) {
  Snapshots snapshots({.snapshots = 4, .rows = 2, .columns = 64, .window_shift = 10}, kKey);
  for (int64_t window = 0; window < 1000; window += 1 + window % 11) {
    const int64_t now_ns = window << 10;
    EXPECT_EQ(snapshots.estimate(7, now_ns, now_ns, Reading::kWithCurrent), 0) << window;
    snapshots.add(7, now_ns, 100);
    EXPECT_EQ(snapshots.estimate(7, now_ns, now_ns, Reading::kWithCurrent), 100) << window;
  }
  EXPECT_GT(snapshots.cleaned_late(), 0u);
}

TEST(Snapshots, GrowthIsTheDifferenceOfTheLastTwoWindows) {
  Snapshots snapshots({.snapshots = 8, .rows = 2, .columns = 64, .window_shift = 10}, kKey);
  snapshots.add(7, 10 << 10, 100);
  snapshots.add(7, 11 << 10, 250);
  EXPECT_EQ(snapshots.estimate(7, 0, 12 << 10, Reading::kGrowth), 150);
  EXPECT_EQ(snapshots.estimate(7, 0, 13 << 10, Reading::kGrowth), 0);
}

struct Score {
  uint64_t hits = 0, false_alarms = 0, misses = 0;
  double error_bytes = 0;
  uint64_t queries = 0;
  double precision() const {
    return static_cast<double>(hits) / static_cast<double>(std::max<uint64_t>(hits + false_alarms, 1));
  }
  double recall() const {
    return static_cast<double>(hits) / static_cast<double>(std::max<uint64_t>(hits + misses, 1));
  }
  double mean_error() const { return error_bytes / static_cast<double>(std::max<uint64_t>(queries, 1)); }
};

// Section 5.1: packets with a delay of at least an eighth of the longest; a flow contributes from `alpha` of the queue
// on. The windows' length is the longest delay divided by h, rounded up to a power of two.
Score judge(const std::vector<Passage>& passages, uint32_t h, uint32_t columns, Reading reading, double alpha) {
  int64_t longest_ns = 0;
  for (const Passage& passage : passages) longest_ns = std::max(longest_ns, passage.delay_ns());
  const auto shift = static_cast<uint32_t>(std::ceil(std::log2(static_cast<double>(longest_ns) / h)));
  Snapshots snapshots({.snapshots = h, .rows = 2, .columns = columns, .window_shift = shift}, kKey);
  QueueContents contents({}, nullptr);
  Score score;
  for (const Passage& passage : passages) {
    const Finding found = contents.add(passage);
    const auto estimate = [&] {
      return snapshots.estimate(passage.flow_key, passage.arrival_ns, passage.departure_ns, reading);
    };
    double estimated = estimate();
    snapshots.add(passage.flow_key, passage.departure_ns, passage.bytes);
    if (reading == Reading::kWithCurrent) estimated = estimate();
    if (passage.delay_ns() < longest_ns / 8) continue;
    const bool truth = found.share() >= alpha;
    const bool flagged = estimated >= alpha * static_cast<double>(found.queue_bytes);
    score.hits += truth && flagged;
    score.false_alarms += !truth && flagged;
    score.misses += truth && !flagged;
    score.error_bytes += std::abs(estimated - static_cast<double>(found.own_bytes));
    ++score.queries;
  }
  return score;
}

// As in figures 7 to 9, with traffic of our own: the figures' absolute values are those of the paper's trace.
TEST(Snapshots, ReadingsAreJudgedAgainstTheExactAnswer) {
  const std::vector<Passage> passages =
      testing::passages_of(testing::simulate({.packets = 300'000, .flows = 300, .buffer_bytes = 8 << 20}, 11));
  for (const double alpha : {0.001, 0.01, 0.1, 0.3}) {
    std::map<Reading, Score> scores;
    for (const Reading reading : {Reading::kComplete, Reading::kWithCurrent, Reading::kWeighted}) {
      const Score score = scores[reading] = judge(passages, 4, 64, reading, alpha);
      std::printf("alpha %.3f  h=4 R=2 C=64  reading %d  precision %.4f  recall %.4f  mean error %.0f B of %llu\n",
                  alpha, static_cast<int>(reading), score.precision(), score.recall(), score.mean_error(),
                  static_cast<unsigned long long>(score.queries));
      ASSERT_GT(score.hits + score.misses, 100u);
    }
    EXPECT_GE(scores[Reading::kWithCurrent].recall(), scores[Reading::kComplete].recall()) << alpha;
    EXPECT_LT(scores[Reading::kWeighted].mean_error(), scores[Reading::kWithCurrent].mean_error());
    EXPECT_LT(scores[Reading::kWeighted].mean_error(), scores[Reading::kComplete].mean_error());
  }
}

// With as many columns as leave no collisions and ever shorter windows, the weighted reading comes to the exact answer.
TEST(Snapshots, RoundingVanishesWithShorterWindows) {
  const std::vector<Passage> passages = testing::passages_of(testing::simulate({.packets = 100'000, .flows = 300}, 5));
  double before = 1e18;
  for (const uint32_t h : {4u, 16u, 64u}) {
    const double error = judge(passages, h, 1 << 14, Reading::kWeighted, 0.01).mean_error();
    std::printf("h=%u R=2 C=16384  mean error %.0f B\n", h, error);
    EXPECT_LT(error, before);
    before = error;
  }
}

}  // namespace
}  // namespace tapline::queues
