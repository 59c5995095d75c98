// Measures the rate that a core sustains, and the cost that the admission model predicts, at points along the axes of
// Trumpet's Figure 13, for groups, and for distinct counts and percentiles.
#include <cmath>

#include "bench/triggers/parts.h"
#include "parsers/trigger/admission.h"

namespace tapline::bench {
namespace {

// A point in a figure. Points with the same panel and line form a line; `x` is the position on the axis.
struct Point {
  const char* part;
  std::string panel;
  std::string line;
  double x;
  WorkloadOptions workload;
};

// Returns the engine's predicted cost per packet at the measured rate, excluding reading.
double modelled_ns(const Point& point, const ordered_json& row, double packets_per_second) {
  const Workload workload(point.workload);
  const trigger::ExpectedTraffic traffic = {.packets_per_second = packets_per_second,
                                            .match_sets = row["match_sets"].get<double>(),
                                            .triggers_per_set = static_cast<double>(point.workload.triggers_per_packet),
                                            .groups = row["groups_a_window"].get<double>()};
  const trigger::ExpectedCost cost = trigger::expected_cost(*program_of(workload.triggers()), traffic, {});
  return (cost.sum() - cost.receive) / packets_per_second * 1e9;
}

// Measures a point twice: packet time first advances at 14.88 million packets per second, then at the rate that a core
// sustains. Returns the model's relative error.
double measure_point(Measurements* measurements, const Point& point) {
  Case measured_case = {.part = point.part, .label = point.panel + ", " + point.line, .workload = point.workload};
  ordered_json row;
  double rate = 14.88e6;
  for (int run = 0; run < 2; ++run) {
    measured_case.workload.packets_per_second = rate;
    row = measurements->measure_quietly(measured_case);
    rate = 1e9 / row["ns_per_packet"].get<double>();
  }
  const double engine_ns = row["ns_per_packet"].get<double>() - row["read_only_ns"].get<double>();
  const double predicted_ns = modelled_ns(point, row, rate);
  const double error = predicted_ns / engine_ns - 1;
  row["what"] = measured_case.label;
  row["panel"] = point.panel;
  row["line"] = point.line;
  row["x"] = point.x;
  row["engine_ns"] = engine_ns;
  row["model_ns"] = predicted_ns;
  row["model_error"] = error;
  char text[160];
  std::snprintf(text, sizeof text, "at %6.0f: %6.2f Mpps, %3lu late; engine %6.1f ns, model %6.1f ns (%+.0f %%)",
                point.x, rate * 1e-6, row["late"].get<uint64_t>(), engine_ns, predicted_ns, error * 100);
  measurements->add(std::move(row), text);
  return error;
}

std::vector<Point> points(bool quick) {
  std::vector<Point> all;
  const std::vector<uint32_t> per_packet =
      quick ? std::vector<uint32_t>{1, 8, 64} : std::vector<uint32_t>{1, 2, 4, 8, 16, 32, 64, 128, 256};
  for (const int64_t window_ms : {1, 5, 10, 20}) {
    for (const uint32_t triggers : per_packet) {
      all.push_back({"feasible",
                     "windows",
                     std::to_string(window_ms) + " ms",
                     static_cast<double>(triggers),
                     {.triggers_per_packet = triggers, .window_ns = window_ms * 1'000'000}});
    }
  }
  for (const uint32_t flows : {150u, 300u, 600u, 1200u}) {
    for (const uint32_t triggers : per_packet) {
      all.push_back({"feasible",
                     "flows",
                     std::to_string(flows) + " flows",
                     static_cast<double>(triggers),
                     {.triggers_per_packet = triggers, .flows = flows}});
    }
  }
  for (const int64_t window_ms : {1, 10}) {
    for (const uint32_t flows : {1u, 10u, 100u, 1'000u, 10'000u, 30'000u, 100'000u}) {
      all.push_back({"feasible",
                     "groups",
                     std::to_string(window_ms) + " ms",
                     static_cast<double>(flows),
                     {.flows = flows,
                      .packets_per_flow = 100'000,
                      .window_ns = window_ms * 1'000'000,
                      .frames = 1 << 19,
                      .group = trigger::GroupBy::flow()}});
    }
  }
  return all;
}

// Returns points with distinct counts and percentiles, in windows of 10 ms: `x` is the number of triggers per packet
// or, if each flow is a group, the number of flows. All conditions are tested in each window, and are false.
std::vector<Point> points_with_values() {
  using trigger::Measure;
  // The engine can't derive a minimum number of packets from a condition on a product. Otherwise it would not test
  // windows with fewer packets.
  const auto many = [](trigger::Expression values) {
    return trigger::above(trigger::apply(trigger::Op::kMultiply, std::move(values), trigger::number(1)),
                          trigger::number(1e6));
  };
  const auto flows = many(trigger::value_of(Measure::kFlows)),
             ports = many(trigger::value_of(Measure::kDistinctSrcPorts));
  const auto p99 = many(trigger::quantile_of(Measure::kBytesQuantile, 0.99));
  const std::pair<const char*, trigger::Expression> conditions[] = {
      {"flows", flows},
      {"ports", ports},
      {"p99", p99},
      {"flows and p99", trigger::apply(trigger::Op::kOr, flows, p99)}};
  std::vector<Point> all;
  for (const auto& [name, when] : conditions) {
    WorkloadOptions options = {.when = when, .wire_sizes = 1000};
    for (const uint32_t triggers : {1u, 8u, 64u}) {
      options.triggers_per_packet = triggers;
      all.push_back({"values", "triggers per packet", name, static_cast<double>(triggers), options});
    }
    options = {.packets_per_flow = 100'000,
               .frames = 1 << 19,
               .group = trigger::GroupBy::flow(),
               .when = when,
               .wire_sizes = 1000};
    for (const uint32_t groups : {100u, 1'000u, 10'000u}) {
      options.flows = groups;
      all.push_back({"values", "groups", name, static_cast<double>(groups), options});
    }
  }
  return all;
}

void measure_all(Measurements* measurements, const char* part, const std::vector<Point>& points) {
  size_t near = 0;
  for (const Point& point : points) near += std::abs(measure_point(measurements, point)) <= 0.25;
  measurements->add(
      {{"part", part}, {"what", "points within 25 % of the model"}, {"points", points.size()}, {"near", near}},
      std::to_string(near) + " of " + std::to_string(points.size()));
}

}  // namespace

void feasible(Measurements* measurements) { measure_all(measurements, "feasible", points(measurements->quick())); }

void values(Measurements* measurements) { measure_all(measurements, "values", points_with_values()); }

}  // namespace tapline::bench
