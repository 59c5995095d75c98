#include "monitors/events/event_ring.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <random>
#include <string>
#include <thread>

namespace tapline {
namespace {

constexpr size_t kBytes = 1 << 12;

TupleHeader header_at(int64_t time_ns) {
  TupleHeader header;
  header.time_ns = time_ns;
  header.src_port = 1234;
  header.queries = 1;
  return header;
}

TEST(EventRing, EventsKeepTheirOrder) {
  EventBell bell;
  EventRing ring(kBytes, &bell);
  const Value values[] = {Value::u64(7),         Value::i64(-7),      Value::f64(0.5),
                          Value::boolean(true),  Value::string("ab"), Value::absent(FieldType::kU64),
                          Value::string("cdef"), Value::string("")};
  ring.push(3, 2, header_at(42), values);
  RingEvent event;
  ASSERT_TRUE(ring.front(&event));
  EXPECT_EQ(event.query, 3u);
  EXPECT_EQ(event.parser, 2u);
  EXPECT_EQ(event.header.time_ns, 42);
  EXPECT_EQ(event.header.src_port, 1234);
  EXPECT_GT(event.made_ns, 0);
  ASSERT_EQ(event.values.size(), std::size(values));
  EXPECT_EQ(event.values[0].as_u64(), 7u);
  EXPECT_EQ(event.values[1].as_i64(), -7);
  EXPECT_EQ(event.values[2].as_f64(), 0.5);
  EXPECT_TRUE(event.values[3].as_bool());
  EXPECT_EQ(event.values[4].as_string(), "ab");
  EXPECT_FALSE(event.values[5].present());
  EXPECT_EQ(event.values[6].as_string(), "cdef");
  EXPECT_EQ(event.values[7].as_string(), "");
  ring.pop();
  EXPECT_FALSE(ring.front(&event));
}

TEST(EventRing, EventsWithoutRoomAreCountedForTheirQuery) {
  EventBell bell;
  EventRing ring(kBytes, &bell);
  const std::string longest(kBytes / 8, 'x');
  const Value too_long[] = {Value::string(longest)};
  ring.push(1, 0, header_at(1), too_long);
  EXPECT_EQ(ring.lost(1), 1u);
  const Value value[] = {Value::u64(1)};
  for (int i = 0; i < 100; ++i) ring.push(2, 0, header_at(i), value);
  RingEvent event;
  uint64_t got = 0;
  for (; ring.front(&event); ring.pop()) EXPECT_EQ(event.header.time_ns, static_cast<int64_t>(got++));
  EXPECT_GT(got, 10u);
  EXPECT_EQ(got + ring.lost(2), 100u);
  EXPECT_EQ(ring.lost(1), 1u);
  const std::vector<Value> too_many(EventRing::kMaxValues + 1, Value::u64(1));
  ring.push(4, 0, header_at(1), too_many);
  EXPECT_EQ(ring.lost(4), 1u);
}

// Records have random sizes, so that the ring wraps at many offsets.
TEST(EventRing, TwoThreads) {
  EventBell bell;
  EventRing ring(kBytes, &bell);
  constexpr int kEvents = 200'000;
  std::thread writer([&] {
    std::mt19937 random(1);
    std::string text;
    for (int i = 0; i < kEvents; ++i) {
      text.assign(random() % 300, static_cast<char>('a' + i % 26));
      const Value values[] = {Value::u64(text.size()), Value::string(text)};
      ring.push(0, 0, header_at(i), values);
    }
  });
  int64_t last = -1;
  uint64_t got = 0;
  while (got + ring.lost(0) < kEvents) {
    RingEvent event;
    if (!ring.front(&event)) {
      pollfd input = {bell.fd(), POLLIN, 0};
      bell.arm();
      if (!ring.front(&event) && got + ring.lost(0) < kEvents) {
        ASSERT_EQ(poll(&input, 1, 10'000), 1) << "a wake-up was lost";
      }
      bell.disarm();
      continue;
    }
    EXPECT_GT(event.header.time_ns, last);
    last = event.header.time_ns;
    const std::string_view text = event.values[1].as_string();
    ASSERT_EQ(text.size(), event.values[0].as_u64());
    ASSERT_EQ(text.find_first_not_of(static_cast<char>('a' + last % 26)), std::string_view::npos);
    ++got;
    ring.pop();
  }
  writer.join();
  EXPECT_EQ(got + ring.lost(0), static_cast<uint64_t>(kEvents));
}

}  // namespace
}  // namespace tapline
