// Replaces programs while packets are counted, and compares the events with the model: a trigger has events only for
// the time in which its program counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "parsers/trigger/testing/random_traffic.h"
#include "parsers/trigger/testing/versions.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::trigger::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1'700'000'000'000'000'000;

TEST(TriggerSwap, EventsMatchTheModelOverRandomSwaps) {
  size_t events = 0, early = 0, swaps = 0;
  for (uint32_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomTraffic traffic(seed, {.triggers = 1 + seed % 60,
                                 .samples = 1200,
                                 .duration_ns = 120 * kMs,
                                 .alerts = true,
                                 .silence = seed % 2 == 0,
                                 .sketches = seed % 3 == 0});
    const std::vector<Trigger> triggers = traffic.triggers();
    const std::vector<Sample> samples = traffic.samples();
    const std::vector<TcpFacts> tcp = traffic.facts(samples);
    std::mt19937 random(seed);
    TriggerOptions options = {.gather = {.cache_lines = 4, .max_groups = 1 << 12}, .sweep = {.max_events = UINT32_MAX}};
    options.steps_per_burst = 1 + random() % 200;
    options.populated_bytes = 1 << 12;
    std::vector<Version> versions = {{triggers, 0}};
    std::map<const Program*, std::vector<Trigger>> offered;
    SwapRecorder recorder;
    TriggerEngine engine(program_of(triggers), options, &recorder);
    for (size_t index = 0; index < samples.size();) {
      const size_t count = std::min<size_t>(1 + random() % 100, samples.size() - index);
      if (index > 0 && random() % 5 == 0) {
        const std::vector<Trigger> next = some_of(triggers, &random);
        auto prepared = engine.prepare(program_of(next));
        offered[&prepared->program()] = next;
        engine.offer(std::move(prepared));
      }
      engine.process({samples.data() + index, count}, {tcp.data() + index, count});
      index += count;
      // The next offer may free a replaced program, and another one may then have its address.
      add_versions(recorder, offered, &versions);
    }
    int64_t until_ns = 0;
    for (const Sample& sample : samples) until_ns = std::max(until_ns, sample.time_ns);
    until_ns += 50 * kMs;
    engine.advance(until_ns);
    add_versions(recorder, offered, &versions);
    const auto reported = reported_events(recorder);
    const auto expected = expected_events(versions, samples, tcp, until_ns);
    expect_same_occasions(reported, expected);
    for (const auto& [occasion, event] : reported) {
      SCOPED_TRACE(to_string(occasion));
      ASSERT_TRUE(expected.contains(occasion));
      expect_value(event, expected.at(occasion));
      early += event.ready_ns < event.window_end_ns ? 1 : 0;
    }
    for (const auto& [channel, windows] : recorder.windows_of_program) {
      for (const auto& [start_ns, reports] : windows) EXPECT_EQ(reports, 1) << start_ns;
    }
    events += reported.size();
    swaps += engine.stats().swaps;
  }
  EXPECT_GT(events, 1000u);
  EXPECT_GT(early, 100u);
  EXPECT_GT(swaps, 60u);
}

Trigger count_trigger(uint64_t id, int64_t every_ns) {
  Trigger trigger;
  trigger.id = id;
  trigger.every_ns = every_ns;
  trigger.when = above(value_of(Measure::kPackets), number(0));
  return trigger;
}

Sample packet(int64_t time_ns) {
  Sample sample;
  sample.time_ns = time_ns;
  sample.ip_version = 4;
  return sample;
}

// Another thread creates and offers programs while the lane counts. Runs under ThreadSanitizer, too.
TEST(TriggerSwap, NoPacketIsUncountedWhileAnotherThreadReplacesPrograms) {
  constexpr int64_t kPackets = 200'000, kPacketNs = 10'000;
  SwapRecorder recorder;
  const std::vector<Trigger> always = {count_trigger(0, kMs)};
  TriggerEngine engine(program_of(always), {.gather = {.cache_lines = 4}}, &recorder);
  std::atomic<bool> running = true;
  std::thread offering([&] {
    for (uint64_t id = 1; running.load(std::memory_order_relaxed); ++id) {
      std::vector<Trigger> triggers = always;
      for (uint64_t more = 0; more < id % 70; ++more) triggers.push_back(count_trigger(id * 100 + more, kMs));
      auto prepared = engine.prepare(program_of(triggers));
      while (engine.pending() && running.load(std::memory_order_relaxed)) std::this_thread::yield();
      engine.offer(std::move(prepared));
    }
  });
  for (int64_t number = 0; number < kPackets || engine.stats().swaps < 5; number += 50) {
    std::array<Sample, 50> burst;
    for (int64_t i = 0; i < 50; ++i) burst[static_cast<size_t>(i)] = packet(kStart + (number + i) * kPacketNs);
    engine.process(burst, {});
    if (number % 100'000 == 0) std::this_thread::yield();
  }
  running = false;
  offering.join();
  const auto sent = engine.stats().packets;
  engine.advance(kStart + static_cast<int64_t>(sent) * kPacketNs + kMs);
  // The windows follow each other without a gap, across all programs, and each has counted all its packets.
  uint64_t packets = 0;
  int64_t next_ns = kStart;
  for (const WindowReport& report : recorder.reports) {
    EXPECT_EQ(report.start_ns, next_ns);
    EXPECT_EQ(report.packets, 100u);
    EXPECT_FALSE(report.partial);
    packets += report.packets;
    next_ns = report.end_ns;
  }
  EXPECT_EQ(packets, sent);
  std::set<int64_t> alerts;
  for (const Event& event : recorder.events) {
    const bool is_seen = event.trigger == 0 && !alerts.insert(event.window_start_ns).second;
    EXPECT_FALSE(is_seen) << event.window_start_ns;
  }
  EXPECT_EQ(alerts.size(), recorder.reports.size()) << "the trigger of all programs is true in every window";
}

TEST(TriggerSwap, ProgramsSwitchAtABoundaryOfAllTheirWindows) {
  const auto four = program_of({count_trigger(1, 4 * kMs)}), six = program_of({count_trigger(2, 6 * kMs)});
  EXPECT_EQ(common_pane_ns(*four, *six), 12 * kMs);
  EXPECT_EQ(common_pane_ns(*four, *program_of({count_trigger(1, 86'400'000'000'000 - kMs)})), 0);
  const int64_t start_ns = kStart / (12 * kMs) * 12 * kMs;
  SwapRecorder recorder;
  TriggerEngine engine(four, {}, &recorder);
  engine.process({{packet(start_ns)}}, {});
  engine.offer(engine.prepare(six));
  for (int64_t ms = 1; ms < 30; ++ms) {
    const Sample sample = packet(start_ns + ms * kMs);
    engine.process({&sample, 1}, {});
  }
  engine.advance(start_ns + 30 * kMs);
  ASSERT_EQ(recorder.programs.size(), 1u);
  EXPECT_EQ(recorder.programs[0].second, start_ns + 12 * kMs);
  std::vector<std::pair<int64_t, uint64_t>> windows;
  for (const WindowReport& report : recorder.reports) {
    windows.emplace_back((report.start_ns - start_ns) / kMs, report.packets);
    EXPECT_FALSE(report.partial);
  }
  EXPECT_EQ(windows, (std::vector<std::pair<int64_t, uint64_t>>{{0, 4}, {4, 4}, {8, 4}, {12, 6}, {18, 6}, {24, 6}}));
}

// A program without triggers has no windows, and the window in which the next program begins is partial.
TEST(TriggerSwap, AnEngineBeginsAndEndsWithoutTriggers) {
  SwapRecorder recorder;
  TriggerEngine engine(program_of({}), {}, &recorder);
  const auto send = [&](int64_t time_ns) {
    const Sample sample = packet(time_ns);
    engine.process({&sample, 1}, {});
  };
  send(kStart + kMs);
  engine.offer(engine.prepare(program_of({count_trigger(1, 10 * kMs)})));
  send(kStart + 2 * kMs);
  send(kStart + 11 * kMs);
  EXPECT_EQ(engine.program().trigger_count(), 1u);
  engine.offer(engine.prepare(program_of({})));
  send(kStart + 21 * kMs);
  engine.advance(kStart + 100 * kMs);
  ASSERT_EQ(recorder.reports.size(), 2u);
  EXPECT_TRUE(recorder.reports[0].partial);
  EXPECT_FALSE(recorder.reports[1].partial);
  EXPECT_EQ(engine.stats().swaps, 2u);
}

TEST(TriggerSwap, AnOfferReplacesAWaitingOne) {
  SwapRecorder recorder;
  TriggerEngine engine(program_of({count_trigger(1, 10 * kMs)}), {}, &recorder);
  engine.process({{packet(kStart)}}, {});
  engine.offer(engine.prepare(program_of({count_trigger(2, 10 * kMs)})));
  engine.offer(engine.prepare(program_of({count_trigger(3, 10 * kMs)})));
  EXPECT_TRUE(engine.pending());
  engine.process({{packet(kStart + 10 * kMs)}}, {});
  EXPECT_FALSE(engine.pending());
  engine.advance(kStart + 20 * kMs);
  ASSERT_EQ(recorder.events.size(), 2u);
  EXPECT_EQ(recorder.events[0].trigger, 1u);
  EXPECT_EQ(recorder.events[1].trigger, 3u);
}

}  // namespace
}  // namespace tapline::trigger::testing
