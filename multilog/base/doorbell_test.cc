#include "multilog/base/doorbell.h"

#include <gtest/gtest.h>

#include <thread>

#include "packet_io/base/clock.h"

namespace tapline::multilog {
namespace {

constexpr int64_t kLongNs = 60000000000;

int64_t in(int64_t ns) { return monotonic_ns() + ns; }

TEST(Doorbell, WaitsUntilItsDeadlineIfItIsNotRung) {
  Doorbell bell;
  const int64_t until = in(2000000);
  EXPECT_FALSE(bell.wait_until(until));
  EXPECT_GE(monotonic_ns(), until);
}

TEST(Doorbell, ARingBeforeTheWaitIsReceivedOnce) {
  Doorbell bell;
  bell.ring();
  bell.ring();
  EXPECT_TRUE(bell.wait_until(in(kLongNs)));
  EXPECT_FALSE(bell.wait_until(in(1000000)));
}

// Two threads pass a plain number back and forth. Each wait must receive its ring, and see everything written before
// the ring.
TEST(Doorbell, NoRingIsLostBetweenThreads) {
  constexpr int kTurns = 20000;
  Doorbell ping, pong;
  int number = 0;
  std::thread other([&] {
    for (int i = 0; i < kTurns; ++i) {
      ASSERT_TRUE(ping.wait_until(in(kLongNs)));
      ++number;
      pong.ring();
    }
  });
  for (int i = 0; i < kTurns; ++i) {
    ASSERT_EQ(number, i);
    ping.ring();
    ASSERT_TRUE(pong.wait_until(in(kLongNs)));
  }
  other.join();
  EXPECT_EQ(number, kTurns);
}

}  // namespace
}  // namespace tapline::multilog
