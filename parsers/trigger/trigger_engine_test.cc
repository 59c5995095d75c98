#include "parsers/trigger/trigger_engine.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "parsers/packets/tcp_flows.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/frames.h"
#include "parsers/trigger/testing/engine_run.h"
#include "parsers/trigger/testing/model.h"

namespace tapline::trigger::testing {
namespace {

using tapline::testing::address;

// Returns the condition that the measure is above zero, in a form that is tested only at the window's end, so that its
// value covers the whole window.
Expression at_end(Measure measure) {
  return apply(Op::kAnd, above(value_of(measure), number(0)), above(value_of(Measure::kPackets), number(0)));
}

// The traffic is a kilobyte every 10 ms and one burst of 60 kB. Only the burst's window is reported.
TEST(TriggerEngineTest, TheWindowOfABurstIsTheOneThatIsReported) {
  EngineRun run({trigger_of(1, above(value_of(Measure::kBytes), number(50'000)), GroupBy::source(32, 128))});
  for (int64_t window = 0; window < 300; ++window) {
    const int64_t time_ns = kStart + window * 10 * kMs;
    run.send(packet(time_ns + kMs, 1000));
    for (int i = 0; window == 260 && i < 60; ++i) run.send(packet(time_ns + 2 * kMs + i * 1000, 1000));
  }
  run.engine->advance(kStart + 3000 * kMs);
  ASSERT_EQ(run.recorder.events.size(), 1u);
  const Event& event = run.recorder.events[0];
  EXPECT_EQ(event.window_start_ns, kStart + 2600 * kMs);
  EXPECT_EQ(event.window_end_ns, kStart + 2610 * kMs);
  EXPECT_EQ(event.value, (Interval{61'000, 61'000}));
  EXPECT_EQ(event.group.src_ip(), address("10.0.0.1"));
  EXPECT_EQ(event.group.dst_ip(), IpAddress());
}

TEST(TriggerEngineTest, ReportsSilenceInEachCompleteWindow) {
  EngineRun run({trigger_of(1, below(value_of(Measure::kPackets), number(2)))}, {.sweep = {.max_empty_windows = 5}});
  run.send(packet(kStart + 1));  // its window is partial
  run.engine->advance(kStart + 10 * kMs);
  EXPECT_TRUE(run.recorder.events.empty());
  run.send(packet(kStart + 11 * kMs));
  run.send(packet(kStart + 31 * kMs));
  run.send(packet(kStart + 32 * kMs));
  run.engine->advance(kStart + 50 * kMs);
  std::vector<double> values;
  std::vector<int64_t> windows;
  for (const Event& event : run.recorder.events) {
    values.push_back(event.value.low);
    windows.push_back((event.window_start_ns - kStart) / kMs);
  }
  EXPECT_EQ(values, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(windows, (std::vector<int64_t>{10, 20, 40}));
  // Packet time jumps by an hour.
  run.engine->advance(kStart + 3'600'000 * kMs);
  EXPECT_EQ(run.recorder.events.size(), 8u);
  EXPECT_EQ(run.engine->stats().unwatched_windows, 360'000u - 5 - 5);
}

Trigger silence_of_sources(const Filter& filter = {}) {
  Trigger trigger = trigger_of(1, below(value_of(Measure::kPackets), number(1)), GroupBy::source(32, 128));
  trigger.filter = filter;
  return trigger;
}

// A group that fell silent is reported for 1,000 windows, even if packet time jumps.
TEST(TriggerEngineTest, AGroupThatFellSilentIsEvicted) {
  for (const int64_t step_ms : {10, 1'000, 60'000}) {
    EngineRun run({silence_of_sources()});
    run.send(packet(kStart));
    for (int64_t ms = step_ms; ms <= 60'000; ms += step_ms) run.engine->advance(kStart + ms * kMs);
    ASSERT_EQ(run.recorder.events.size(), 1000u);
    for (size_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(run.recorder.events[i].window_start_ns, kStart + static_cast<int64_t>(i + 1) * 10 * kMs);
      EXPECT_EQ(run.recorder.events[i].group.src_ip(), address("10.0.0.1"));
    }
    EXPECT_EQ(run.engine->stats().unwatched_windows, 0u);
    EXPECT_LE(run.recorder.reports.size(), 1002u);
  }
}

TEST(TriggerEngineTest, ANamedGroupIsSilentFromTheFirstWindowOn) {
  Filter filter;
  filter.src = {{address("10.0.0.1"), 128}, {address("10.0.0.9"), 128}};
  EngineRun run({silence_of_sources(filter)});
  run.send(packet(kStart));
  run.engine->advance(kStart + 5'000 * 10 * kMs);
  std::map<std::string, int> windows;
  for (const Event& event : run.recorder.events) ++windows[tapline::testing::to_string(event.group.src_ip())];
  // Once groups that had packets have been removed, only the last 1,000 windows of a jump in time are tested.
  EXPECT_EQ(run.engine->stats().unwatched_windows, 5'000u - 1 - 1'000 - 1'000);
  EXPECT_EQ(windows, (std::map<std::string, int>{{"10.0.0.1", 2000}, {"10.0.0.9", 2001}}));
}

TEST(TriggerEngineTest, GroupsThatMayFallSilentAreBounded) {
  EngineRun run({silence_of_sources()}, {.sweep = {.max_silent_groups = 3}});
  for (int i = 1; i <= 5; ++i) run.send(packet(kStart + i, 100, "10.0.0." + std::to_string(i)));
  run.engine->advance(kStart + 20 * kMs);
  EXPECT_EQ(run.recorder.events.size(), 3u);
  ASSERT_EQ(run.recorder.reports.size(), 2u);
  EXPECT_EQ(run.recorder.reports[0].untracked_groups, 2u);
  EXPECT_EQ(run.recorder.reports[1].untracked_groups, 0u);
}

// Packets that were counted without their group, or lost, may belong to the silent group.
TEST(TriggerEngineTest, SilenceIsUncertainIfPacketsWereNotAttributed) {
  EngineRun run({silence_of_sources()}, {.gather = {.max_groups = 1}});
  run.send(packet(kStart, 100, "10.0.0.1"));
  run.send(packet(kStart + 10 * kMs, 100, "10.0.0.2"));
  run.send(packet(kStart + 10 * kMs, 100, "10.0.0.3"));
  run.send(packet(kStart + 20 * kMs, 100, "10.0.0.2"));
  run.engine->lose({1, kStart + 20 * kMs, kStart + 20 * kMs});
  run.engine->advance(kStart + 30 * kMs);
  std::vector<Event> silent_events;
  for (const Event& event : run.recorder.events) {
    if (event.scope == EventScope::kGroup && event.group.src_ip() == address("10.0.0.1"))
      silent_events.push_back(event);
  }
  ASSERT_EQ(silent_events.size(), 2u);
  EXPECT_EQ(silent_events[0].value, (Interval{0, 1}));
  EXPECT_EQ(silent_events[0].verdict, Verdict::kPossible);
  EXPECT_EQ(silent_events[1].value, (Interval{0, 0}));
  EXPECT_EQ(silent_events[1].verdict, Verdict::kPossible);
}

// More groups cross the threshold in a millisecond than can be listed; those not listed are reported at the window's
// end.
TEST(TriggerEngineTest, EachCrossingIsReportedOnce) {
  constexpr int kGroups = 6000;
  Trigger trigger = trigger_of(1, above(value_of(Measure::kPackets), number(0)), GroupBy::source(32, 128));
  trigger.every_ns = 100 * kMs;
  EngineRun run({trigger}, {.sweep = {.max_events = UINT32_MAX}});
  for (int i = 0; i < kGroups; ++i) {
    run.send(packet(kStart + i * 100, 100, "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250)));
  }
  for (int64_t ms = 1; ms <= 100; ++ms) run.engine->advance(kStart + ms * kMs);
  std::set<ModelKey> groups;
  int early = 0;
  for (const Event& event : run.recorder.events) {
    EXPECT_TRUE(groups.insert(key_of(event.group)).second) << "reported twice";
    if (event.ready_ns == event.window_end_ns) continue;
    EXPECT_LE(event.ready_ns, kStart + 2 * kMs);
    ++early;
  }
  EXPECT_EQ(groups.size(), static_cast<size_t>(kGroups));
  EXPECT_GT(early, 4000);
  EXPECT_LT(early, kGroups);
  ASSERT_EQ(run.recorder.reports.size(), 1u);
  EXPECT_EQ(run.recorder.reports[0].events, static_cast<uint64_t>(kGroups));
}

// A source sends a packet every 10 ms, and each packet counts in three windows. The first windows are partial.
TEST(TriggerEngineTest, WindowsThatOverlapCountAPacketInEach) {
  Trigger few = trigger_of(1, below(value_of(Measure::kPackets), number(4)));
  Trigger much = trigger_of(2, above(value_of(Measure::kBytes), number(1'500)), GroupBy::source(32, 128));
  few.window_ns = much.window_ns = 30 * kMs;
  EngineRun run({few, much});
  for (int64_t i = 0; i < 10; ++i) {
    run.send(packet(kStart + i * 10 * kMs + kMs, 100));
    if (i == 4) run.send(packet(kStart + i * 10 * kMs + 2 * kMs, 1500, "10.0.9.9"));
    if (i == 6) run.send(packet(kStart + i * 10 * kMs + 2 * kMs, 1, "10.0.9.9"));
  }
  run.engine->advance(kStart + 200 * kMs);
  std::map<uint64_t, std::vector<std::pair<int64_t, double>>> events;
  for (const Event& event : run.recorder.events) {
    EXPECT_EQ(event.window_end_ns - event.window_start_ns, 30 * kMs);
    events[event.trigger].emplace_back((event.window_start_ns - kStart) / kMs, event.value.low);
  }
  using Windows = std::vector<std::pair<int64_t, double>>;
  EXPECT_EQ(events[2], (Windows{{40, 1'501}})) << "the only window with both of its packets";
  ASSERT_GT(events[1].size(), 5u);
  events[1].resize(5);
  EXPECT_EQ(events[1], (Windows{{10, 3}, {70, 3}, {80, 2}, {90, 1}, {100, 0}}));
}

// A pane's memory is reused once no window needs it, and a group is found in panes that are far apart.
TEST(TriggerEngineTest, PanesAreReleased) {
  Trigger trigger = trigger_of(1, above(value_of(Measure::kPackets), number(1)), GroupBy::source(32, 128));
  trigger.every_ns = kMs;
  trigger.window_ns = Program::kMaxPanes * kMs;
  EngineRun run({trigger}, {.steps_per_burst = 1000});
  constexpr int64_t kPanes = 1000;
  for (int64_t pane = 0; pane < kPanes; ++pane) {
    run.send(packet(kStart + pane * kMs, 100, "10.0." + std::to_string(pane % 7) + "." + std::to_string(pane % 99)));
  }
  run.engine->advance(kStart + 2 * kPanes * kMs);
  // Each source returns after 7 * 99 panes.
  EXPECT_EQ(run.recorder.events.size(), 0u);
  EXPECT_EQ(run.engine->stats().late_sweeps, 0u);
  for (int64_t pane = 0; pane < kPanes; ++pane) {
    run.send(packet(kStart + (2 * kPanes + pane) * kMs, 100, "10.0.0." + std::to_string(pane % 99)));
  }
  run.engine->advance(kStart + 4 * kPanes * kMs);
  // A window that ends with the 100th pane or a later one has that pane's source twice.
  EXPECT_EQ(run.recorder.events.size(), static_cast<size_t>(kPanes - 99));
}

TEST(TriggerEngineTest, ANoisyTriggerHidesNoOther) {
  std::vector<Trigger> triggers = {
      trigger_of(1, above(value_of(Measure::kPackets), number(0)), GroupBy::source(32, 128)),
      trigger_of(2, above(value_of(Measure::kBytes), number(999)), GroupBy::source(32, 128))};
  EngineRun run(triggers, {.sweep = {.max_events = 10}});
  for (int i = 0; i < 100; ++i) run.send(packet(kStart + i, i == 99 ? 1000 : 100, "10.0.1." + std::to_string(i)));
  run.engine->advance(kStart + 10 * kMs);
  std::map<uint64_t, int> events;
  for (const Event& event : run.recorder.events) ++events[event.trigger];
  EXPECT_EQ(events[1], 10);
  EXPECT_EQ(events[2], 1);
  EXPECT_EQ(run.recorder.reports[0].suppressed_events, 90u);
}

// Spoofed SYNs come from more sources than there is room for. Groups are bounded, each packet is counted, and the
// count of the source with the most packets, which came first, is exact.
TEST(TriggerEngineTest, AFloodOfSourcesIsBoundedAndCounted) {
  constexpr uint32_t kGroups = 1 << 10, kFlood = 50'000;
  TriggerOptions options;
  options.gather.max_groups = kGroups;
  EngineRun run({trigger_of(1, above(value_of(Measure::kSyn), number(500)), GroupBy::source(32, 128)),
                 trigger_of(2, above(value_of(Measure::kSyn), number(kFlood - 1)))},
                options);
  std::mt19937 random(1);
  for (uint32_t i = 0; i < kFlood; ++i) {
    Sample syn = packet(kStart + i * 100);
    const auto spoofed = static_cast<uint32_t>(random());
    if (i < 600) {
      syn.src_ip = address("192.0.2.1");
    } else {
      syn.src_ip = IpAddress::v4(reinterpret_cast<const uint8_t*>(&spoofed));
    }
    syn.tcp_flags = tcp_flag::kSyn;
    run.send(syn);
  }
  run.engine->advance(kStart + 10 * kMs);
  uint64_t groups = 0, rest = 0;
  for (const WindowReport& report : run.recorder.reports) {
    EXPECT_EQ(report.packets, kFlood);
    groups += report.groups;
    rest += report.rest_packets;
  }
  EXPECT_EQ(groups, kGroups);
  EXPECT_GT(rest, kFlood / 2);
  ASSERT_EQ(run.recorder.events.size(), 3u);
  for (const Event& event : run.recorder.events) {
    if (event.scope == EventScope::kAll) {
      EXPECT_EQ(event.value.low, kFlood);
    }
    if (event.scope == EventScope::kGroup) {
      EXPECT_EQ(event.group.src_ip(), address("192.0.2.1"));
      EXPECT_EQ(event.value, (Interval{600, 600})) << "all its packets are in its separate counter";
      EXPECT_EQ(event.verdict, Verdict::kTrue);
    }
    if (event.scope == EventScope::kRest) {
      EXPECT_EQ(event.value, (Interval{0, static_cast<double>(rest)}));
      EXPECT_EQ(event.verdict, Verdict::kPossible);
    }
  }
}

// There are more combinations of filters than sets, and counts stay exact.
TEST(TriggerEngineTest, MatchSetsBeyondTheCapacityAreCountedExactly) {
  constexpr uint16_t kSide = 270;
  std::vector<Trigger> triggers;
  for (uint16_t i = 0; i < kSide; ++i) {
    Trigger source = trigger_of(i, at_end(Measure::kPackets));
    source.filter.src_ports = {{i, i}};
    Trigger destination = trigger_of(1000u + i, at_end(Measure::kPackets));
    destination.filter.dst_ports = {{i, i}};
    destination.group = GroupBy::destination(32, 128);
    triggers.push_back(source);
    triggers.push_back(destination);
  }
  EngineRun run(triggers);
  for (uint32_t i = 0; i < uint32_t{kSide} * kSide; ++i) {
    Sample sample = packet(kStart + i);
    sample.src_port = static_cast<uint16_t>(i / kSide);
    sample.dst_port = static_cast<uint16_t>(i % kSide);
    run.send(sample);
  }
  run.engine->advance(kStart + 10 * kMs);
  EXPECT_GT(run.engine->stats().counted_singly, 1000u);
  EXPECT_LE(run.engine->stats().match_sets, MatchSets::kMaxSets);
  EXPECT_EQ(run.recorder.events.size(), 2u * kSide);
  // The next window begins with new sets.
  const uint64_t singly = run.engine->stats().counted_singly;
  for (uint32_t window = 1; window <= 20; ++window) {
    for (uint32_t i = 0; i < 1000; ++i) run.send(packet(kStart + window * 10 * kMs + i));
  }
  run.engine->advance(kStart + 300 * kMs);
  EXPECT_EQ(run.engine->stats().renewals, 1u);
  EXPECT_EQ(run.engine->stats().counted_singly, singly);
  EXPECT_LT(run.engine->stats().match_sets, 10u);
  for (const Event& event : run.recorder.events) {
    const double expected = event.window_start_ns == kStart ? kSide : 1000;
    EXPECT_EQ(event.value, (Interval{expected, expected})) << event.trigger;
  }
}

TEST(TriggerEngineTest, AnEmptyProgramCountsNothing) {
  EngineRun run(std::vector<Trigger>{});
  for (int i = 0; i < 100; ++i) run.send(packet(kStart + i * kMs));
  run.engine->advance(kStart + 1000 * kMs);
  EXPECT_TRUE(run.recorder.events.empty());
  EXPECT_EQ(run.engine->stats().packets, 100u);
}

// On a real capture with losses, all events are the model's, and the windows of each connection add up to tshark's
// counts for it.
TEST(TriggerEngineTest, WindowsOfACaptureAddUp) {
  const std::string path = tapline::testing::reference_capture("generated/tcp_loss.pcap.zst");
  if (path.empty()) GTEST_SKIP() << "no reference captures";
  std::vector<Sample> samples;
  std::vector<TcpFacts> facts;
  TcpFlows flows({.max_flows = 1 << 12, .window_ns = 10 * kMs});
  SampleBatch batch;
  for (const auto& frame : tapline::testing::read_capture(path)) {
    Sample sample;
    TcpNumbers numbers;
    ASSERT_TRUE(read_plain(frame.raw(), &sample, &numbers));
    flows.observe({&sample, 1}, {&numbers, 1}, &batch);
    samples.insert(samples.end(), batch.all_samples().begin(), batch.all_samples().end());
    facts.insert(facts.end(), batch.all_facts().begin(), batch.all_facts().end());
  }
  GroupBy direction = GroupBy::flow();
  direction.both_directions = false;
  const Expression share = apply(Op::kDivide, value_of(Measure::kUnackedBytes), value_of(Measure::kInFlightBytes));
  std::vector<Trigger> triggers = {trigger_of(1, above(value_of(Measure::kBytes), number(0)), direction),
                                   trigger_of(2, above(value_of(Measure::kRetransmittedBytes), number(0)), direction),
                                   trigger_of(3, above(share, number(0.5)), direction),
                                   trigger_of(4, above(value_of(Measure::kMaxRttNs), number(1e6)))};
  // Short windows are tested only at their end, so their values are those of whole windows.
  triggers[0].every_ns = triggers[1].every_ns = 2 * kMs;
  EngineRun run(triggers, {.sweep = {.max_events = UINT32_MAX}});
  run.engine->process(samples, facts);
  const int64_t until_ns = samples.back().time_ns + 20 * kMs;
  run.engine->advance(until_ns);

  const auto expected = expected_events(triggers, samples, facts, until_ns);
  std::map<uint64_t, size_t> events;
  std::map<std::pair<uint64_t, ModelKey>, double> sums;
  for (const Event& event : run.recorder.events) {
    ++events[event.trigger];
    const ModelKey key = key_of(event.group);
    const auto it = expected.find({event.trigger, event.window_start_ns, key});
    ASSERT_NE(it, expected.end());
    expect_value(event, it->second);
    sums[{event.trigger, key}] += event.value.low;
  }
  EXPECT_EQ(run.recorder.events.size(), expected.size());
  for (const uint64_t trigger : {1, 2, 3, 4}) EXPECT_GT(events[trigger], 0u) << trigger;

  size_t connections = 0;
  for (const std::string& line :
       tapline::testing::read_lines(tapline::testing::reference_capture("truth/generated/tcp_loss.pcap.jsonl"))) {
    if (!line.starts_with("{\"kind\": \"tcp_conn\"")) continue;
    ++connections;
    const auto after = [&line](const std::string& name, size_t start) {
      const size_t position = line.find("\"" + name + "\": ", start) + name.size() + 4;
      return line.substr(position, line.find_first_of(",}", position) - position);
    };
    const auto quoted = [&](const std::string& name) {
      const std::string text = after(name, 0);
      return address(text.substr(1, text.size() - 2));
    };
    const IpAddress client = quoted("client"), server = quoted("server");
    const auto client_port = static_cast<uint16_t>(std::stoi(after("cport", 0)));
    const auto server_port = static_cast<uint16_t>(std::stoi(after("sport", 0)));
    const ModelKey sent = {client, server, client_port, server_port, protocol::kTcp, 0, 0};
    const ModelKey answered_key = {server, client, server_port, client_port, protocol::kTcp, 0, 0};
    for (const auto& [key, part] : {std::pair(sent, "\"c2s\""), std::pair(answered_key, "\"s2c\"")}) {
      const size_t position = line.find(part);
      if (position == std::string::npos) continue;
      EXPECT_EQ((sums[{1, key}]), std::stod(after("wire_bytes", position))) << client_port;
      EXPECT_EQ((sums[{2, key}]),
                std::stod(after("payload_bytes", position)) - std::stod(after("unique_payload_bytes", position)))
          << client_port;
    }
  }
  EXPECT_GT(connections, 100u);
}

}  // namespace
}  // namespace tapline::trigger::testing
