// Compares the engine, on random programs and traffic of both address families, with a model that keeps all samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "parsers/trigger/testing/model.h"
#include "parsers/trigger/testing/random_traffic.h"
#include "parsers/trigger/testing/seeds.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::trigger::testing {
namespace {

struct Input {
  std::vector<Trigger> triggers;
  std::vector<Sample> samples;
  std::vector<TcpFacts> tcp;
  int64_t until_ns = 0;
};

Input random_input(uint32_t seed, const RandomOptions& options) {
  RandomTraffic traffic(seed, options);
  Input input;
  input.triggers = traffic.triggers();
  input.samples = traffic.samples();
  input.tcp = traffic.facts(input.samples);
  for (const Sample& sample : input.samples) input.until_ns = std::max(input.until_ns, sample.time_ns);
  input.until_ns += 50'000'000;
  return input;
}

TriggerOptions small_options() {
  TriggerOptions options;
  options.gather.cache_lines = 4;
  options.gather.max_groups = 1 << 12;
  options.sweep.max_events = UINT32_MAX;
  options.populated_bytes = 1 << 12;
  return options;
}

// Feeds bursts of random lengths, as they come from a port.
void feed(TriggerEngine* engine, const Input& input, uint32_t seed) {
  std::mt19937 random(seed);
  for (size_t index = 0; index < input.samples.size();) {
    const size_t count = std::min<size_t>(1 + random() % 100, input.samples.size() - index);
    engine->process({input.samples.data() + index, count}, {input.tcp.data() + index, count});
    index += count;
  }
  engine->advance(input.until_ns);
}

// Feeds one packet after another, with a clock that ticks every millisecond.
Recorder record_steadily(const Input& input, const TriggerOptions& options) {
  std::string error;
  auto program = Program::make(input.triggers, &error);
  EXPECT_NE(program, nullptr) << error;
  Recorder recorder;
  TriggerEngine engine(program, options, &recorder);
  constexpr int64_t kTickNs = 1'000'000;
  int64_t tick_ns = input.samples[0].time_ns;
  for (size_t i = 0; i < input.samples.size(); ++i) {
    for (; tick_ns < input.samples[i].time_ns; tick_ns += kTickNs) engine.advance(tick_ns);
    engine.process({&input.samples[i], 1}, {&input.tcp[i], 1});
  }
  for (; tick_ns <= input.until_ns; tick_ns += kTickNs) engine.advance(tick_ns);
  engine.advance(input.until_ns);
  return recorder;
}

Recorder record(const Input& input, const TriggerOptions& options, uint32_t seed, TriggerStats* stats = nullptr) {
  std::string error;
  auto program = Program::make(input.triggers, &error);
  EXPECT_NE(program, nullptr) << error;
  Recorder recorder;
  TriggerEngine engine(program, options, &recorder);
  feed(&engine, input, seed);
  if (stats != nullptr) *stats = engine.stats();
  return recorder;
}

std::map<Occasion, Event> by_occasion(const std::vector<Event>& events, EventScope without) {
  std::map<Occasion, Event> result;
  for (const Event& event : events) {
    if (event.scope == without) continue;
    const Occasion occasion = {event.trigger, event.window_start_ns, key_of(event.group)};
    EXPECT_TRUE(result.emplace(occasion, event).second) << "reported twice: " << to_string(occasion);
  }
  return result;
}

void expect_every_packet_counted(const Recorder& recorder, const Input& input) {
  std::string error;
  const size_t channels = Program::make(input.triggers, &error)->channels().size();
  std::vector<uint64_t> packets(channels);
  for (const WindowReport& report : recorder.reports) {
    packets[report.channel] += report.packets;
    EXPECT_EQ(report.lost_packets, 0u);
  }
  for (const uint64_t count : packets) EXPECT_EQ(count, input.samples.size());
}

// Fails the test unless the recorded events are the model's. Returns the model's events.
std::map<Occasion, Expected> expect_equal(const Input& input, const Recorder& recorder) {
  auto expected = expected_events(input.triggers, input.samples, input.tcp, input.until_ns);
  const auto reported = by_occasion(recorder.events, EventScope::kRest);
  for (const auto& [occasion, expected_event] : expected) {
    SCOPED_TRACE(to_string(occasion));
    const auto it = reported.find(occasion);
    EXPECT_NE(it, reported.end()) << "missing: " << expected_event.value;
    if (it == reported.end()) break;
    expect_value(it->second, expected_event);
    expect_exemplars(it->second, expected_event, input.samples);
  }
  for (const auto& [occasion, event] : reported) EXPECT_TRUE(expected.contains(occasion)) << to_string(occasion);
  return expected;
}

TEST(TriggerOracle, EventsValuesAndWindowsMatchTheModel) {
  size_t events = 0;
  for (uint32_t seed = 0; seed < seeds(400) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 1 + seed % 90});
    const Recorder recorder = record(input, small_options(), seed);
    expect_equal(input, recorder);
    expect_every_packet_counted(recorder, input);
    events += recorder.events.size();
  }
  EXPECT_GT(events, 100u) << "too few cases were tested";
}

TEST(TriggerOracle, AlertsBeginAndEndAsInTheModel) {
  size_t events = 0;
  for (uint32_t seed = 0; seed < seeds(400) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 1 + seed % 60, .alerts = true});
    const Recorder recorder = record(input, small_options(), seed);
    expect_equal(input, recorder);
    events += recorder.events.size();
    for (const WindowReport& report : recorder.reports) EXPECT_EQ(report.untracked_alerts, 0u);
  }
  EXPECT_GT(events, 100u) << "too few cases were tested";
}

TEST(TriggerOracle, WindowsThatOverlapMatchTheModel) {
  size_t overlapping = 0;
  for (uint32_t seed = 0; seed < seeds(300) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 1 + seed % 60, .alerts = seed % 2 == 0, .panes = true});
    const Recorder recorder = record(input, small_options(), seed);
    expect_equal(input, recorder);
    expect_every_packet_counted(recorder, input);
    const auto& events = recorder.events;
    overlapping += static_cast<size_t>(std::count_if(events.begin(), events.end(), [&](const Event& event) {
      const Trigger& trigger = input.triggers[event.trigger - 1000];
      return event.window_end_ns - event.window_start_ns > trigger.every_ns;
    }));
  }
  EXPECT_GT(overlapping, 100u) << "too few cases were tested";
}

// Groups without packets meet conditions with `<`, as long as they are stored or named.
TEST(TriggerOracle, SilentGroupsMatchTheModel) {
  size_t silent = 0;
  for (uint32_t seed = 0; seed < seeds(150) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(
        seed, {.triggers = 1 + seed % 60, .alerts = seed % 2 == 0, .panes = seed % 3 == 0, .silence = true});
    const Recorder recorder = record(input, small_options(), seed);
    expect_equal(input, recorder);
    expect_every_packet_counted(recorder, input);
    const auto& events = recorder.events;
    silent += static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const Event& event) {
      return event.scope == EventScope::kGroup && event.value == Interval{0, 0};
    }));
    for (const WindowReport& report : recorder.reports) EXPECT_EQ(report.untracked_groups, 0u);
  }
  EXPECT_GT(silent, 1000u / kSeedDivisor) << "too few cases were tested";
}

// A condition that more packets can only make true, never false, is reported once in its window, at most 2 ms after the
// packet that made it true, and never before it.
TEST(TriggerOracle, RisingConditionsFireBeforeTheirWindowsEnd) {
  constexpr int64_t kMaxNs = 2'000'000;
  size_t early = 0, at_end = 0;
  for (uint32_t seed = 0; seed < seeds(150) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 1 + seed % 60, .samples = 800, .alerts = seed % 2 == 0});
    const Recorder recorder = record_steadily(input, small_options());
    const auto expected = expect_equal(input, recorder);
    for (const auto& [occasion, event] : by_occasion(recorder.events, EventScope::kRest)) {
      SCOPED_TRACE(to_string(occasion));
      const auto it = expected.find(occasion);
      if (it == expected.end() || it->second.risen.empty()) {
        EXPECT_EQ(event.ready_ns, event.window_end_ns);
        continue;
      }
      EXPECT_LE(event.ready_ns, it->second.risen[0].first + kMaxNs);
      ++(event.ready_ns < event.window_end_ns ? early : at_end);
    }
  }
  EXPECT_GT(early, 300u / kSeedDivisor) << "too few cases were tested";
  EXPECT_GE(at_end, 30u / kSeedDivisor) << "too few cases were tested";
}

// Spans of eight bins are summed exactly, others lie within nine. Each certain event must be true, and each true
// condition must be reported with bounds that contain its value.
TEST(TriggerOracle, BurstsLieBetweenTheirBounds) {
  size_t certain = 0;
  for (uint32_t seed = 0; seed < seeds(100) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 20, .bursts = true});
    const auto expected = expected_events(input.triggers, input.samples, input.tcp, input.until_ns);
    const auto reported = by_occasion(record(input, small_options(), seed).events, EventScope::kRest);
    for (const auto& [occasion, expected_event] : expected) {
      const auto it = reported.find(occasion);
      ASSERT_NE(it, reported.end()) << "missing: " << to_string(occasion) << " " << expected_event.value;
      const Event& event = it->second;
      EXPECT_LE(event.value.low, expected_event.value) << to_string(occasion);
      if (event.ready_ns == event.window_end_ns) {
        EXPECT_GE(event.value.high, expected_event.value) << to_string(occasion);
      }
    }
    for (const auto& [occasion, event] : reported) {
      if (event.verdict != Verdict::kTrue) continue;
      ++certain;
      EXPECT_TRUE(expected.contains(occasion)) << to_string(occasion);
    }
  }
  EXPECT_GT(certain, 100u);
}

// Sketches are exact up to their capacity.
TEST(TriggerOracle, DistinctValuesAndQuantilesMatchTheModel) {
  size_t events = 0;
  for (uint32_t seed = 0; seed < seeds(100) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 1 + seed % 60,
                                            .samples = DistinctSketch::kExact,
                                            .alerts = seed % 2 == 0,
                                            .panes = seed % 3 == 0,
                                            .silence = seed % 5 == 0,
                                            .sketches = true});
    TriggerOptions options = small_options();
    // For some seeds, cells are searched; for others, a burst is followed by a single step.
    if (seed % 4 == 0) options.sweep.max_sketched_cells = seed % 16;
    if (seed % 4 == 1) options.steps_per_burst = 1;
    const Recorder recorder = record(input, options, seed);
    expect_equal(input, recorder);
    expect_every_packet_counted(recorder, input);
    for (const WindowReport& report : recorder.reports) EXPECT_EQ(report.missed_values, 0u);
    events += recorder.events.size();
  }
  EXPECT_GT(events, 1000u / kSeedDivisor) << "too few cases were tested";
}

// Beyond the capacity for exact values, the value lies between the event's bounds; for distinct values, in 95 % of
// cases, though the test accepts 80 %.
TEST(TriggerOracle, EstimatesHaveTheStatedError) {
  size_t estimates = 0, outside = 0, quantiles = 0;
  for (uint32_t seed = 0; seed < seeds(5) && !::testing::Test::HasFailure(); ++seed) {
    std::mt19937 random(seed);
    Input input;
    const Measure measures[] = {Measure::kFlows, Measure::kDistinctSrcIps, Measure::kRttQuantile};
    for (const GroupBy& group : {GroupBy{}, GroupBy{.dst_port = true}}) {
      for (const Measure measure : measures) {
        Trigger trigger;
        trigger.id = input.triggers.size();
        trigger.group = group;
        trigger.when = above(quantile_of(measure, 0.9), number(0));
        trigger.window_ns = 2 * trigger.every_ns;
        input.triggers.push_back(trigger);
      }
    }
    for (int64_t i = 0; i < 30'000; ++i) {
      Sample sample;
      sample.time_ns = 1'700'000'000'000'000'000 + i * 1000;
      sample.ip_version = 4;
      const uint32_t source = random() % 20'000, address = 0x0a000000 | source;
      const uint8_t bytes[] = {static_cast<uint8_t>(address >> 24), static_cast<uint8_t>(address >> 16),
                               static_cast<uint8_t>(address >> 8), static_cast<uint8_t>(address)};
      sample.src_ip = IpAddress::v4(bytes);
      sample.src_port = static_cast<uint16_t>(random());
      sample.dst_port = static_cast<uint16_t>(random() % 3);
      input.samples.push_back(sample);
      input.tcp.push_back({.rtt_ns = 1 + static_cast<uint32_t>(random() % 100'000'000)});
    }
    input.until_ns = input.samples.back().time_ns + 50'000'000;
    const auto expected = expected_events(input.triggers, input.samples, input.tcp, input.until_ns);
    const auto reported = by_occasion(record(input, small_options(), seed).events, EventScope::kRest);
    EXPECT_EQ(reported.size(), expected.size());
    for (const auto& [occasion, event] : reported) {
      SCOPED_TRACE(to_string(occasion));
      const auto it = expected.find(occasion);
      ASSERT_NE(it, expected.end());
      const double value = it->second.value, low = event.value.low, high = event.value.high;
      const bool is_inside = low <= value && value <= high;
      if (input.triggers[event.trigger].when[0].measure == Measure::kRttQuantile) {
        ++quantiles;
        EXPECT_TRUE(is_inside) << value << " is not in " << low << " to " << high;
        EXPECT_LT(high, low * 1.02);
        continue;
      }
      ++estimates;
      outside += !is_inside;
      EXPECT_GT(low, 512) << "it is exact";
      EXPECT_LT(high / low, 1.07);
      EXPECT_LT(low, value * 1.05);
      EXPECT_GT(high, value / 1.05);
    }
  }
  EXPECT_GT(quantiles, 50u / kSeedDivisor);
  EXPECT_GT(estimates, 100u / kSeedDivisor);
  EXPECT_LE(outside, estimates / 5);
}

// With little memory for sketches, no certain event is wrong, and each true condition is reported with bounds, or
// covered by an event with scope kRest.
TEST(TriggerOracle, SketchesWithoutMemoryAreBounded) {
  size_t certain = 0, bounded = 0, missed = 0;
  for (uint32_t seed = 0; seed < seeds(100) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 30, .samples = 600, .panes = seed % 2 == 0, .sketches = true});
    const auto expected = expected_events(input.triggers, input.samples, input.tcp, input.until_ns);
    TriggerOptions options = small_options();
    options.gather.sketch_bytes = size_t{64} << seed % 10;
    options.gather.max_groups = 1u << (4 + seed % 6);
    const Recorder recorder = record(input, options, seed);
    const auto reported = by_occasion(recorder.events, EventScope::kRest);
    std::set<std::pair<uint64_t, int64_t>> rests;
    for (const Event& event : recorder.events) {
      if (event.scope == EventScope::kRest) rests.emplace(event.trigger, event.window_start_ns);
    }
    for (const auto& [occasion, expected_event] : expected) {
      SCOPED_TRACE(to_string(occasion));
      const auto it = reported.find(occasion);
      if (it == reported.end()) {
        EXPECT_TRUE(rests.contains({std::get<0>(occasion), std::get<1>(occasion)}));
        continue;
      }
      const Event& event = it->second;
      if (event.value.presence == Presence::kUnknown) continue;
      EXPECT_LE(event.value.low, expected_event.value);
      if (event.ready_ns < event.window_end_ns) continue;
      EXPECT_GE(event.value.high, expected_event.value);
      bounded += event.value.low < event.value.high;
    }
    for (const auto& [occasion, event] : reported) {
      if (event.verdict != Verdict::kTrue) continue;
      ++certain;
      EXPECT_TRUE(expected.contains(occasion)) << to_string(occasion);
    }
    expect_every_packet_counted(recorder, input);
    for (const WindowReport& report : recorder.reports) missed += report.missed_values;
  }
  EXPECT_GT(certain, 1000u / kSeedDivisor);
  EXPECT_GT(bounded, 1000u / kSeedDivisor);
  EXPECT_GT(missed, 1000u / kSeedDivisor) << "values without memory are counted";
}

// If only a few groups fit, no certain event is wrong, and no true one is missing: an event with scope kRest covers it.
TEST(TriggerOracle, GroupsWithoutRoomAreBounded) {
  size_t in_rest = 0, certain = 0;
  for (uint32_t seed = 0; seed < seeds(200) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Input input = random_input(seed, {.triggers = 40, .panes = seed % 2 == 0, .sketches = seed % 3 == 0});
    const auto expected = expected_events(input.triggers, input.samples, input.tcp, input.until_ns);
    TriggerOptions options = small_options();
    options.gather.max_groups = 1u << seed % 6;
    const Recorder recorder = record(input, options, seed);
    const auto reported = by_occasion(recorder.events, EventScope::kRest);
    std::set<std::pair<uint64_t, int64_t>> rests;
    for (const Event& event : recorder.events) {
      if (event.scope != EventScope::kRest) continue;
      EXPECT_EQ(event.verdict, Verdict::kPossible);
      rests.emplace(event.trigger, event.window_start_ns);
    }
    for (const auto& [occasion, expected_event] : expected) {
      const auto it = reported.find(occasion);
      if (it == reported.end()) {
        ++in_rest;
        EXPECT_TRUE(rests.contains({std::get<0>(occasion), std::get<1>(occasion)})) << to_string(occasion);
        continue;
      }
      const Event& event = it->second;
      if (event.value.presence == Presence::kUnknown) continue;  // bounds of the value if there is one
      EXPECT_LE(event.value.low, expected_event.value) << to_string(occasion);
      if (event.ready_ns == event.window_end_ns) {
        EXPECT_GE(event.value.high, expected_event.value) << to_string(occasion);
      }
    }
    for (const auto& [occasion, event] : reported) {
      if (event.verdict != Verdict::kTrue) continue;
      ++certain;
      EXPECT_TRUE(expected.contains(occasion)) << to_string(occasion);
    }
    expect_every_packet_counted(recorder, input);
  }
  EXPECT_GT(in_rest, 100u);
  EXPECT_GT(certain, 100u);
}

}  // namespace
}  // namespace tapline::trigger::testing
