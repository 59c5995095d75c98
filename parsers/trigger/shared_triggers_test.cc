// Tests lanes that count one query's packets, on one thread and on separate threads. Runs under ThreadSanitizer, too.
#include "parsers/trigger/shared_triggers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parsers/trigger/testing/model.h"

namespace tapline::trigger::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint32_t kLanes = 3;

std::shared_ptr<const Program> program_of(std::vector<Trigger> triggers) {
  std::string error;
  auto program = Program::make(std::move(triggers), &error);
  EXPECT_NE(program, nullptr) << error;
  return program;
}

Trigger packets_above(double count) {
  Trigger trigger;
  trigger.id = 1;
  trigger.every_ns = kMs;
  trigger.when = above(value_of(Measure::kPackets), number(count));
  return trigger;
}

Sample sample_at(int64_t time_ns) {
  Sample sample;
  sample.time_ns = time_ns;
  sample.packets = 1;
  return sample;
}

// The window has 40 packets over both lanes, and neither lane exceeds the threshold alone. It is reported once, to the
// sink of the lane that passes it last.
TEST(SharedTriggers, TheLastLaneReportsTheSumOfAll) {
  SharedTriggers shared(program_of({packets_above(39)}), 2);
  const uint32_t lanes[] = {shared.join(), shared.join()};
  Recorder sinks[2];
  for (uint32_t lane : lanes) shared.advance(lane, 0, &sinks[lane]);
  for (int i = 0; i < 20; ++i) {
    const Sample sample = sample_at(i);
    for (uint32_t lane : lanes) shared.process(lane, {&sample, 1}, {}, &sinks[lane]);
  }
  shared.advance(lanes[1], kMs, &sinks[lanes[1]]);
  EXPECT_TRUE(sinks[0].events.empty());
  EXPECT_TRUE(sinks[1].events.empty()) << "lane 0 has not passed the window";
  shared.advance(lanes[0], kMs, &sinks[lanes[0]]);
  ASSERT_EQ(sinks[lanes[0]].events.size(), 1u);
  EXPECT_EQ(sinks[lanes[0]].events[0].value.low, 40);
  EXPECT_FALSE(sinks[lanes[0]].events[0].partial);
  EXPECT_TRUE(sinks[lanes[1]].events.empty());
}

// A program's bound on groups is that of a lane's windows, also for the program that replaces it.
TEST(SharedTriggers, GroupsBeyondTheProgramsBoundAreCountedTogether) {
  constexpr uint32_t kGroups = 7;
  Trigger trigger = packets_above(0);
  trigger.when = apply(Op::kAnd, trigger.when, above(value_of(Measure::kBytes), number(0)));
  trigger.group = {.src_port = true};
  Trigger another = trigger;
  another.id = 2;
  std::string error;
  for (const uint32_t lanes : {1u, 2u}) {
    SCOPED_TRACE(lanes);
    SharedTriggers shared(Program::make({trigger}, &error, kGroups), lanes);
    Recorder sink;
    for (uint32_t lane = 0; lane < lanes; ++lane) shared.advance(shared.join(), 0, &sink);
    const auto count_window = [&](int64_t start_ns) {
      sink.events.clear();
      for (uint16_t port = 0; port < 20; ++port) {
        Sample sample = sample_at(start_ns + port);
        sample.ip_version = 4;
        sample.src_port = port;
        sample.bytes = 100;
        shared.process(0, {&sample, 1}, {}, &sink);
      }
      for (uint32_t lane = 0; lane < lanes; ++lane) shared.advance(lane, start_ns + kMs, &sink);
      std::map<std::pair<uint64_t, EventScope>, uint32_t> scopes;
      for (const Event& event : sink.events) ++scopes[{event.trigger, event.scope}];
      return scopes;
    };
    EXPECT_EQ(count_window(0), (std::map<std::pair<uint64_t, EventScope>, uint32_t>{{{1, EventScope::kGroup}, kGroups},
                                                                                    {{1, EventScope::kRest}, 1}}));
    ASSERT_EQ(shared.replace(Program::make({trigger, another}, &error, shared.max_groups())), "");
    for (int64_t window = 1; window < 4 && shared.replacing(); ++window) count_window(window * kMs);
    ASSERT_FALSE(shared.replacing());
    EXPECT_EQ((count_window(4 * kMs)[{2, EventScope::kGroup}]), kGroups);
  }
}

// The lanes run on separate threads, at most a few windows apart. No packet or window is missed or counted twice.
void expect_each_window_once(bool sweeps_in_parts) {
  constexpr int64_t kWindows = 2'000;
  constexpr int kPacketsPerWindow = 10;
  SharedTriggers shared(program_of({packets_above(0)}), kLanes);
  Recorder sinks[kLanes];
  std::atomic<int64_t> passed[kLanes] = {};
  const auto behind = [&] {
    int64_t min = INT64_MAX;
    for (const auto& count : passed) min = std::min(min, count.load());
    return min;
  };
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < kLanes; ++number) {
    threads.emplace_back([&] {
      const uint32_t lane = shared.join();
      shared.advance(lane, 0, &sinks[lane]);
      for (int64_t window = 0; window < kWindows; ++window) {
        while (window - behind() > 4) std::this_thread::yield();
        for (int i = 0; i < kPacketsPerWindow; ++i) {
          const Sample sample = sample_at(window * kMs + i);
          shared.process(lane, {&sample, 1}, {}, &sinks[lane]);
        }
        if (sweeps_in_parts) {
          shared.close(lane, (window + 1) * kMs, &sinks[lane]);
          shared.continue_sweep(lane, &sinks[lane]);
        } else {
          shared.advance(lane, (window + 1) * kMs, &sinks[lane]);
        }
        passed[lane] = window + 1;
      }
      shared.advance(lane, kWindows * kMs, &sinks[lane]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<int64_t, double> values;
  for (const Recorder& sink : sinks) {
    for (const Event& event : sink.events) {
      EXPECT_TRUE(values.emplace(event.window_start_ns, event.value.low).second) << "reported twice";
    }
    for (const WindowReport& report : sink.reports) EXPECT_EQ(report.uncounted_packets, 0u);
  }
  EXPECT_EQ(values.size(), static_cast<size_t>(kWindows));
  for (const auto& [start_ns, value] : values) EXPECT_EQ(value, kLanes * kPacketsPerWindow) << start_ns;
}

TEST(SharedTriggers, EachWindowIsReportedOnceByLanesThatRunAtOnce) { expect_each_window_once(false); }
TEST(SharedTriggers, EachWindowIsReportedOnceByLanesThatSweepBetweenBursts) { expect_each_window_once(true); }

// A loss in one lane makes the sum of all lanes uncertain.
TEST(SharedTriggers, ALossInAnyLaneCounts) {
  Trigger few = packets_above(0);
  few.when = below(value_of(Measure::kPackets), number(10));
  SharedTriggers shared(program_of({few}), 2);
  const uint32_t lanes[] = {shared.join(), shared.join()};
  Recorder sink;
  for (int64_t window = 0; window < 3; ++window) {
    const Sample sample = sample_at(window * kMs);
    for (uint32_t lane : lanes) shared.process(lane, {&sample, 1}, {}, &sink);
    if (window == 1) shared.lose(lanes[1], {5, window * kMs, window * kMs});
    for (uint32_t lane : lanes) shared.advance(lane, (window + 1) * kMs, &sink);
  }
  ASSERT_EQ(sink.events.size(), 3u);
  for (int window = 0; window < 3; ++window) {
    EXPECT_EQ(sink.events[window].verdict, window == 1 ? Verdict::kPossible : Verdict::kTrue);
    EXPECT_EQ(sink.events[window].lost_packets, window == 1 ? 5u : 0u);
  }
}

// Another thread replaces the program repeatedly. The trigger that all programs contain is true in each window. Each
// other trigger is first true in the window with which its program began to count.
TEST(SharedTriggers, ProgramsAreReplacedWhileLanesRunAtOnce) {
  constexpr int kReplacements = 20;
  for (const uint32_t lanes : {1u, kLanes}) {
    SCOPED_TRACE(lanes);
    SharedTriggers shared(program_of({packets_above(0)}), lanes);
    std::vector<Recorder> sinks(lanes);
    std::vector<std::atomic<int64_t>> passed(lanes);
    std::map<uint64_t, int64_t> since_ns;  // by trigger
    std::atomic<int64_t> windows = INT64_MAX;
    std::atomic<int> replacements = 0;
    std::atomic<bool> running = true;
    std::thread replacing([&] {
      for (uint64_t id = 2; running; ++id) {
        Trigger more = packets_above(0);
        more.id = id;
        EXPECT_EQ(shared.replace(program_of({more, packets_above(0)})), "");
        while (shared.replacing() && running) std::this_thread::yield();
        if (shared.replacing()) continue;
        since_ns[id] = shared.counting_since_ns();
        ++replacements;
      }
    });
    const auto behind = [&] {
      int64_t min = INT64_MAX;
      for (const auto& count : passed) min = std::min(min, count.load());
      return min;
    };
    std::vector<std::thread> threads;
    for (uint32_t number = 0; number < lanes; ++number) {
      threads.emplace_back([&, number] {
        const uint32_t lane = shared.join();
        shared.advance(lane, 0, &sinks[lane]);
        for (int64_t window = 0; window < windows; ++window) {
          while (window - behind() > 4) std::this_thread::yield();
          if (number == 0 && windows == INT64_MAX && replacements >= kReplacements) windows = window + 10;
          const Sample sample = sample_at(window * kMs);
          shared.process(lane, {&sample, 1}, {}, &sinks[lane]);
          shared.advance(lane, (window + 1) * kMs, &sinks[lane]);
          passed[lane] = window + 1;
          std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    running = false;
    replacing.join();
    std::map<uint64_t, std::map<int64_t, double>> values;
    for (const Recorder& sink : sinks) {
      for (const Event& event : sink.events) {
        const bool first = values[event.trigger].emplace(event.window_start_ns, event.value.low).second;
        EXPECT_TRUE(first) << "trigger " << event.trigger << " was reported twice at " << event.window_start_ns;
      }
    }
    EXPECT_EQ(values[1].size(), static_cast<size_t>(windows));
    for (const auto& [start_ns, value] : values[1]) EXPECT_EQ(value, lanes) << start_ns;
    for (const auto& [id, start_ns] : since_ns) {
      if (start_ns == windows * kMs) continue;
      ASSERT_FALSE(values[id].empty()) << id;
      EXPECT_EQ(values[id].begin()->first, start_ns) << id;
    }
  }
}

TEST(SharedTriggers, AProgramWaitsUntilLanesSupplyItsFacts) {
  SharedTriggers shared(program_of({packets_above(0)}), 1);
  Recorder sink;
  const uint32_t lane = shared.join();
  Trigger retransmissions = packets_above(0);
  retransmissions.id = 2;
  retransmissions.when = above(value_of(Measure::kRetransmissions), number(0));
  EXPECT_EQ(shared.tcp_window_ns(), SharedTriggers::kNoTcp);
  ASSERT_EQ(shared.replace(program_of({retransmissions})), "");
  EXPECT_EQ(shared.tcp_window_ns(), 0);
  const auto send = [&](int64_t window) {
    const Sample sample = sample_at(window * kMs);
    TcpFacts facts;
    facts.retransmitted_bytes = 1;
    shared.process(lane, {&sample, 1}, {&facts, 1}, &sink);
    shared.advance(lane, (window + 1) * kMs, &sink);
    shared.continue_replacing();
  };
  for (int64_t window = 0; window < 3; ++window) send(window);
  EXPECT_TRUE(shared.replacing());
  shared.supply_tcp();
  for (int64_t window = 3; window < 6; ++window) send(window);
  EXPECT_FALSE(shared.replacing());
  EXPECT_EQ(shared.counting_since_ns(), 5 * kMs) << "the window at 4 ms had begun";
  std::vector<uint64_t> triggers;
  for (const Event& event : sink.events) triggers.push_back(event.trigger);
  EXPECT_EQ(triggers, (std::vector<uint64_t>{1, 1, 1, 1, 1, 2}));
}

TEST(SharedTriggers, ProgramsWithoutACommonBoundaryDoNotFollowEachOther) {
  Trigger odd = packets_above(0);
  odd.every_ns = 86'400'000 * kMs - kMs;
  Trigger four = packets_above(0);
  four.every_ns = 4 * kMs;
  SharedTriggers shared(program_of({four}), 1);
  EXPECT_NE(shared.replace(program_of({odd})), "");
  EXPECT_FALSE(shared.replacing());
}

TEST(SharedTriggers, TheEarliestEndOfAnyLaneCounts) {
  SharedTriggers shared(program_of({packets_above(0)}), 2);
  EXPECT_EQ(shared.ended_ns(), INT64_MAX);
  shared.end(20);
  shared.end(10);
  shared.end(30);
  EXPECT_EQ(shared.ended_ns(), 10);
}

}  // namespace
}  // namespace tapline::trigger::testing
