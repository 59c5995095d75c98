#include "parsers/trigger/admission.h"

#include <gtest/gtest.h>

namespace tapline::trigger {
namespace {

std::shared_ptr<const Program> program_of(size_t triggers, int64_t every_ns, const GroupBy& group,
                                          Measure measure = Measure::kBytes, int64_t panes = 1) {
  std::vector<Trigger> all(triggers);
  for (size_t i = 0; i < triggers; ++i) {
    all[i].id = i;
    all[i].every_ns = every_ns;
    all[i].window_ns = panes * every_ns;
    all[i].group = group;
    all[i].when = above(value_of(measure), number(1000));
  }
  std::string error;
  auto program = Program::make(std::move(all), &error);
  EXPECT_NE(program, nullptr) << error;
  return program;
}

constexpr int64_t kMs = 1'000'000;
constexpr ExpectedTraffic kTenGigabit = {
    .packets_per_second = 14.88e6, .match_sets = 512, .triggers_per_set = 8, .groups = 28'000};

TEST(AdmissionTest, SharesAddUp) {
  const CostModel model = {
      .receive = 10, .match = 5, .match_root = 0, .tcp = 40, .count_group = 20, .sweep_group = 100};
  const auto program = program_of(100, 10 * kMs, GroupBy::flow(), Measure::kRetransmittedBytes);
  const ExpectedTraffic traffic = {.packets_per_second = 1e7, .groups = 1000};
  const ExpectedCost cost = expected_cost(*program, traffic, model);
  EXPECT_DOUBLE_EQ(cost.receive, 0.1);
  EXPECT_DOUBLE_EQ(cost.match, 0.05);
  EXPECT_DOUBLE_EQ(cost.tcp, 0.4);
  EXPECT_DOUBLE_EQ(cost.groups, 0.2);
  EXPECT_DOUBLE_EQ(cost.sweep, 0.01);
  EXPECT_DOUBLE_EQ(cost.sum(), 0.76);
  EXPECT_EQ(refusal(*program, traffic, model), "");
}

TEST(AdmissionTest, ChargesMoreForTriggersThatLeaveTheCache) {
  const CostModel model = {.match = 5, .match_root = 1, .count_group = 20, .miss_group = 50, .cached_groups = 1000};
  const auto program = program_of(100, 10 * kMs, GroupBy::flow());
  const auto cost_at = [&](double sets, double groups) {
    return expected_cost(*program, {.packets_per_second = 1e7, .match_sets = sets, .groups = groups}, model);
  };
  EXPECT_DOUBLE_EQ(cost_at(0, 1000).match, 0.05);
  EXPECT_DOUBLE_EQ(cost_at(400, 1000).match, 0.25);
  EXPECT_DOUBLE_EQ(cost_at(0, 1000).groups, 0.2);
  EXPECT_DOUBLE_EQ(cost_at(0, 4000).groups, 0.2 + 0.75 * 0.5);
}

TEST(AdmissionTest, DistinctValuesCostMore) {
  const CostModel model = {.count_group = 20, .sweep_group = 100, .add_distinct = 30, .merge_values = 200};
  const ExpectedTraffic traffic = {.packets_per_second = 1e7, .match_sets = 10, .groups = 1000};
  for (const GroupBy& group : {GroupBy::flow(), GroupBy{}}) {
    const auto counting = program_of(1, 10 * kMs, group, Measure::kBytes, 3);
    const auto distinct = program_of(1, 10 * kMs, group, Measure::kDistinctDstPorts, 3);
    const ExpectedCost before = expected_cost(*counting, traffic, model);
    const ExpectedCost after = expected_cost(*distinct, traffic, model);
    EXPECT_DOUBLE_EQ(before.values, 0);
    EXPECT_DOUBLE_EQ(after.values, 0.3);
    EXPECT_DOUBLE_EQ(after.groups, before.groups);
    // Every 10 ms, the sketches of 1,000 groups, or of 10 sets, are merged in three panes.
    EXPECT_NEAR(after.sweep - before.sweep, group == GroupBy{} ? 6e-4 : 0.06, 1e-9);
  }
}

TEST(AdmissionTest, PercentilesAndEachTriggerOfACounterCostMore) {
  const CostModel model = {
      .sweep_group = 0, .add_distinct = 30, .add_percentile = 100, .merge_values = 0, .test_values = 50};
  std::vector<Trigger> triggers(1);
  triggers[0].group = GroupBy::flow();
  triggers[0].when = apply(Op::kAnd, above(quantile_of(Measure::kBytesQuantile, 0.5), number(1)),
                           above(value_of(Measure::kFlows), number(1)));
  std::string error;
  const auto program = Program::make(std::move(triggers), &error);
  ASSERT_NE(program, nullptr) << error;
  const auto cost = [&](double triggers_per_set) {
    return expected_cost(*program, {.packets_per_second = 1e6, .triggers_per_set = triggers_per_set, .groups = 1000},
                         model);
  };
  EXPECT_DOUBLE_EQ(cost(0).values, 0.13);
  EXPECT_DOUBLE_EQ(cost(4).sweep - cost(0).sweep, 0.02) << "1,000 groups in 10 ms, 4 triggers each";
}

TEST(AdmissionTest, AWindowHasNoMoreGroupsThanPackets) {
  const auto program = program_of(1, 10 * kMs, GroupBy::flow());
  const ExpectedTraffic slow = {.packets_per_second = 1000, .groups = 1e9};
  EXPECT_LT(expected_cost(*program, slow, {}).sum(), 0.001);
}

TEST(AdmissionTest, EachPaneOfAWindowIsSwept) {
  const CostModel model = {.sweep_set = 90, .sweep_group = 100, .find_group = 50};
  const ExpectedTraffic traffic = {.packets_per_second = 1e7, .match_sets = 1000, .groups = 1000};
  const auto sweep = [&](const GroupBy& group, int64_t panes) {
    return expected_cost(*program_of(1, 10 * kMs, group, Measure::kBytes, panes), traffic, model).sweep;
  };
  EXPECT_DOUBLE_EQ(sweep(GroupBy::flow(), 1), 0.01);
  EXPECT_DOUBLE_EQ(sweep(GroupBy::flow(), 4), 0.055);
  EXPECT_DOUBLE_EQ(sweep({}, 5) - sweep({}, 2), 3 * 0.009);
}

TEST(AdmissionTest, LooksBeforeAWindowsEndAreBounded) {
  const auto sweep = [](double match_sets, int64_t every_ns, const GroupBy& group) {
    const ExpectedTraffic traffic = {.packets_per_second = 1e7, .match_sets = match_sets};
    const CostModel model = {.sweep_set = 0, .sweep_trigger = 0, .test_trigger = 0, .look_set = 100, .test_limit = 0};
    return expected_cost(*program_of(1, every_ns, group), traffic, model).sweep;
  };
  EXPECT_DOUBLE_EQ(sweep(100, 10 * kMs, {}), 0.01);
  EXPECT_DOUBLE_EQ(sweep(10'000, 10 * kMs, {}), 0.1);
  EXPECT_DOUBLE_EQ(sweep(100, 2 * kMs, {}), 0) << "short windows are tested only at their end";
  EXPECT_DOUBLE_EQ(sweep(100, 10 * kMs, GroupBy::flow()), 0) << "only groups that crossed a threshold are tested";
}

TEST(AdmissionTest, RefusesWithTheFigures) {
  const auto grouped = program_of(4096, kMs, GroupBy::flow());
  EXPECT_EQ(refusal(*grouped, kTenGigabit, {}),
            "4096 triggers would take 201 % of a core at 14.88 million packets per second, but the limit is 80 %: "
            "receiving 22 %, matching 33 %, TCP state 0 %, groups 71 %, sweeping 74 %. Use longer windows, coarser "
            "groups, or more lanes.");
  EXPECT_EQ(refusal(*program_of(4096, 10 * kMs, {}), kTenGigabit, {}), "");
  EXPECT_EQ(refusal(*program_of(0, 10 * kMs, {}), kTenGigabit, {}), "");
}

}  // namespace
}  // namespace tapline::trigger
