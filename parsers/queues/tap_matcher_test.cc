#include "parsers/queues/tap_matcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include "parsers/queues/testing/queue_simulator.h"

namespace tapline::queues {
namespace {

using testing::SimPacket;
using testing::TapEvent;
using testing::TapOptions;
using testing::TrafficOptions;

class KeptMatches final : public MatchSink {
 public:
  void pass(const Passage& passage) override { passages.push_back(passage); }
  void never_left(const View& arrival) override { left_behind.push_back(arrival); }
  std::vector<Passage> passages;
  std::vector<View> left_behind;
};

struct MatchedPacket {
  std::vector<SimPacket> packets;
  std::vector<TapEvent> events;
  std::vector<const SimPacket*> departed;  // the packet of each passage
  KeptMatches kept;
  MatchStatistics statistics;
  uint64_t in_queue = 0;
  int64_t offset_ns = 0;
};

MatchedPacket run(const TrafficOptions& traffic, const TapOptions& taps, const MatchOptions& options, uint32_t seed) {
  MatchedPacket run;
  run.packets = testing::simulate(traffic, seed);
  run.events = testing::tapped(run.packets, taps, seed + 1);
  TapMatcher matcher(options, &run.kept);
  for (const TapEvent& event : run.events) {
    View view = event.view;
    view.tag = static_cast<uint32_t>(event.packet);
    event.departure ? matcher.depart(view) : matcher.arrive(view);
  }
  matcher.finish();
  for (const Passage& passage : run.kept.passages) run.departed.push_back(&run.packets[passage.tag]);
  run.statistics = matcher.statistics();
  run.in_queue = matcher.in_queue();
  run.offset_ns = matcher.offset_ns();
  return run;
}

MatchOptions known_offset(int64_t offset_ns = 0) {
  MatchOptions options;
  options.offset_ns = offset_ns;
  options.reordering_ns = 0;
  return options;
}

// Expects each view to be counted exactly once, under a single outcome.
void expect_balance(const MatchedPacket& run) {
  const MatchStatistics& s = run.statistics;
  EXPECT_EQ(s.matched + s.never_came, s.departures);
  EXPECT_EQ(s.matched + s.never_left + s.evicted + run.in_queue, s.arrivals);
  EXPECT_EQ(run.kept.passages.size(), s.departures);
  EXPECT_EQ(run.kept.left_behind.size(), s.never_left);
}

// Returns the number of passages whose bounds exclude the true arrival.
size_t broken_bounds(const MatchedPacket& run) {
  size_t broken = 0;
  for (size_t i = 0; i < run.departed.size(); ++i) {
    const Passage& passage = run.kept.passages[i];
    const int64_t truth_ns = run.departed[i]->arrival_ns;
    EXPECT_EQ(passage.flow_key, run.departed[i]->flow_key);
    EXPECT_LE(passage.latest_ns, passage.departure_ns);
    if (passage.arrival_known) {
      EXPECT_GE(passage.arrival_ns, passage.earliest_ns);
      EXPECT_LE(passage.arrival_ns, passage.latest_ns);
    }
    broken += truth_ns < passage.earliest_ns || truth_ns > passage.latest_ns;
  }
  return broken;
}

TEST(TapMatcher, WithoutLossEveryPacketIsMatchedExactly) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const MatchedPacket matched = run({.packets = 5000, .buffer_bytes = 20'000}, {}, known_offset(), seed);
    size_t dropped = 0;
    for (const SimPacket& packet : matched.packets) dropped += packet.dropped;
    ASSERT_GT(dropped, 0u);
    EXPECT_EQ(matched.statistics.matched, matched.packets.size() - dropped);
    EXPECT_EQ(matched.statistics.ambiguous, 0u);
    EXPECT_EQ(matched.statistics.never_came, 0u);
    for (size_t i = 0; i < matched.departed.size(); ++i) {
      ASSERT_TRUE(matched.kept.passages[i].is_certain());
      ASSERT_EQ(matched.kept.passages[i].arrival_ns, matched.departed[i]->arrival_ns);
    }
    // A drop that is not known yet looks like a packet in the queue.
    EXPECT_LE(dropped - matched.statistics.never_left, matched.in_queue);
    for (const View& arrival : matched.kept.left_behind) EXPECT_GT(arrival.bytes, 0u);
    expect_balance(matched);
  }
}

TEST(TapMatcher, LossesAtEitherTapAreCountedAndNothingElseIsMatched) {
  for (const double lost : {0.01, 0.1}) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
      const TapOptions taps = {.arrivals_lost = lost, .departures_lost = lost};
      const MatchedPacket matched = run({.packets = 20'000, .buffer_bytes = 30'000}, taps, known_offset(), seed);
      std::vector<int> seen(matched.packets.size());  // 1: at the arrivals' tap, 2: at the departures'
      for (const TapEvent& event : matched.events) seen[event.packet] |= event.departure ? 2 : 1;
      EXPECT_EQ(matched.statistics.matched, static_cast<uint64_t>(std::count(seen.begin(), seen.end(), 3)));
      EXPECT_EQ(matched.statistics.never_came, static_cast<uint64_t>(std::count(seen.begin(), seen.end(), 2)));
      EXPECT_EQ(matched.statistics.never_left + matched.in_queue,
                static_cast<uint64_t>(std::count(seen.begin(), seen.end(), 1)));
      EXPECT_EQ(broken_bounds(matched), 0u);
      expect_balance(matched);
    }
  }
}

// A quarter of the packets equal others of their flow, like acknowledgements without identification.
TEST(TapMatcher, DelaysOfEqualPacketsHaveBoundsThatHold) {
  const TrafficOptions traffic = {.packets = 20'000, .flows = 5, .equal_share = 0.25, .buffer_bytes = 30'000};
  for (const double lost : {0.0, 0.01, 0.1}) {
    uint64_t width_ns = 0, delay_ns = 0;
    for (uint32_t seed = 0; seed < 10; ++seed) {
      const TapOptions taps = {.arrivals_lost = lost, .departures_lost = lost};
      const MatchedPacket matched = run(traffic, taps, known_offset(), seed);
      EXPECT_EQ(broken_bounds(matched), 0u) << lost;
      EXPECT_GT(matched.statistics.ambiguous, 0u);
      EXPECT_GT(matched.statistics.repeated, 0u);
      expect_balance(matched);
      bool anchored = false;
      for (size_t i = 0; i < matched.departed.size(); ++i) {
        const Passage& passage = matched.kept.passages[i];
        if (matched.departed[i]->identified && passage.arrival_known) {
          ASSERT_TRUE(passage.is_certain());
          ASSERT_EQ(passage.arrival_ns, matched.departed[i]->arrival_ns);
        }
        anchored |= passage.is_certain();
        // Only max_delay_ns bounds the arrivals of packets that leave before the first certain one: they may have
        // arrived before the taps started.
        if (!anchored) {
          EXPECT_LT(i, 5u);
        }
        if (passage.is_certain() || !anchored) continue;
        width_ns += static_cast<uint64_t>(passage.latest_ns - passage.earliest_ns);
        delay_ns += static_cast<uint64_t>(passage.departure_ns - passage.earliest_ns);
      }
    }
    // The bounds are useful: they are much closer together than the delay is long.
    EXPECT_LT(width_ns, delay_ns / 8) << lost;
  }
}

TEST(TapMatcher, ToleratesReorderingAndClocksThatDiffer) {
  for (const int64_t late_ns : {int64_t{-400'000}, int64_t{0}, int64_t{3'000'000}}) {
    for (uint32_t seed = 0; seed < 5; ++seed) {
      MatchOptions options = known_offset(late_ns);
      options.reordering_ns = 20'000;
      const TapOptions taps = {
          .arrivals_lost = 0.01, .departures_lost = 0.01, .departures_late_ns = late_ns, .reordering_ns = 20'000};
      const TrafficOptions traffic = {.packets = 10'000, .equal_share = 0.1, .buffer_bytes = 30'000};
      const MatchedPacket matched = run(traffic, taps, options, seed);
      size_t broken = 0, wrong = 0;
      for (size_t i = 0; i < matched.departed.size(); ++i) {
        const Passage& passage = matched.kept.passages[i];
        const int64_t truth_ns = matched.departed[i]->arrival_ns + late_ns;  // by the departures' clock
        broken += truth_ns < passage.earliest_ns || truth_ns > passage.latest_ns;
        wrong += passage.is_certain() && passage.arrival_ns != truth_ns;
      }
      EXPECT_EQ(wrong, 0u) << late_ns;
      EXPECT_EQ(broken, 0u) << late_ns;
      expect_balance(matched);
    }
  }
}

TEST(TapMatcher, MeasuresTheOffsetWhereTheQueueIsEmpty) {
  for (const int64_t late_ns : {int64_t{-500'000}, int64_t{7'000'000}}) {
    MatchOptions options;
    options.reordering_ns = 0;
    const MatchedPacket matched = run({.packets = 20'000, .load = 0.5}, {.departures_late_ns = late_ns}, options, 1);
    // The smallest packets take 51 ns to transmit.
    EXPECT_GE(matched.offset_ns, late_ns + 51);
    EXPECT_LE(matched.offset_ns, late_ns + 60);
    EXPECT_EQ(matched.statistics.never_came, 0u);
  }
}

TEST(TapMatcher, EqualPacketsMatchFirstInFirstOut) {
  KeptMatches kept;
  TapMatcher matcher(known_offset(), &kept);
  for (int64_t i = 0; i < 3; ++i) matcher.arrive({.digest = 7, .flow_key = 1, .time_ns = 1000 + i, .bytes = 60});
  for (int64_t i = 0; i < 4; ++i) matcher.depart({.digest = 7, .flow_key = 1, .time_ns = 2000 + i, .bytes = 60});
  matcher.finish();
  ASSERT_EQ(kept.passages.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(kept.passages[i].arrival_ns, 1000 + static_cast<int64_t>(i));
  EXPECT_FALSE(kept.passages[3].arrival_known);
  EXPECT_EQ(matcher.statistics().ambiguous, 3u);
  EXPECT_EQ(matcher.statistics().repeated, 3u);
}

// A host with several cores, or a software mirror, may stamp a packet after others that enter the queue later.
TEST(TapMatcher, ALateStampLosesNoPacket) {
  constexpr int kPackets = 10;
  std::vector<TapEvent> events;
  for (int i = 0; i < kPackets; ++i) {
    View view = {.digest = 100u + static_cast<uint64_t>(i), .flow_key = 1, .bytes = 1000, .identified = true};
    view.time_ns = i * 10'000 + (i == 3 ? 300'000 : 0);
    events.push_back({view, static_cast<size_t>(i), false});
    view.time_ns = 1'000'000 + i * 120'000;
    events.push_back({view, static_cast<size_t>(i), true});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const TapEvent& a, const TapEvent& b) { return a.view.time_ns < b.view.time_ns; });
  KeptMatches kept;
  MatchOptions options;
  options.offset_ns = 0;
  TapMatcher matcher(options, &kept);
  for (const TapEvent& event : events) event.departure ? matcher.depart(event.view) : matcher.arrive(event.view);
  matcher.finish();
  EXPECT_EQ(matcher.statistics().matched, kPackets);
  EXPECT_EQ(matcher.statistics().never_left, 0u);
  EXPECT_EQ(matcher.statistics().never_came, 0u);
  // The six packets behind the late one seem to have arrived before it.
  EXPECT_EQ(matcher.statistics().ambiguous, 6u);
  ASSERT_EQ(kept.passages.size(), static_cast<size_t>(kPackets));
  for (const Passage& passage : kept.passages) EXPECT_TRUE(passage.arrival_known);
}

// A departure waits for packets that may be delivered late. Its arrival must not expire in the meantime.
TEST(TapMatcher, ADepartureIsMatchedAfterALongSilence) {
  KeptMatches kept;
  MatchOptions options = known_offset();
  options.reordering_ns = 100'000;
  TapMatcher matcher(options, &kept);
  for (const int64_t second : {1, 3, 9}) {
    const int64_t time_ns = second * 1'000'000'000;
    const auto digest = static_cast<uint64_t>(second);
    matcher.arrive({.digest = digest, .time_ns = time_ns, .bytes = 60, .identified = true});
    matcher.depart({.digest = digest, .time_ns = time_ns + 1000, .bytes = 60, .identified = true});
  }
  matcher.finish();
  EXPECT_EQ(matcher.statistics().matched, 3u);
  EXPECT_EQ(matcher.statistics().never_left, 0u);
}

TEST(TapMatcher, ClassesThatOvertakeAreMatchedWithoutOrder) {
  KeptMatches kept;
  MatchOptions options = known_offset();
  options.fifo = false;
  TapMatcher matcher(options, &kept);
  for (uint64_t i = 0; i < 100; ++i)
    matcher.arrive({.digest = i, .time_ns = static_cast<int64_t>(i), .bytes = 60, .identified = true});
  for (uint64_t i = 100; i-- > 0;)
    matcher.depart({.digest = i, .time_ns = static_cast<int64_t>(1'000'000 - i), .bytes = 60, .identified = true});
  matcher.finish();
  EXPECT_EQ(matcher.statistics().matched, 100u);
  EXPECT_EQ(matcher.statistics().ambiguous, 0u);
}

class CountedOutcomes final : public MatchSink {
 public:
  void pass(const Passage&) override { ++passed; }
  void never_left(const View&) override { ++left_behind; }
  uint64_t passed = 0, left_behind = 0;
};

// Returns the resident memory of this process, in bytes.
uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t flood_digest(uint64_t i) { return (i + 1) * 0x9e3779b97f4a7c15; }

// Floods of packets that never leave and of departures without arrivals do not increase memory. Arrivals are evicted if
// they come faster than they expire, and expire otherwise.
TEST(TapMatcher, FloodsAreBounded) {
  const uint64_t flood = testing::count_of("TAPLINE_QUEUE_FLOOD", 1'000'000);
  constexpr uint64_t kMaxPackets = 1024;
  for (const bool equal : {false, true}) {
    for (const int64_t gap_ns : {int64_t{1}, int64_t{1'000'000}}) {
      CountedOutcomes counted_outcomes;
      MatchOptions options = known_offset();
      options.max_packets = kMaxPackets;
      options.max_unsettled = 256;
      TapMatcher matcher(options, &counted_outcomes);
      const uint64_t memory_bytes = matcher.memory_bytes();
      uint64_t max = 0, resident_before = 0;
      for (uint64_t i = 0; i < flood; ++i) {
        if (i == flood / 10) resident_before = resident_bytes();
        matcher.arrive(
            {.digest = equal ? 1 : flood_digest(i), .time_ns = static_cast<int64_t>(i) * gap_ns, .bytes = 60});
        max = std::max(max, matcher.in_queue());
      }
      EXPECT_LE(resident_bytes(), resident_before + (1 << 20));
      EXPECT_LE(max, kMaxPackets);
      EXPECT_EQ(matcher.statistics().evicted + counted_outcomes.left_behind, flood - matcher.in_queue());
      EXPECT_EQ(gap_ns == 1 ? counted_outcomes.left_behind : matcher.statistics().evicted, 0u);
      EXPECT_EQ(matcher.memory_bytes(), memory_bytes);
    }
  }
  CountedOutcomes counted_outcomes;
  MatchOptions options = known_offset();
  options.max_unsettled = 256;
  TapMatcher matcher(options, &counted_outcomes);
  const uint64_t memory_bytes = matcher.memory_bytes();
  for (uint64_t i = 0; i < flood; ++i)
    matcher.depart({.digest = flood_digest(i), .time_ns = static_cast<int64_t>(i), .bytes = 60});
  matcher.finish();
  EXPECT_EQ(matcher.statistics().never_came, flood);
  EXPECT_EQ(matcher.memory_bytes(), memory_bytes);
  EXPECT_EQ(counted_outcomes.passed, flood);
}

TEST(TapMatcher, ExpiresAnArrivalAfterTheLongestDelay) {
  KeptMatches kept;
  MatchOptions options = known_offset();
  TapMatcher matcher(options, &kept);
  matcher.arrive({.digest = 1, .time_ns = 0, .bytes = 60, .identified = true});
  matcher.advance(options.max_delay_ns);
  EXPECT_EQ(matcher.in_queue(), 1u);
  matcher.advance(options.max_delay_ns + options.settle_ns + 1);
  EXPECT_EQ(matcher.in_queue(), 0u);
  EXPECT_EQ(matcher.statistics().never_left, 1u);
  EXPECT_EQ(matcher.statistics().never_left_bytes, 60u);
}

}  // namespace
}  // namespace tapline::queues
