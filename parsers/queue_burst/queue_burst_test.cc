#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "parsers/queues/testing/queue_frames.h"

namespace tapline {
namespace {

using queues::testing::kStart;
using queues::testing::two_flows;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Lines = std::vector<std::string>;

Harness harness_of(uint64_t delay_ns) {
  const Value values[] = {Value::u64(delay_ns), Value::string("five_tuple"), Value::u64(kNsPerSecond),
                          Value::string("one"), Value::u64(0)};
  return queues::testing::tapped("queue_burst", values);
}

TEST(QueueBurst, ReportsABusyPeriodWithItsCulprits) {
  Harness harness = harness_of(200'000);
  harness.all(two_flows(12));
  // Packets 8 to 11 wait for 200 µs or more, and find packets 3-7, 4-8, 4-9 and 5-10 in the queue. The busy period
  // begins with packet 0.
  EXPECT_EQ(harness.lines({"queue", "rank", "delay_ns", "duration_ns", "burst_packets", "burst_bytes", "victims",
                           "burst_flows", "lost"}),
            (Lines{"s1:2 1 260000 480000 12 12000 4 2 0", "s1:2 2 260000 480000 12 12000 4 2 0"}));
  const Tuple &first = harness.tuples()[0], &second = harness.tuples()[1];
  EXPECT_EQ(first.endpoints(), "10.0.0.1:2002>10.0.0.2:53");
  EXPECT_EQ(first["begin_ns"], std::to_string(kStart));
  const auto number = [](const Tuple& tuple, const char* field) { return std::stoull(tuple[field]); };
  // All packets that left before a victim are direct or indirect culprits.
  const uint64_t before = 4 * 8000 + (0 + 1 + 2 + 3) * 1000;
  EXPECT_EQ(number(first, "direct_bytes") + number(second, "direct_bytes") + number(first, "indirect_bytes") +
                number(second, "indirect_bytes"),
            before / 4);
  EXPECT_EQ(number(first, "original_bytes") + number(second, "original_bytes"),
            number(first, "direct_bytes") + number(second, "direct_bytes"));
  EXPECT_EQ(number(first, "flow_victims") + number(second, "flow_victims"), 4u);
  EXPECT_EQ(std::max(number(first, "flow_delay_ns"), number(second, "flow_delay_ns")), 260'000u);
  EXPECT_EQ(number(first, "waited_ns") + number(second, "waited_ns"), 12 * 40'000u + 66 * 20'000u);
  EXPECT_EQ(number(first, "blamed_ns") + number(second, "blamed_ns"), 12 * 40'000u + 66 * 20'000u);
  EXPECT_EQ(number(first, "blamed_ns"), 1'200'000u) << "two of three packets";
  EXPECT_NEAR(std::stod(first["share"]) + std::stod(second["share"]), 1, 1e-5);
}

TEST(QueueBurst, ABurstEndsEvenIfNoPacketFollows) {
  Harness harness = harness_of(200'000);
  const std::vector<Frame> frames = two_flows(12);
  harness.feed(frames);
  EXPECT_TRUE(harness.tuples().empty());
  for (int ms = 1; ms < 10; ++ms) harness.engine().advance(frames.back().time_ns + ms * kNsPerMs);
  EXPECT_EQ(harness.lines({"rank", "burst_packets", "victims"}), (Lines{"1 12 4", "2 12 4"}));
}

TEST(QueueBurst, PeriodsWithoutVictimsAreNotReported) {
  Harness harness = harness_of(300'000);
  harness.all(two_flows(12));
  EXPECT_TRUE(harness.tuples().empty());
}

// The first burst comes from port 40002; the second one mostly from 40003, and exceeds the queue's capacity.
TEST(QueueBurst, NamesTheFlowsOfARealQueue) {
  Harness harness = harness_of(3 * kNsPerMs);
  harness.all(queues::testing::captured_queue());
  Lines largest;
  for (const Tuple& tuple : harness.tuples()) {
    if (tuple["rank"] == "1") largest.push_back(tuple.endpoints() + " " + tuple["lost"]);
  }
  EXPECT_EQ(largest, (Lines{"10.99.1.2:40002>10.99.2.2:7000 0", "10.99.1.2:40003>10.99.2.2:7000 18"}));
}

}  // namespace
}  // namespace tapline
