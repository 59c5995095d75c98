// Tests how many values of sketches a sweep visits.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "parsers/testing/frames.h"
#include "parsers/trigger/cell_lists.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/sweep.h"
#include "parsers/trigger/testing/model.h"

namespace tapline::trigger::testing {
namespace {

using tapline::testing::address;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr uint32_t kWindows = 4;

// The maximum that a call visits in addition to its steps: bins of a quantile with missed values, both those
// of the pass that ends and those of the next one; or the hashes of a table that becomes an estimate.
constexpr uint64_t kVisitedAtOnce = 4 * QuantileSearch::kBins;

// Returns packets of thousands of flows and sizes, to four destinations with separate cells.
std::vector<Sample> large_windows() {
  std::mt19937_64 random(1);
  std::vector<Sample> samples;
  for (uint32_t i = 0; i < kWindows * 10'000; ++i) {
    Sample& sample = samples.emplace_back();
    sample.time_ns = kStart + i * kMs / 1000;  // 10 ms have 10,000
    sample.src_ip = address("172.16." + std::to_string(random() % 32) + "." + std::to_string(random() % 250));
    sample.dst_ip = address("10.0.0." + std::to_string(random() % 4));
    sample.src_port = static_cast<uint16_t>(random());
    sample.protocol = protocol::kTcp;
    sample.ip_version = 4;
    sample.bytes = static_cast<uint32_t>(40 + random() % 9000);
  }
  return samples;
}

Trigger trigger_of(uint64_t id, Expression when, const GroupBy& group, int64_t panes) {
  Trigger trigger;
  trigger.id = id;
  trigger.when = std::move(when);
  trigger.group = group;
  trigger.window_ns = panes * trigger.every_ns;
  return trigger;
}

// Returns triggers of several kinds. Each destination also has a separate trigger, so packets of the other triggers are
// counted in several cells.
std::vector<Trigger> triggers_of(const GroupBy& group, int64_t panes) {
  std::vector<Trigger> triggers;
  for (int cell = 0; cell < 4; ++cell) {
    Trigger narrow = trigger_of(triggers.size(), above(value_of(Measure::kFlows), number(9)), group, panes);
    narrow.filter.dst = {{address("10.0.0." + std::to_string(cell)), 128}};
    triggers.push_back(narrow);
  }
  const auto p99 = quantile_of(Measure::kBytesQuantile, 0.99), p50 = quantile_of(Measure::kBytesQuantile, 0.5);
  triggers.push_back(trigger_of(4, above(apply(Op::kDivide, p99, p50), number(1)), group, panes));
  triggers.push_back(trigger_of(5, above(value_of(Measure::kDistinctSrcPorts), number(9)), group, panes));
  triggers.push_back(trigger_of(6, above(value_of(Measure::kDistinctSrcIps), number(3)), group, panes));
  triggers.push_back(trigger_of(7, below(value_of(Measure::kFlows), number(1e6)), group, panes));
  return triggers;
}

TEST(CellLists, AreComparedUpToABound) {
  CellLists lists(2, 21);
  for (uint32_t cell = 0; cell < 10; ++cell) {
    for (const uint32_t trigger : {0u, 1u}) lists.add(trigger, {0, cell});
  }
  uint32_t compared = 0;
  EXPECT_TRUE(lists.are_equal(lists.first(0), lists.first(1), 10, &compared));
  EXPECT_EQ(compared, 10u);
  EXPECT_FALSE(lists.are_equal(lists.first(0), lists.first(1), 9, &compared)) << "their ends are unknown";
  EXPECT_EQ(compared, 9u);
  lists.add(1, {1, 0});
  EXPECT_FALSE(lists.are_equal(lists.first(0), lists.first(1), 100, &compared));
  EXPECT_FALSE(lists.is_full());
  lists.add(0, {1, 0});
  EXPECT_TRUE(lists.is_full());
}

struct Swept {
  Recorder recorder;
  uint64_t visited = 0, most_at_once = 0;
};

// Counts large_windows(), and sweeps their windows with this many steps per call.
void sweep_all(std::vector<Trigger> triggers, const GatherOptions& options, uint32_t steps, Swept* swept) {
  std::string error;
  const auto program = Program::make(std::move(triggers), &error);
  ASSERT_NE(program, nullptr) << error;
  const GroupHasher hasher;
  Gather gather(*program, hasher, options);
  Gather* lanes[] = {&gather};
  Sweep sweep(*program, hasher, 0, lanes, {}, &swept->recorder);
  const auto sweep_ready = [&] {
    for (bool is_done = false; !is_done;) {
      const uint64_t before = sweep.visited_in_sketches();
      is_done = sweep.run(steps) > 0;
      swept->most_at_once = std::max(swept->most_at_once, sweep.visited_in_sketches() - before);
    }
  };
  const std::vector<Sample> samples = large_windows();
  for (std::span<const Sample> left = samples; !left.empty();) {
    const size_t counted = gather.count(left, {});
    left = left.subspan(counted);
    if (counted > 0) continue;
    gather.advance(left[0].time_ns);
    sweep_ready();
  }
  gather.advance(kStart + (kWindows + 1) * 10 * kMs);
  sweep_ready();
  swept->visited = sweep.visited_in_sketches();
}

struct Load {
  const char* name;
  GroupBy group;
  int64_t panes = 1;
  uint32_t max_groups = 1 << 17;
  size_t sketch_bytes = 32 << 20;
};

class SketchSteps : public ::testing::TestWithParam<Load> {};

// A call with the steps of a burst must be short, regardless of the sketches' contents.
TEST_P(SketchSteps, VisitABoundedNumberOfValues) {
  const Load& load = GetParam();
  const GatherOptions options = {
      .max_groups = load.max_groups, .sketch_bytes = load.sketch_bytes, .windows = 2 * kWindows};
  Swept whole;
  sweep_all(triggers_of(load.group, load.panes), options, 1'000'000, &whole);
  for (const uint32_t steps : {1u, 48u}) {
    Swept swept;
    sweep_all(triggers_of(load.group, load.panes), options, steps, &swept);
    EXPECT_LE(swept.most_at_once, steps * SketchSums::kCellsPerStep + kVisitedAtOnce);
    EXPECT_GT(swept.visited, 20'000u) << "too little to say anything";
    ASSERT_EQ(swept.recorder.reports.size(), whole.recorder.reports.size());
    EXPECT_GT(swept.recorder.events.size(), 2 * kWindows);
    // Estimates depend on the random key of the hasher, and so do all values if memory is full.
    EXPECT_EQ(swept.recorder.events.size(), whole.recorder.events.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Loads, SketchSteps,
                         ::testing::Values(Load{"OneGroup", {}}, Load{"Panes", {}, 3},
                                           Load{"Groups", GroupBy::destination(32, 128)},
                                           Load{"GroupsAndPanes", GroupBy::destination(32, 128), 3},
                                           Load{"GroupsBeyondTheBound", GroupBy::source(32, 128), 1, 64},
                                           Load{"LittleMemory", {}, 1, 1 << 17, 100'000}),
                         [](const auto& load) { return load.param.name; });

}  // namespace
}  // namespace tapline::trigger::testing
