#include "multilog/base/doorbell.h"

#include <gtest/gtest.h>

#include <thread>

#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr int64_t kLongNs = 60000000000;

int64_t In(int64_t ns) { return MonotonicNs() + ns; }

TEST(Doorbell, WaitsForItsTimeWhereNobodyRings) {
  Doorbell bell;
  const int64_t until = In(2000000);
  EXPECT_FALSE(bell.WaitUntil(until));
  EXPECT_GE(MonotonicNs(), until);
}

TEST(Doorbell, ARingBeforeTheWaitIsHeardOnce) {
  Doorbell bell;
  bell.Ring();
  bell.Ring();
  EXPECT_TRUE(bell.WaitUntil(In(kLongNs)));
  EXPECT_FALSE(bell.WaitUntil(In(1000000)));
}

// Two threads pass a plain number back and forth: each wait must hear its ring, and see what was written before it.
TEST(Doorbell, NoRingIsLostBetweenThreads) {
  constexpr int kTurns = 20000;
  Doorbell ping, pong;
  int number = 0;
  std::thread other([&] {
    for (int i = 0; i < kTurns; ++i) {
      ASSERT_TRUE(ping.WaitUntil(In(kLongNs)));
      ++number;
      pong.Ring();
    }
  });
  for (int i = 0; i < kTurns; ++i) {
    ASSERT_EQ(number, i);
    ping.Ring();
    ASSERT_TRUE(pong.WaitUntil(In(kLongNs)));
  }
  other.join();
  EXPECT_EQ(number, kTurns);
}

}  // namespace
}  // namespace tapline::multilog
