// Runs several lanes and a sweep on separate threads, and compares the events with the model. Runs under
// ThreadSanitizer, too.
#include "parsers/trigger/host_triggers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "parsers/trigger/testing/lane_input.h"
#include "parsers/trigger/testing/model.h"
#include "parsers/trigger/testing/random_traffic.h"

namespace tapline::trigger::testing {
namespace {

constexpr int64_t kMs = 1'000'000;

void run_lane(HostTriggers* host, uint32_t lane, const LaneInput& input, int64_t start_ns, int64_t until_ns) {
  const auto wait = [&] {
    while (!host->has_room(lane)) std::this_thread::yield();
  };
  host->advance(lane, start_ns);
  for (size_t i = 0; i < input.samples.size(); ++i) {
    wait();
    host->process(lane, {&input.samples[i], 1}, {&input.tcp[i], 1});
  }
  wait();
  host->advance(lane, until_ns);
}

// Runs all lanes at once, and sweeps until nothing is left.
void run(HostTriggers* host, const std::vector<LaneInput>& lanes, int64_t start_ns, int64_t until_ns) {
  std::atomic<uint32_t> running{static_cast<uint32_t>(lanes.size())};
  std::vector<std::thread> threads;
  for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
    threads.emplace_back([&, lane] {
      run_lane(host, lane, lanes[lane], start_ns, until_ns);
      running.fetch_sub(1, std::memory_order_release);
    });
  }
  while (running.load(std::memory_order_acquire) > 0) {
    if (!host->sweep(7)) std::this_thread::yield();
  }
  while (host->sweep(7)) {
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HostTriggersTest, CountsAreSummedOverAllLanes) {
  size_t events = 0;
  for (uint32_t seed = 0; seed < 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomTraffic traffic(seed,
                          {.triggers = 40, .panes = seed % 2 == 0, .silence = seed % 3 == 0, .sketches = seed % 4 < 2});
    const std::vector<Trigger> triggers = traffic.triggers();
    std::vector<Sample> samples = traffic.samples();
    // Each lane has a separate clock, so a sample that is late among all samples may not be late on its lane.
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    const std::vector<TcpFacts> tcp = traffic.facts(samples);
    const std::vector<LaneInput> lanes = distribute(samples, tcp, 1 + seed % 4, seed);
    std::string error;
    Recorder recorder;
    HostTriggers host(Program::make(triggers, &error), static_cast<uint32_t>(lanes.size()),
                      {.cache_lines = 4, .max_groups = 1 << 10, .windows = 3}, {.max_events = UINT32_MAX}, &recorder);
    const int64_t until_ns = samples.back().time_ns + 50 * kMs;
    run(&host, lanes, samples.front().time_ns, until_ns);

    const auto expected = expected_events(triggers, samples, tcp, until_ns);
    std::set<Occasion> reported_occasions;
    for (const Event& event : recorder.events) {
      const Occasion occasion = {event.trigger, event.window_start_ns, key_of(event.group)};
      SCOPED_TRACE(to_string(occasion));
      EXPECT_TRUE(reported_occasions.insert(occasion).second);
      const auto it = expected.find(occasion);
      ASSERT_NE(it, expected.end());
      EXPECT_EQ(event.ready_ns, event.window_end_ns) << "no lane may look at another one's open window";
      expect_value(event, it->second);
      expect_exemplars(event, it->second, samples);
    }
    EXPECT_EQ(reported_occasions.size(), expected.size());
    events += reported_occasions.size();
  }
  EXPECT_GT(events, 100u);
}

// If the sweeping thread is too slow, packets are lost, but every loss is reported, and no window with losses counts as
// one with few packets.
TEST(HostTriggersTest, ALaneWithoutAFreeWindowReportsItsLosses) {
  Trigger trigger, few;
  trigger.id = 1;
  trigger.every_ns = few.every_ns = kMs;
  trigger.when = above(value_of(Measure::kPackets), number(0));
  few.id = 2;
  few.when = below(value_of(Measure::kPackets), number(5));
  std::string error;
  Recorder recorder;
  HostTriggers host(Program::make({trigger, few}, &error), 2, {.windows = 2}, {}, &recorder);
  uint64_t sent = 0;
  const auto send = [&](uint32_t lane, int64_t time_ns) {
    Sample sample;
    sample.time_ns = time_ns;
    host.process(lane, {&sample, 1}, {});
    ++sent;
  };
  for (int64_t window = 0; window < 100; ++window) {
    for (int i = 0; i < 10; ++i) send(0, window * kMs + i);
    host.advance(1, window * kMs);
    // Sweeps for the first time after ten windows, then occasionally.
    if (window > 10 && window % 7 == 0) {
      while (host.sweep(100)) {
      }
    }
  }
  host.advance(0, 100 * kMs);
  host.advance(1, 100 * kMs);
  while (host.sweep(100)) {
  }
  host.advance(0, 101 * kMs);
  host.advance(1, 101 * kMs);
  while (host.sweep(100)) {
  }
  uint64_t packets = 0, lost = 0, partial = 0;
  for (const WindowReport& report : recorder.reports) {
    packets += report.packets;
    lost += report.uncounted_packets;
    partial += report.partial;
  }
  EXPECT_EQ(packets + lost, sent);
  EXPECT_GT(lost, 0u);
  EXPECT_GT(packets, 0u);
  EXPECT_GT(partial, 10u);
  for (const Event& event : recorder.events) {
    EXPECT_TRUE(event.trigger == 1 || event.window_start_ns >= 100 * kMs) << "no window had fewer than 5 packets";
  }
}

}  // namespace
}  // namespace tapline::trigger::testing
