#include "monitors/lane/spsc_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace tapline {
namespace {

TEST(SpscRingTest, WrapsAroundAndReportsItsFill) {
  SpscRing<int> ring(4);
  int next_in = 0, next_out = 0;
  for (int round = 0; round < 10; ++round) {
    while (ring.room(1) > 0) ring.push(next_in++);
    EXPECT_TRUE(ring.readable(8).empty()) << "not published yet";
    ring.publish();
    EXPECT_EQ(ring.waiting(), 4u);
    EXPECT_FALSE(ring.drained());
    for (int i = 0; i < 3; ++i) {
      auto entries = ring.readable(1);
      ASSERT_EQ(entries.size(), 1u);
      EXPECT_EQ(entries[0], next_out++);
      ring.pop(1);
    }
    EXPECT_EQ(ring.room(4), 3u);
    while (!ring.drained()) {
      auto entries = ring.readable(8);
      for (int entry : entries) EXPECT_EQ(entry, next_out++);
      ring.pop(static_cast<uint32_t>(entries.size()));
    }
  }
  EXPECT_EQ(next_in, next_out);
}

TEST(SpscRingTest, ReadableElementsAreContiguous) {
  SpscRing<int> ring(8);
  for (int i = 0; i < 6; ++i) ring.push(i);
  ring.publish();
  EXPECT_EQ(ring.readable(8).size(), 6u);
  EXPECT_EQ(ring.readable(2).size(), 2u);
  ring.pop(6);
  for (int i = 6; i < 12; ++i) ring.push(i);
  ring.publish();
  const auto end = ring.readable(8);
  ASSERT_EQ(end.size(), 2u) << "the ring's last two";
  EXPECT_EQ(end[1], 7);
  ring.pop(2);
  const auto begin = ring.readable(8);
  ASSERT_EQ(begin.size(), 4u);
  EXPECT_EQ(begin[0], 8);
}

// Also runs under ThreadSanitizer, since the entries themselves are not atomic.
TEST(SpscRingTest, TwoThreadsSeeEverythingOnceAndInOrder) {
  constexpr uint32_t kEntries = 300'000;
  SpscRing<uint32_t> ring(64);
  std::thread producer([&] {
    for (uint32_t next = 0; next < kEntries;) {
      for (uint32_t room = ring.room(1 + next % 7); room > 0 && next < kEntries; --room) ring.push(next++);
      ring.publish();
      if (ring.room(1) == 0) std::this_thread::yield();
    }
  });
  uint32_t expected = 0;
  while (expected < kEntries) {
    auto entries = ring.readable(1 + expected % 33);
    for (uint32_t entry : entries) ASSERT_EQ(entry, expected++);
    if (entries.empty()) std::this_thread::yield();
    ring.pop(static_cast<uint32_t>(entries.size()));
  }
  producer.join();
  EXPECT_TRUE(ring.drained());
}

}  // namespace
}  // namespace tapline
