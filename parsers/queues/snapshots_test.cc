// Compares the estimates of ConQuest's sketch with the exact contents on the same traffic.
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

// The weight of each flow, by window.
using Windows = std::map<int64_t, std::map<uint64_t, uint64_t>>;

uint64_t exact(const Windows& windows, uint64_t key, int64_t first, int64_t last) {
  uint64_t sum = 0;
  for (auto window = windows.lower_bound(first); window != windows.end() && window->first <= last; ++window) {
    const auto it = window->second.find(key);
    if (it != window->second.end()) sum += it->second;
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

// The result of a reading without collisions, and the weight of all flows in its windows.
struct CoveredReading {
  double own = 0, all = 0;
  double below = 0;     // subtracted weight, which may make the estimate too low
  int64_t windows = 0;  // windows that are read
};

CoveredReading covered_by(Reading reading, const Windows& windows, uint64_t key, int64_t arrival_ns,
                          int64_t departure_ns, uint32_t shift) {
  const auto own = [&](int64_t first, int64_t last) { return static_cast<double>(exact(windows, key, first, last)); };
  const auto all = [&](int64_t first, int64_t last) { return static_cast<double>(total(windows, first, last)); };
  const int64_t window_ns = int64_t{1} << shift;
  const int64_t now = departure_ns >> shift, oldest = arrival_ns >> shift;
  switch (reading) {
    case Reading::kComplete: {
      const int64_t first = (arrival_ns + window_ns - 1) >> shift;
      return {own(first, now - 1), all(first, now - 1), 0, now - first};
    }
    case Reading::kWithCurrent: {
      const int64_t first = now - ((departure_ns - arrival_ns) >> shift);
      return {own(first, now), all(first, now), 0, now - first + 1};
    }
    case Reading::kWeighted: {
      const int64_t begin_ns = oldest << shift, end_ns = std::min(begin_ns + window_ns, departure_ns);
      const double share =
          end_ns == begin_ns ? 0 : static_cast<double>(end_ns - arrival_ns) / static_cast<double>(end_ns - begin_ns);
      return {share * own(oldest, oldest) + own(oldest + 1, now), share * all(oldest, oldest) + all(oldest + 1, now), 0,
              now - oldest + 1};
    }
    case Reading::kGrowth:
      return {std::max(own(now - 1, now - 1) - own(now - 2, now - 2), 0.0), all(now - 1, now - 1),
              all(now - 2, now - 2), 2};
  }
  return {};
}

// Tests the bound of section 3.5 for each reading, over the windows that it reads. The difference between two windows
// may err on either side.
TEST(Snapshots, EachReadingIsWithinItsBound) {
  constexpr uint32_t kShift = 14, kRows = 4;
  const std::vector<Passage> passages = testing::passages_of(testing::simulate({.packets = 100'000, .flows = 300}, 3));
  for (const Reading reading : {Reading::kComplete, Reading::kWithCurrent, Reading::kWeighted, Reading::kGrowth}) {
    for (const uint32_t columns : {8u, 32u, 128u}) {
      Snapshots snapshots({.snapshots = 8, .rows = kRows, .columns = columns, .window_shift = kShift}, kKey);
      Windows windows;
      uint64_t beyond = 0;
      double allowed_beyond = 0;
      for (const Passage& passage : passages) {
        // Waits are limited to five windows; the sketches cover six complete ones.
        const int64_t arrival_ns = std::max(passage.arrival_ns, passage.departure_ns - 5 * snapshots.window_ns());
        const double estimate = snapshots.estimate(passage.flow_key, arrival_ns, passage.departure_ns, reading);
        const CoveredReading truth =
            covered_by(reading, windows, passage.flow_key, arrival_ns, passage.departure_ns, kShift);
        if (truth.below == 0) {
          ASSERT_GE(estimate, truth.own - 1e-6);
        }
        beyond += estimate > truth.own + snapshots.error_share() * truth.all + 1e-6 ||
                  estimate < truth.own - snapshots.error_share() * truth.below - 1e-6;
        // Each window fails with probability e^-R.
        allowed_beyond += std::min(static_cast<double>(truth.windows) * std::exp(-1.0 * kRows), 1.0);
        snapshots.add(passage.flow_key, passage.departure_ns, passage.bytes);
        const int64_t now = passage.departure_ns >> kShift;
        windows[now][passage.flow_key] += passage.bytes;
        windows.erase(windows.begin(), windows.lower_bound(now - 8));
      }
      EXPECT_LE(static_cast<double>(beyond), allowed_beyond) << static_cast<int>(reading) << " " << columns;
      EXPECT_LT(allowed_beyond, 0.2 * static_cast<double>(passages.size()));
    }
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

// Scores a reading as in section 5.1: packets with a delay of at least an eighth of the longest should be flagged if
// their flow contributes a share of `alpha` or more of the queue. The window length is the longest delay divided by h,
// rounded up to a power of two.
Score judge(const std::vector<Passage>& passages, uint32_t h, uint32_t columns, Reading reading, double alpha) {
  int64_t longest_ns = 0;
  for (const Passage& passage : passages) longest_ns = std::max(longest_ns, passage.delay_ns());
  const auto shift = static_cast<uint32_t>(std::ceil(std::log2(static_cast<double>(longest_ns) / h)));
  Snapshots snapshots({.snapshots = h, .rows = 2, .columns = columns, .window_shift = shift}, kKey);
  QueueContents contents({}, nullptr);
  Score score;
  for (const Passage& passage : passages) {
    const Finding finding = contents.add(passage);
    const auto estimate = [&] {
      return snapshots.estimate(passage.flow_key, passage.arrival_ns, passage.departure_ns, reading);
    };
    double estimated = estimate();
    snapshots.add(passage.flow_key, passage.departure_ns, passage.bytes);
    if (reading == Reading::kWithCurrent) estimated = estimate();
    if (passage.delay_ns() < longest_ns / 8) continue;
    const bool truth = finding.share() >= alpha;
    const bool flagged = estimated >= alpha * static_cast<double>(finding.queue_bytes);
    score.hits += truth && flagged;
    score.false_alarms += !truth && flagged;
    score.misses += truth && !flagged;
    score.error_bytes += std::abs(estimated - static_cast<double>(finding.own_bytes));
    ++score.queries;
  }
  return score;
}

// Repeats figures 7 to 9 with as many flows as the paper's queue has (64, section 5.1), but with synthetic traffic, so
// the absolute values are not comparable.
TEST(Snapshots, ReadingsAreComparedWithTheExactContents) {
  const std::vector<Passage> passages =
      testing::passages_of(testing::simulate({.packets = 200'000, .flows = 64, .buffer_bytes = 8 << 20}, 11));
  for (const double alpha : {0.001, 0.01, 0.1}) {
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

// With enough columns to avoid collisions and ever shorter windows, the weighted reading converges to the exact
// contents.
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
