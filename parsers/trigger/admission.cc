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

// For a packet.
double count_group_ns(const Channel& channel, const ExpectedTraffic& traffic, const CostModel& model) {
  const double groups = std::min(traffic.groups, packets_in(channel, traffic));
  const double missing = groups <= model.cached_groups ? 0 : 1 - model.cached_groups / groups;
  return model.count_group + missing * model.miss_group;
}

// The kinds of distinct values and percentiles that its triggers use.
double kinds_of(const Channel& channel) { return std::popcount(channel.sketches); }

// For each window, so once every channel.every_ns.
double sweep_ns(const Channel& channel, const ExpectedTraffic& traffic, const CostModel& model) {
  const double packets = packets_in(channel, traffic);
  const double panes = channel.panes();
  const double merge_ns = panes * kinds_of(channel) * model.merge_values;
  if (channel.grouped) {
    return std::min(traffic.groups, packets) * (panes * model.sweep_group + (panes - 1) * model.find_group + merge_ns);
  }
  const double sets = std::min(traffic.match_sets, packets);
  return panes * sets * (model.sweep_set + traffic.triggers_per_set * model.sweep_trigger) + sets * merge_ns +
         channel.bits() * model.test_trigger;
}

// The share of a core for tests of the open window. Groups cost nothing until one crosses a threshold.
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
    cost.values += cores_per_ns * kinds_of(channel) * model.add_value;
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
                "%zu triggers would take %.0f %% of a core at %.2f million packets per second, of which %.0f %% may be "
                "used: receiving %.0f %%, matching %.0f %%, TCP state %.0f %%, groups %.0f %%, %ssweeping "
                "%.0f %%. Use longer windows, coarser groups, or more lanes.",
                program.trigger_count(), cost.sum() * 100, traffic.packets_per_second * 1e-6, model.max_busy * 100,
                cost.receive * 100, cost.match * 100, cost.tcp * 100, cost.groups * 100, values, cost.sweep * 100);
  return text;
}

}  // namespace tapline::trigger
