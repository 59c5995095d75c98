#include "parsers/trigger/admission.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace tapline::trigger {
namespace {

double packets_in(const Channel& channel, const ExpectedTraffic& traffic) {
  return traffic.packets_per_second * static_cast<double>(channel.every_ns) * 1e-9;
}

// Returns the time to count a packet in a channel with groups.
double count_group_ns(const Channel& channel, const ExpectedTraffic& traffic, const CostModel& model) {
  const double groups = std::min(traffic.groups, packets_in(channel, traffic));
  const double missing = groups <= model.cached_groups ? 0 : 1 - model.cached_groups / groups;
  return model.count_group + missing * model.miss_group;
}

double add_values_ns(const Channel& channel, const CostModel& model) {
  const auto distinct = static_cast<SketchKinds>(channel.sketches & kDistinctKinds);
  const auto percentiles = static_cast<SketchKinds>(channel.sketches & ~kDistinctKinds);
  return std::popcount(distinct) * model.add_distinct + std::popcount(percentiles) * model.add_percentile;
}

// Returns the time to merge and test the distinct values and percentiles of all counters in a window. Triggers of one
// counter share their sums if they compare the same values.
double merge_ns(const Channel& channel, double counters, const ExpectedTraffic& traffic, const CostModel& model) {
  if (channel.sketches == 0) return 0;
  return counters * (channel.panes() * std::popcount(channel.sketches) * model.merge_values +
                     traffic.triggers_per_set * model.test_values);
}

// Returns the time to sweep one window. A window ends every channel.every_ns.
double sweep_ns(const Channel& channel, const ExpectedTraffic& traffic, const CostModel& model) {
  const double packets = packets_in(channel, traffic);
  const double panes = channel.panes();
  if (channel.grouped) {
    const double groups = std::min(traffic.groups, packets);
    return groups * (panes * model.sweep_group + (panes - 1) * model.find_group) +
           merge_ns(channel, groups, traffic, model);
  }
  const double sets = std::min(traffic.match_sets, packets);
  return panes * sets * (model.sweep_set + traffic.triggers_per_set * model.sweep_trigger) +
         merge_ns(channel, sets, traffic, model) + channel.bits() * model.test_trigger;
}

// Returns the share of a core that tests of the open window take. In a channel with groups, they cost nothing until a
// group crosses a threshold.
double looks(const Channel& channel, const ExpectedTraffic& traffic, const CostModel& model) {
  if (channel.early.empty() || channel.grouped) return 0;
  const double sets = std::min(traffic.match_sets, packets_in(channel, traffic));
  const double look_ns =
      sets * (model.look_set + traffic.triggers_per_set * model.look_trigger) + channel.bits() * model.test_limit;
  return std::min(look_ns / model.look_interval, model.max_looks);
}

}  // namespace

ExpectedCost expected_cost(const Program& program, const ExpectedTraffic& traffic, const CostModel& model) {
  const double cores_per_ns = traffic.packets_per_second * 1e-9;
  ExpectedCost cost;
  cost.receive = cores_per_ns * model.receive;
  if (!program.channels().empty()) {
    cost.match = cores_per_ns * (model.match + model.match_root * std::sqrt(traffic.match_sets));
  }
  if (program.needs_tcp()) cost.tcp = cores_per_ns * model.tcp;
  for (const Channel& channel : program.channels()) {
    if (channel.grouped) cost.groups += cores_per_ns * count_group_ns(channel, traffic, model);
    cost.values += cores_per_ns * add_values_ns(channel, model);
    cost.sweep += sweep_ns(channel, traffic, model) / static_cast<double>(channel.every_ns);
    cost.sweep += looks(channel, traffic, model);
  }
  return cost;
}

std::string refusal(const Program& program, const ExpectedTraffic& traffic, const CostModel& model) {
  const ExpectedCost cost = expected_cost(program, traffic, model);
  if (cost.sum() <= model.max_busy) return "";
  char text[512], values[64] = "";
  if (cost.values > 0) {
    std::snprintf(values, sizeof values, "distinct values and percentiles %.0f %%, ", cost.values * 100);
  }
  std::snprintf(text, sizeof text,
                "%zu triggers would take %.0f %% of a core at %.2f million packets per second, but the limit is "
                "%.0f %%: receiving %.0f %%, matching %.0f %%, TCP state %.0f %%, groups %.0f %%, %ssweeping "
                "%.0f %%. Use longer windows, coarser groups, or more lanes.",
                program.trigger_count(), cost.sum() * 100, traffic.packets_per_second * 1e-6, model.max_busy * 100,
                cost.receive * 100, cost.match * 100, cost.tcp * 100, cost.groups * 100, values, cost.sweep * 100);
  return text;
}

}  // namespace tapline::trigger
