// Replaces programs while several lanes count on separate threads, and compares their events with the model. Runs under
// ThreadSanitizer, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "parsers/trigger/host_triggers.h"
#include "parsers/trigger/testing/lane_input.h"
#include "parsers/trigger/testing/random_traffic.h"
#include "parsers/trigger/testing/versions.h"

namespace tapline::trigger::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr GatherOptions kGather = {.cache_lines = 4, .max_groups = 1 << 10, .windows = 3};

using Offered = std::map<const Program*, std::vector<Trigger>>;

// Replaces the program with random subsets of the triggers, each time the last replacement is complete.
void replace_at_random(HostTriggers* host, const std::vector<Trigger>& triggers, uint32_t seed,
                       const std::atomic<bool>& running, std::vector<std::shared_ptr<const Program>>* kept,
                       Offered* offered) {
  std::mt19937 random(seed);
  while (running.load(std::memory_order_acquire)) {
    const std::vector<Trigger> next = random() % 9 == 0 ? std::vector<Trigger>() : some_of(triggers, &random);
    kept->push_back(program_of(next));
    (*offered)[kept->back().get()] = next;
    auto prepared = host->prepare(kept->back(), kGather);
    while (host->replacing() && running.load(std::memory_order_acquire)) std::this_thread::yield();
    if (!host->replacing()) host->offer(std::move(prepared));
  }
}

void run_lane(HostTriggers* host, uint32_t lane, const LaneInput& input, int64_t start_ns, int64_t until_ns,
              uint32_t seed) {
  std::mt19937 random(seed + lane);
  const auto wait = [&] {
    while (!host->has_room(lane)) std::this_thread::yield();
  };
  host->advance(lane, start_ns);
  for (size_t at = 0; at < input.samples.size(); ++at) {
    // Lets other lanes get ahead and programs arrive.
    for (uint32_t pause = random() % 8; pause == 0 || pause > 6; pause = random() % 8) std::this_thread::yield();
    wait();
    if (random() % 4 == 0) host->advance(lane, input.samples[at].time_ns);
    host->process(lane, {&input.samples[at], 1}, {&input.tcp[at], 1});
  }
  wait();
  host->advance(lane, until_ns);
}

// Lanes have reached different packet times when a program is offered. From the boundary that the lanes agreed on, each
// trigger's events are those of the model, so no packet is counted twice, in the wrong program, or not at all.
TEST(HostSwap, EventsMatchTheModelOverRandomSwaps) {
  size_t events = 0, swaps = 0;
  for (uint32_t seed = 0; seed < 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomTraffic traffic(seed, {.triggers = 1 + seed,
                                 .samples = 1200,
                                 .duration_ns = 120 * kMs,
                                 .alerts = true,
                                 .silence = seed % 2 == 0,
                                 .sketches = seed % 3 == 0});
    const std::vector<Trigger> triggers = traffic.triggers();
    std::vector<Sample> samples = traffic.samples();
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    const std::vector<TcpFacts> tcp = traffic.facts(samples);
    const std::vector<LaneInput> lanes = distribute(samples, tcp, 1 + seed % 4, seed);
    const int64_t start_ns = samples.front().time_ns, until_ns = samples.back().time_ns + 50 * kMs;
    SwapRecorder recorder;
    std::vector<std::shared_ptr<const Program>> kept;
    Offered offered;
    HostTriggers host(program_of(triggers), static_cast<uint32_t>(lanes.size()), kGather, {.max_events = UINT32_MAX},
                      &recorder);
    std::atomic<bool> running = true;
    std::atomic<uint32_t> counting{static_cast<uint32_t>(lanes.size())};
    std::thread replacing([&] { replace_at_random(&host, triggers, seed, running, &kept, &offered); });
    std::vector<std::thread> threads;
    for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
      threads.emplace_back([&, lane] {
        run_lane(&host, lane, lanes[lane], start_ns, until_ns, seed);
        counting.fetch_sub(1, std::memory_order_release);
      });
    }
    while (counting.load(std::memory_order_acquire) > 0) {
      if (!host.sweep(7)) std::this_thread::yield();
    }
    running.store(false, std::memory_order_release);
    for (std::thread& thread : threads) thread.join();
    replacing.join();
    while (host.sweep(7)) {
    }

    std::vector<Version> versions = {{triggers, 0}};
    add_versions(recorder, offered, &versions);
    const auto reported = reported_events(recorder);
    const auto expected = expected_events(versions, samples, tcp, until_ns);
    expect_same_occasions(reported, expected);
    for (const auto& [occasion, event] : reported) {
      SCOPED_TRACE(to_string(occasion));
      ASSERT_TRUE(expected.contains(occasion));
      expect_value(event, expected.at(occasion));
    }
    for (const auto& [channel, windows] : recorder.windows_of_program) {
      for (const auto& [window_ns, reports] : windows) EXPECT_EQ(reports, 1) << window_ns;
    }
    events += reported.size();
    swaps += recorder.programs.size();
  }
  EXPECT_GT(events, 1000u);
  EXPECT_GT(swaps, 60u);
}

Trigger packets_above(uint64_t id, double count) {
  Trigger trigger;
  trigger.id = id;
  trigger.every_ns = 10 * kMs;
  trigger.when = above(value_of(Measure::kPackets), number(count));
  return trigger;
}

// The lane that is behind learns about a program late, when the lane ahead has already passed its own proposal.
TEST(HostSwap, LanesAgreeOnTheLatestBoundary) {
  SwapRecorder recorder;
  HostTriggers host(program_of({packets_above(1, 0)}), 2, kGather, {}, &recorder);
  const auto send = [&](uint32_t lane, int64_t ms) {
    Sample sample;
    sample.time_ns = ms * kMs;
    sample.packets = 1;
    host.process(lane, {&sample, 1}, {});
  };
  const auto sweep = [&] {
    while (host.sweep(100)) {
    }
  };
  send(0, 1);
  send(1, 2);
  host.offer(host.prepare(program_of({packets_above(1, 0), packets_above(2, 0)}), kGather));
  send(0, 8);   // proposes 10
  send(0, 13);  // proposes 20
  send(1, 5);   // agrees
  EXPECT_EQ(host.program(0).trigger_count(), 1u);
  send(0, 21);
  EXPECT_EQ(host.program(0).trigger_count(), 2u);
  EXPECT_EQ(host.program(1).trigger_count(), 1u);
  sweep();
  EXPECT_TRUE(recorder.programs.empty());
  host.advance(1, 20 * kMs);
  EXPECT_TRUE(host.replacing()) << "the old program has not been swept";
  sweep();
  EXPECT_FALSE(host.replacing());
  ASSERT_EQ(recorder.programs.size(), 1u);
  EXPECT_EQ(recorder.programs[0].second, 20 * kMs);
  send(1, 22);
  for (uint32_t lane : {0u, 1u}) host.advance(lane, 30 * kMs);
  sweep();
  std::map<std::pair<uint64_t, int64_t>, double> values;
  for (const Event& event : recorder.events) values[{event.trigger, event.window_start_ns / kMs}] = event.value.low;
  const std::map<std::pair<uint64_t, int64_t>, double> expected = {
      {{1, 0}, 4}, {{1, 10}, 1}, {{1, 20}, 2}, {{2, 20}, 2}};
  EXPECT_EQ(values, expected);
}

}  // namespace
}  // namespace tapline::trigger::testing
