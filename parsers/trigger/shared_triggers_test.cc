// Lanes that count one query's packets, also on separate threads. Runs under ThreadSanitizer, too.
#include "parsers/trigger/shared_triggers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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

// 40 packets a window over all lanes, which no lane reaches alone. Each window is reported once, to some lane's sink.
TEST(SharedTriggers, TheLastLaneReportsTheSumOfAll) {
  SharedTriggers shared(program_of({packets_above(39)}), 2);
  const uint32_t lanes[] = {shared.join(), shared.join()};
  Recorder sinks[2];
  for (uint32_t lane : lanes) shared.advance(lane, 0, &sinks[lane]);
  for (int i = 0; i < 20; ++i) {
    const Sample sample = sample_at(i);
    for (uint32_t lane : lanes) shared.process(lane, {&sample, 1}, {});
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

// Lanes on separate threads, at most a few windows apart: no packet and no window is missed or counted twice.
TEST(SharedTriggers, EachWindowIsReportedOnceByLanesThatRunAtOnce) {
  constexpr int64_t kWindows = 2'000;
  constexpr int kPacketsPerWindow = 10;
  SharedTriggers shared(program_of({packets_above(0)}), kLanes);
  Recorder sinks[kLanes];
  std::atomic<int64_t> passed[kLanes] = {};
  const auto behind = [&] {
    int64_t min = INT64_MAX;
    for (const auto& each : passed) min = std::min(min, each.load());
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
          shared.process(lane, {&sample, 1}, {});
        }
        shared.advance(lane, (window + 1) * kMs, &sinks[lane]);
        passed[lane] = window + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<int64_t, double> values;
  for (const Recorder& sink : sinks) {
    for (const Event& event : sink.events) {
      EXPECT_TRUE(values.emplace(event.window_start_ns, event.value.low).second) << "reported twice";
    }
    for (const WindowReport& report : sink.reports) EXPECT_EQ(report.lost_packets, 0u);
  }
  EXPECT_EQ(values.size(), static_cast<size_t>(kWindows));
  for (const auto& [start_ns, value] : values) EXPECT_EQ(value, kLanes * kPacketsPerWindow) << start_ns;
}

TEST(SharedTriggers, TheEarliestEndOfALaneIsTheirs) {
  SharedTriggers shared(program_of({packets_above(0)}), 2);
  EXPECT_EQ(shared.ended_ns(), INT64_MAX);
  shared.end(20);
  shared.end(10);
  shared.end(30);
  EXPECT_EQ(shared.ended_ns(), 10);
}

}  // namespace
}  // namespace tapline::trigger::testing
