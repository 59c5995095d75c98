#include "monitors/lane/sampling_limit.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapline {
namespace {

constexpr int64_t kMs = 1'000'000;

class SamplingLimitTest : public testing::Test {
 protected:
  // Observes a constant fill level ten times a second for this long. If `fill` exceeds 1, reports a refusal each time.
  void run_for(int64_t milliseconds, double fill) {
    for (int64_t until_ns = now_ns_ + milliseconds * kMs; now_ns_ < until_ns;) {
      now_ns_ += 100 * kMs;
      refused_ += fill > 1;
      limit_.observe(now_ns_, fill, refused_);
    }
  }
  SamplingLimit limit_;
  int64_t now_ns_ = 12345 * kMs;
  uint64_t refused_ = 0;
};

TEST_F(SamplingLimitTest, IsOneWhileTheQueueHasRoom) {
  run_for(60'000, 0.4);
  EXPECT_EQ(limit_.rate(), 1);
}

TEST_F(SamplingLimitTest, HalvesTheRateAfterTheQueueStayedFull) {
  run_for(400, 0.9);
  EXPECT_EQ(limit_.rate(), 1) << "a burst does not limit the rate";
  run_for(100, 0.1);
  run_for(400, 0.9);
  EXPECT_EQ(limit_.rate(), 1);
  run_for(200, 0.9);
  EXPECT_EQ(limit_.rate(), 0.5);
  run_for(300, 0.9);
  EXPECT_EQ(limit_.rate(), 0.5) << "the first step must have had time to show";
  run_for(200, 0.9);
  EXPECT_EQ(limit_.rate(), 0.25);
}

TEST_F(SamplingLimitTest, FallsToTheMinimum) {
  run_for(60'000, 1.1);
  EXPECT_EQ(limit_.rate(), SamplingLimit::kLowest);
}

TEST_F(SamplingLimitTest, RejectionsCountAtAnyFillLevel) {
  for (int i = 0; i < 7; ++i) limit_.observe(now_ns_ += 100 * kMs, 0.0, ++refused_);
  EXPECT_EQ(limit_.rate(), 0.5);
}

TEST_F(SamplingLimitTest, RisesTenTimesAsSlowly) {
  run_for(2'000, 0.9);
  double fallen = limit_.rate();
  EXPECT_LT(fallen, 0.2);
  run_for(4'000, 0.0);
  EXPECT_EQ(limit_.rate(), fallen);
  run_for(2'000, 0.0);
  EXPECT_EQ(limit_.rate(), 2 * fallen);
  run_for(60'000, 0.0);
  EXPECT_EQ(limit_.rate(), 1);
}

TEST_F(SamplingLimitTest, StaysBetweenEmptyAndFull) {
  run_for(2'000, 0.9);
  double fallen = limit_.rate();
  run_for(60'000, 0.3);
  EXPECT_EQ(limit_.rate(), fallen);
}

// The output sustains a tenth of the load at rate 1, and has room for two seconds of that load.
TEST_F(SamplingLimitTest, RefusesNothingOnceSettled) {
  double queued = 0;
  int refused_late = 0, steps_late = 0;
  std::vector<double> rates;
  for (int tenth = 0; tenth < 6000; ++tenth) {
    queued += 0.1 * limit_.rate() - 0.01;
    if (queued > 2) ++refused_, refused_late += tenth > 600;
    queued = std::min(std::max(queued, 0.0), 2.0);
    double previous_rate = limit_.rate();
    limit_.observe(now_ns_ += 100 * kMs, queued / 2, refused_);
    steps_late += tenth > 600 && limit_.rate() != previous_rate;
    if (tenth > 600) rates.push_back(limit_.rate());
  }
  EXPECT_EQ(refused_late, 0) << "nothing is lost once it has settled";
  EXPECT_LT(steps_late, 150);
  for (double rate : rates) EXPECT_LE(rate, 0.25);
}

}  // namespace
}  // namespace tapline
