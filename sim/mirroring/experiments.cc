#include "sim/mirroring/experiments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sim/mirroring/estimates.h"
#include "sim/mirroring/link_loads.h"
#include "sim/mirroring/originals.h"
#include "sim/mirroring/sampling.h"

namespace tapline::mirroring {
namespace {

constexpr double kMs = 1e6;
constexpr int kCurvePoints = 200;

int64_t ns_of(double ms) { return static_cast<int64_t>(ms * kMs); }
uint64_t link_of(const Settings& settings) { return static_cast<uint64_t>(settings.gigabits * 1e9); }

StarOptions options_of(const Settings& settings, uint32_t hosts) {
  StarOptions options;
  options.hosts = hosts;
  options.bits_per_second = link_of(settings);
  options.buffer_bytes = static_cast<uint64_t>(settings.buffer_bytes);
  options.alpha = settings.alpha;
  options.mirrored = settings.mirrored;
  options.schedule = settings.schedule;
  options.mirror_limit_bytes = settings.queue_bytes;
  options.window_bytes = settings.window_bytes;
  options.hystart = settings.hystart;
  return options;
}

// Makes flows between pairs of hosts such that no two flows share a port. All flows begin within 100 us.
std::vector<FlowSpec> pairs(const Settings& settings) {
  std::vector<FlowSpec> flows(settings.flows);
  for (uint32_t i = 0; i < settings.flows; ++i) {
    flows[i].from = i;
    flows[i].to = settings.flows + i;
    flows[i].begin_ns = 1 + 100'000 * i / settings.flows;
    flows[i].end_ns = ns_of(settings.ms);
    flows[i].udp = i < settings.udp;
    constexpr double kPayloadShare = 1448.0 / 1538.0;
    flows[i].bits_per_second =
        static_cast<uint64_t>(settings.factor * settings.gigabits * 1e9 * kPayloadShare / settings.flows);
  }
  return flows;
}

Observation run_pairs(const Settings& settings) {
  return run(options_of(settings, 2 * settings.flows), pairs(settings), ns_of(settings.ms), settings.seed);
}

// Adds the cumulative distribution of the values.
void add_curve(const char* series, const std::vector<double>& values, Rows* rows) {
  if (values.empty()) return;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double share = static_cast<double>(i) / kCurvePoints;
    const auto index = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
    rows->push_back({series, sorted[index], share});
  }
}

void add_traffic(const Observation& seen, const Settings& settings, Rows* rows) {
  uint64_t bytes = 0;
  for (const SentPacket& packet : seen.sent) {
    if (packet.sent_ns >= ns_of(settings.from_ms)) bytes += packet.wire_bytes + 24;
  }
  const double seconds = (settings.ms - settings.from_ms) / 1e3;
  rows->push_back({"offered_factor", 0, static_cast<double>(bytes) * 8 / seconds / (settings.gigabits * 1e9)});
  rows->push_back({"copies_dropped", 0,
                   static_cast<double>(seen.mirrored_dropped) / std::max(1.0, static_cast<double>(seen.mirrored))});
}

Rows sampling(const Settings& settings) {
  const Observation seen = run_pairs(settings);
  const Sampling sampling = sampling_of(seen, ns_of(settings.from_ms), link_of(settings));
  Rows rows;
  add_traffic(seen, settings, &rows);
  rows.push_back({"bursts_of_one", 0, share_within(sampling.burst_mtu, 1)});
  rows.push_back({"gap_mean", 0, mean(sampling.gap_mtu)});
  rows.push_back({"gap_deviation", 0, deviation(sampling.gap_mtu)});
  rows.push_back({"gaps_within_13", 0, share_within(sampling.gap_mtu, 13)});
  const auto [min, max] = std::minmax_element(sampling.samples_by_flow.begin(), sampling.samples_by_flow.end());
  rows.push_back({"unfairness", 0, *max / std::max(1.0, *min)});
  add_curve("burst", sampling.burst_mtu, &rows);
  add_curve("gap", sampling.gap_mtu, &rows);
  add_curve("sender_gap", sampling.sender_gap_mtu, &rows);
  return rows;
}

Rows latency(const Settings& settings) {
  const Observation seen = run_pairs(settings);
  const std::vector<double> delays = sample_delays_us(seen, ns_of(settings.from_ms));
  Rows rows;
  add_traffic(seen, settings, &rows);
  rows.push_back({"delay_mean", 0, mean(delays)});
  for (const double share : {0.0, 0.5, 0.99, 1.0}) rows.push_back({"delay_quantile", share, quantile(delays, share)});
  add_curve("delay", delays, &rows);
  return rows;
}

EstimateOptions estimating(const Settings& settings) {
  EstimateOptions options;
  options.mirror.bits_per_second = link_of(settings);
  options.mirror.fair_queues = settings.schedule == Schedule::kRoundRobin;
  // Under round robin, a copy also waits for later copies from other input ports, so its delay is not bounded.
  if (!options.mirror.fair_queues && settings.queue_bytes != PortQueue<int>::kNoLimit)
    options.mirror.max_delay_ns =
        static_cast<int64_t>(static_cast<double>(settings.queue_bytes) * 8 / settings.gigabits);
  options.link_bits_per_second = link_of(settings);
  options.bursts = rates::BurstLimits::for_link(link_of(settings));
  const StarOptions star = options_of(settings, 1);
  options.path_ns = star.host_delay_ns + star.jitter_ns / 2 + star.collector_delay_ns +
                    static_cast<int64_t>(2 * 1538 * 8 / settings.gigabits);
  return options;
}

// Adds the errors and bounds of the estimates for intervals in which the flow sent at least one byte.
void add_errors(const std::string& name, const std::vector<Estimate>& estimates, Rows* rows) {
  double errors = 0, bias = 0, width = 0, valued = 0, within = 0, all = 0;
  for (const Estimate& estimate : estimates) {
    if (estimate.true_bits_per_second <= 0) continue;
    ++all;
    within += estimate.within();
    if (std::isnan(estimate.bits_per_second.value)) continue;
    ++valued;
    errors += std::abs(estimate.error());
    bias += estimate.error();
    width +=
        std::min(10.0, (estimate.bits_per_second.high - estimate.bits_per_second.low) / estimate.true_bits_per_second);
  }
  rows->push_back({name + "_estimates", 0, all});
  if (all == 0) return;
  rows->push_back({name + "_within", 0, within / all});
  if (valued == 0) return;
  rows->push_back({name + "_error", 0, errors / valued});
  rows->push_back({name + "_bias", 0, bias / valued});
  rows->push_back({name + "_width", 0, width / valued});
}

Rows errors(const Settings& settings) {
  const Observation seen = run_pairs(settings);
  const Estimates estimates = estimate(seen, estimating(settings));
  std::map<std::string, std::vector<Estimate>> groups;
  for (const Estimate& burst : estimates.bursts) {
    const bool steady = burst.from_ns >= ns_of(settings.from_ms);
    groups[!burst.steady ? "tcp_filling" : steady ? "tcp_steady" : "tcp_settling"].push_back(burst);
  }
  for (const Estimate& interval : estimates.intervals)
    groups[interval.udp ? "udp" : "tcp_intervals"].push_back(interval);
  groups["all"] = estimates.bursts;
  for (const Estimate& interval : estimates.intervals) groups["all"].push_back(interval);
  Rows rows;
  add_traffic(seen, settings, &rows);
  for (const auto& [name, group] : groups) add_errors(name, group, &rows);
  return rows;
}

Rows readiness(const Settings& settings) {
  const Observation seen = run_pairs(settings);
  EstimateOptions options = estimating(settings);
  // Uses the paper's limits, which are the same at 1 Gb/s, instead of limits scaled to the link's speed.
  options.bursts = rates::BurstLimits();
  const std::vector<double> delays = sample_delays_us(seen, ns_of(settings.from_ms));
  const Estimates estimates = estimate(seen, options);
  const std::vector<double> all = waits_us(estimates.waits, 0);
  const std::vector<double> steady = waits_us(estimates.waits, ns_of(settings.from_ms));
  Rows rows;
  for (const double share : {0.0, 0.5, 0.99, 1.0}) {
    rows.push_back({"delay_quantile", share, quantile(delays, share)});
    rows.push_back({"ready_quantile", share, quantile(steady, share)});
    rows.push_back({"ready_quantile_with_slow_start", share, quantile(all, share)});
  }
  add_curve("delay", delays, &rows);
  add_curve("ready", steady, &rows);
  return rows;
}

// Returns the errors, bounds and delays of the estimated loads of the senders' links, from which congestion events are
// derived. Errors and widths of bounds are fractions of the link speed.
Rows loads(const Settings& settings) {
  const Observation seen = run_pairs(settings);
  EstimateOptions options = estimating(settings);
  options.every_ns = static_cast<int64_t>(std::max(1.0, settings.every_us) * 1e3);
  const LinkLoads loads = link_loads(seen, options);
  std::vector<double> errors, widths, within;
  for (const Estimate& load : loads.loads) {
    const auto link = static_cast<double>(options.link_bits_per_second);
    within.push_back(load.within());
    if (std::isnan(load.bits_per_second.value)) continue;
    errors.push_back(std::abs(load.bits_per_second.value - load.true_bits_per_second) / link);
    widths.push_back((load.bits_per_second.high - load.bits_per_second.low) / link);
  }
  Rows rows = {{"load_within", 0, mean(within)}, {"load_error", 0, mean(errors)}, {"load_width", 0, mean(widths)}};
  const std::vector<double> waits = waits_us(loads.waits, 0);
  for (const double share : {0.0, 0.5, 0.99, 1.0})
    rows.push_back({"load_ready_quantile", share, quantile(waits, share)});
  add_curve("load_ready", waits, &rows);
  return rows;
}

// Runs the experiment in which two hosts send to each congested port. All flows begin within 5 ms.
Rows congestion(const Settings& settings) {
  std::vector<FlowSpec> flows(2 * settings.congested);
  for (uint32_t i = 0; i < flows.size(); ++i) {
    flows[i].from = settings.congested + i;
    flows[i].to = i / 2;
    flows[i].begin_ns = 1 + ns_of(5) * i / static_cast<int64_t>(flows.size());
    flows[i].end_ns = ns_of(settings.ms);
  }
  const Observation seen = run(options_of(settings, 3 * settings.congested), flows, ns_of(settings.ms), settings.seed);
  constexpr double kSliceMs = 10;
  const Originals originals = originals_of(seen, ns_of(settings.from_ms), ns_of(settings.ms), ns_of(kSliceMs));
  Rows rows;
  add_traffic(seen, settings, &rows);
  rows.push_back({"lost", 0, originals.lost});
  rows.push_back(
      {"lost_with_slow_start", 0, static_cast<double>(seen.forwarded_dropped) / static_cast<double>(seen.forwarded)});
  for (const double share : {0.5, 0.99, 0.999})
    rows.push_back({"delay_quantile", share, quantile(originals.delays_us, share)});
  for (const double share : {0.001, 0.5})
    rows.push_back({"throughput_quantile", share, quantile(originals.gigabits_per_second, share)});
  rows.push_back({"throughput_mean", 0, mean(originals.gigabits_per_second)});
  return rows;
}

Rows slow_start(const Settings& settings) {
  const Observation seen = run_pairs(settings);
  const EstimateOptions options = estimating(settings);
  constexpr int64_t kWindowNs = 200'000;
  Rows rows;
  const auto ms = [](int64_t ns) { return static_cast<double>(ns) / kMs; };
  const std::vector<Estimate> rolling = rolling_averages(seen, 0, kWindowNs, options);
  for (const Estimate& estimate : rolling) {
    rows.push_back({"rolling", ms(estimate.ready_ns), estimate.bits_per_second.value / 1e9});
  }
  const std::vector<Estimate> bursts = estimate(seen, options).bursts;
  for (const Estimate& burst : bursts) {
    rows.push_back({"estimate", ms(burst.ready_ns), burst.bits_per_second.value / 1e9});
    rows.push_back({"low", ms(burst.ready_ns), burst.bits_per_second.low / 1e9});
    rows.push_back({"high", ms(burst.ready_ns), burst.bits_per_second.high / 1e9});
    rows.push_back({"truth", ms(burst.ready_ns), burst.true_bits_per_second / 1e9});
  }
  add_errors("bursts", bursts, &rows);
  return rows;
}

}  // namespace

namespace {

bool change_word(const std::string& name, const std::string& text, Settings* settings) {
  if (name == "schedule" && (text == "fifo" || text == "round_robin")) {
    settings->schedule = text == "fifo" ? Schedule::kFifo : Schedule::kRoundRobin;
    return true;
  }
  if (text != "yes" && text != "no") return false;
  if (name != "mirrored" && name != "hystart") return false;
  (name == "mirrored" ? settings->mirrored : settings->hystart) = text == "yes";
  return true;
}

bool change_number(const std::string& name, double number, Settings* settings) {
  const std::map<std::string, double*> numbers = {
      {"gigabits", &settings->gigabits}, {"factor", &settings->factor},       {"ms", &settings->ms},
      {"from", &settings->from_ms},      {"buffer", &settings->buffer_bytes}, {"alpha", &settings->alpha},
      {"every", &settings->every_us}};
  const std::map<std::string, uint32_t*> counts = {{"flows", &settings->flows},
                                                   {"udp", &settings->udp},
                                                   {"window", &settings->window_bytes},
                                                   {"congested", &settings->congested},
                                                   {"seed", &settings->seed}};
  if (const auto it = numbers.find(name); it != numbers.end()) {
    *it->second = number;
  } else if (const auto count = counts.find(name); count != counts.end()) {
    *count->second = static_cast<uint32_t>(number);
  } else if (name == "queue") {
    settings->queue_bytes = static_cast<uint64_t>(number);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool change(const std::string& setting, Settings* settings) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = setting.substr(0, equals), text = setting.substr(equals + 1);
  if (change_word(name, text, settings)) return true;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  constexpr double kMax = 4e9;
  if (text.empty() || *end != '\0' || !(number >= 0 && number <= kMax)) return false;
  return change_number(name, number, settings);
}

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {"congestion", "Figures 2 to 4: loss, delay and throughput of the original packets", congestion},
      {"sampling", "Figures 5 to 7: burst lengths and gaps of samples", sampling},
      {"latency", "Figures 8 and 9: delay of samples", latency},
      {"slow-start", "Figure 10: a flow's first milliseconds, estimated in two ways", slow_start},
      {"errors", "Figure 11: errors and bounds of rates", errors},
      {"loads", "Figure 12 and section 3.3: link loads and their delays", loads},
      {"readiness", "Figure 12: time from a packet to the estimate that includes it", readiness},
  };
  return all;
}

}  // namespace tapline::mirroring
