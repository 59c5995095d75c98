// Tests what the parser `trigger` does besides counting: it sweeps between bursts, and takes note of lost packets.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parsers/testing/frames.h"
#include "parsers/testing/harness.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/testing/model.h"

namespace tapline::trigger::testing {
namespace {

using tapline::testing::Frame;
using tapline::testing::Harness;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1000 * 1'000 * kMs;

Harness harness_with(bool postpones_work) {
  EngineOptions options = Harness::small();
  options.postpones_work = postpones_work;
  options.max_connections = 1 << 14;
  return Harness(std::vector<std::string>{"trigger"}, options);
}

// Sets a trigger on each source's packets, in windows of 10 ms.
void set(Harness* harness, Expression when, uint32_t query = 0) {
  Trigger trigger;
  trigger.group = GroupBy::source(32, 128);
  trigger.when = std::move(when);
  trigger.every_ns = 10 * kMs;
  std::string error;
  auto program = Program::make({trigger}, &error);
  ASSERT_NE(program, nullptr) << error;
  harness->engine().set_triggers(0, query, std::move(program));
}

// Returns one datagram from each of this many sources, within a window.
std::vector<Frame> datagrams(int64_t time_ns, int sources) {
  std::vector<Frame> frames;
  for (int i = 0; i < sources; ++i) {
    const std::string source = "10.1." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250);
    frames.push_back(tapline::testing::udp_frame({.src = source}, time_ns + i));
  }
  return frames;
}

std::set<std::string> groups(const Harness& harness) {
  std::set<std::string> groups;
  for (const auto& tuple : harness.tuples()) groups.insert(std::string(tuple["group"]));
  return groups;
}

constexpr int kSources = 5'000;

TEST(TriggerParserWork, AWindowIsSweptInSmallParts) {
  const Expression when =
      apply(Op::kAnd, above(value_of(Measure::kPackets), number(0)), above(value_of(Measure::kBytes), number(0)));
  Harness at_once = harness_with(false), in_parts = harness_with(true);
  for (Harness* harness : {&at_once, &in_parts}) {
    set(harness, when);
    harness->feed(datagrams(kStart, kSources));
    harness->engine().advance(kStart + 10 * kMs);
  }
  // The limit of events per trigger and window.
  EXPECT_EQ(at_once.tuples().size(), 1'000u);
  EXPECT_FALSE(at_once.engine().has_work());
  EXPECT_EQ(in_parts.tuples().size(), 0u) << "nothing is swept before the next packets";
  int parts = 0;
  for (; in_parts.engine().has_work(); ++parts) {
    const size_t before = in_parts.tuples().size();
    in_parts.engine().continue_work();
    EXPECT_LE(in_parts.tuples().size() - before, 30u) << "too many events for one part";
  }
  EXPECT_GT(parts, 100);
  EXPECT_EQ(groups(in_parts), groups(at_once));
}

// A lane continues to count packets while it sweeps earlier windows.
TEST(TriggerParserWork, PacketsAreCountedWhileAWindowIsSwept) {
  const Expression when =
      apply(Op::kAnd, above(value_of(Measure::kPackets), number(1)), above(value_of(Measure::kBytes), number(0)));
  Harness harness = harness_with(true);
  set(&harness, when);
  for (int window = 0; window < 4; ++window) {
    for (int packet = 0; packet < 2; ++packet) {
      harness.feed(datagrams(kStart + window * 10 * kMs + packet * kMs, 100));
      if (harness.engine().has_work()) harness.engine().continue_work();
    }
  }
  harness.engine().end();
  EXPECT_EQ(harness.tuples().size(), 400u);
  EXPECT_EQ(groups(harness).size(), 100u);
}

// The event does not wait for the end of a millisecond. After a large burst, the lane has no time for that.
TEST(TriggerParserWork, AThresholdIsTestedAfterASmallBurst) {
  for (const int sources : {5, 100}) {
    Harness harness = harness_with(true);
    set(&harness, above(value_of(Measure::kPackets), number(1)));
    const auto send = [&](int64_t time_ns) {
      harness.feed(datagrams(time_ns, sources), 1, 100);
      for (int i = 0; i < 10; ++i) harness.engine().continue_work();
      return harness.tuples().size();
    };
    EXPECT_EQ(send(kStart), 0u);
    EXPECT_EQ(send(kStart + kMs / 2), sources == 5 ? 5u : 0u);
    harness.engine().advance(kStart + kMs);
    for (int i = 0; i < 10; ++i) harness.engine().continue_work();
    EXPECT_EQ(harness.tuples().size(), static_cast<size_t>(sources));
    harness.engine().end();
    EXPECT_EQ(harness.tuples().size(), static_cast<size_t>(sources)) << "once per window";
  }
}

// Each part is as small as with one query, and a query with a large window does not delay that of another.
TEST(TriggerParserWork, QueriesTakeTurns) {
  constexpr int kQueries = 20;
  const Expression when =
      apply(Op::kAnd, above(value_of(Measure::kPackets), number(0)), above(value_of(Measure::kBytes), number(0)));
  Harness harness = harness_with(true);
  for (uint32_t query = 0; query < kQueries; ++query) set(&harness, when, query);
  harness.feed(datagrams(kStart, 900), 1);
  for (uint32_t query = 1; query < kQueries; ++query) harness.feed(datagrams(kStart, 10), uint64_t{1} << query);
  harness.engine().advance(kStart + 10 * kMs);
  std::map<int, size_t> events;  // by query
  size_t counted = 0;
  int parts = 0, parts_of_small_queries = 0;
  for (; harness.engine().has_work(); ++parts) {
    harness.engine().continue_work();
    EXPECT_LE(harness.tuples().size() - counted, 30u) << "too many events for one part";
    for (; counted < harness.tuples().size(); ++counted) {
      const int query = std::countr_zero(harness.tuples()[counted].header.queries);
      ++events[query];
      if (query > 0) parts_of_small_queries = parts;
    }
  }
  EXPECT_EQ(events[0], 900u);
  for (int query = 1; query < kQueries; ++query) EXPECT_EQ(events[query], 10u) << query;
  EXPECT_LT(parts_of_small_queries, parts / 2);
}

TEST(TriggerParserWork, EndingAQueryFinishesTheSweep) {
  const Expression when =
      apply(Op::kAnd, above(value_of(Measure::kPackets), number(0)), above(value_of(Measure::kBytes), number(0)));
  Harness harness = harness_with(true);
  set(&harness, when);
  harness.feed(datagrams(kStart, 900));
  harness.engine().advance(kStart + 10 * kMs);
  harness.engine().end();
  EXPECT_EQ(harness.tuples().size(), 900u);
}

TEST(TriggerParserWork, LostPacketsMakeEventsUncertain) {
  const Expression when = below(value_of(Measure::kPackets), number(5));
  Harness harness = harness_with(false);
  set(&harness, when);
  ASSERT_TRUE(harness.engine().wants_losses());
  for (int window = 0; window < 3; ++window) {
    harness.feed(datagrams(kStart + window * 10 * kMs, 1));
    if (window == 1) harness.engine().lose({7, kStart + 12 * kMs, kStart + 13 * kMs});
  }
  harness.engine().advance(kStart + 30 * kMs);
  ASSERT_EQ(harness.tuples().size(), 3u);
  EXPECT_EQ(harness.tuples()[0]["certain"], "true");
  EXPECT_EQ(harness.tuples()[0]["lost_packets"], "0");
  EXPECT_EQ(harness.tuples()[1]["certain"], "false");
  EXPECT_EQ(harness.tuples()[1]["lost_packets"], "7");
  EXPECT_EQ(harness.tuples()[2]["certain"], "true");
  EXPECT_EQ(harness.tuples()[2]["lost_packets"], "0");
  const TriggerTotals totals = harness.engine().stats().triggers;
  EXPECT_EQ(totals.windows, 3u);
  EXPECT_EQ(totals.lossy_windows, 1u);
  EXPECT_EQ(totals.groups, 3u);
  harness.engine().end();
  EXPECT_GE(harness.engine().stats().triggers.windows, 3u) << "also after the query's end";
}

// Without time between its bursts, a lane has to finish a sweep before the next window ends.
TEST(TriggerParserWork, LateWindowsAreCounted) {
  const Expression when =
      apply(Op::kAnd, above(value_of(Measure::kPackets), number(0)), above(value_of(Measure::kBytes), number(0)));
  Harness harness = harness_with(true);
  set(&harness, when);
  for (int window = 0; window < 4; ++window) harness.feed(datagrams(kStart + window * 10 * kMs, 900));
  harness.engine().end();
  const TriggerTotals totals = harness.engine().stats().triggers;
  EXPECT_EQ(harness.tuples().size(), 3'600u);
  EXPECT_EQ(totals.windows, 4u);
  EXPECT_GE(totals.late_windows, 2u);
}

}  // namespace
}  // namespace tapline::trigger::testing
