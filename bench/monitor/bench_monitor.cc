// Measures tapline-monitor's cost per packet: NetAlytics' Figure 5, and the measurements that explain it.
//
// Workloads (traffic.h): TCP connections of 200 packets with 2 % SYN or FIN for the TCP parsers, only GET requests for
// http_get; frames of 64 to 1500 bytes; 100 to 1,000,000 flows. The whole monitor runs, with a DPDK port (net_null,
// whose packets traffic_port.cc fills in), and encodes into a null output. The same run, over the same packets, also
// measures the monitor's receive loop alone, and dpdk-testpmd in rxonly mode.
//
//   bench_monitor [--json] [--quick] [--parser NAME] [--bytes N] [--flows N] [--seconds S]
//                 [--only figure5|modes|matched|triggers|flows|time]
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/monitor/measure.h"

namespace tapline::bench {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kChecksumBytes = 4;
constexpr uint32_t kGapBytes = 20;  // preamble and inter-frame gap on the wire
constexpr double kTenGigabit = 10e9;
constexpr uint32_t kTriggers = 4096;
constexpr uint32_t kFloodClients = 1'000'000;

struct Arguments {
  bool json = false;
  bool quick = false;
  std::string parser;
  uint32_t bytes = 0;
  uint32_t flows = 0;
  double seconds = 1.0;
  std::string only;
};

struct Target {
  const char* parser;
  uint32_t bytes;
  double cycles;
};
// A division of the work among the monitor's threads.
struct Mode {
  const char* name;
  int cores;
  uint32_t lanes;
  bool workers;
};
constexpr Mode kRunToCompletion = {"run-to-completion", 1, 1, false};
constexpr Mode kOtherModes[] = {{"run-to-completion", 2, 2, false}, {"pipeline", 1, 1, true}, {"pipeline", 2, 1, true}};

constexpr Target kTargets[] = {
    {"tcp_flow_key", 64, 100}, {"tcp_conn_time", 64, 45}, {"tcp_pkt_size", 64, 100}, {"http_get", 256, 300}};

double line_packets(uint32_t bytes) { return kTenGigabit / 8 / (bytes + kGapBytes); }
double rounded(double value) { return std::round(value * 10) / 10; }

TrafficOptions traffic_for(const std::string& parser, uint32_t bytes, uint32_t flows) {
  return {.kind = parser == "http_get" ? TrafficKind::kHttpGet : TrafficKind::kTcp,
          .frame_bytes = bytes - kChecksumBytes,
          .flows = flows};
}

class Bench {
 public:
  explicit Bench(const Arguments& arguments) : arguments_(arguments) {
    hugepages_ = provide_hugepages();
    if (!hugepages_) std::fprintf(stderr, "warning: no hugepages: ordinary memory is slower\n");
  }

  void figure5() {
    for (uint32_t flows : {1000u, 1'000'000u}) {
      for (uint32_t bytes : {64u, 128u, 256u, 512u, 1024u, 1500u}) {
        if (!wanted(bytes, flows)) continue;
        if (flows == 1000) figure5_.push_back(baseline(Subject::kTestpmd, "testpmd rxonly", bytes, flows));
        for (const Target& target : kTargets) {
          if (wanted(target.parser)) figure5_.push_back(one_parser(target.parser, bytes, flows));
        }
      }
    }
  }

  // Measures the other modes; pipeline mode by wall-clock time instead of CPU time, since two threads handle each
  // packet.
  void modes() {
    for (const Mode& mode : kOtherModes) {
      for (uint32_t bytes : {64u, 128u, 256u, 512u, 1024u, 1500u}) {
        for (const Target& target : kTargets) {
          if (wanted(bytes, 1000) && wanted(target.parser)) figure5_.push_back(in_mode(mode, target.parser, bytes));
        }
      }
    }
  }

  // Measures a query with TO: each packet is decoded and matched, and Engine::absorb() processes none.
  void matched() {
    for (const Target& target : kTargets) {
      if (!wanted(target.parser) || !wanted(target.bytes, 1000)) continue;
      matched_.push_back(one_parser(target.parser, target.bytes, 1000, true));
    }
  }

  // Measures 4,096 triggers on packets, of which 8 to 256 match each packet; also if a third of them are on
  // retransmitted bytes, which need facts about TCP connections; with a group for each client; and during a flood of
  // SYNs.
  void triggers() {
    for (const uint32_t flows : {1000u, 1'000'000u}) {
      for (const uint32_t matching : {8u, 16u, 64u, 256u}) {
        triggers(std::to_string(matching) + " a packet", flows, {.matching = matching});
      }
      triggers("8 a packet, a third TCP", flows, {.with_tcp = true});
      triggers("8 a packet, by client", flows, {.by_client = true});
    }
    triggers("8 a packet, SYNs", kFloodClients, {}, TrafficKind::kSyns);
  }

  void flows() {
    for (const Target& target : kTargets) {
      for (uint32_t flows : {100u, 1000u, 10'000u, 100'000u, 300'000u, 1'000'000u}) {
        if (wanted(target.parser) && wanted(target.bytes, flows)) {
          flows_.push_back(one_parser(target.parser, target.bytes, flows));
        }
      }
    }
  }

  void time() {
    for (const Target& target : kTargets) {
      if (wanted(target.parser) && wanted(target.bytes, 1000)) time_.push_back(over_time(target));
    }
  }

  ordered_json json() const {
    return {{"tsc_hz", tsc_hz()},    {"hugepages", hugepages_}, {"figure5", figure5_}, {"matched", matched_},
            {"triggers", triggers_}, {"flows", flows_},         {"time", time_},       {"targets", targets()}};
  }
  bool failed() const { return failed_; }

 private:
  bool wanted(const std::string& parser) const { return arguments_.parser.empty() || arguments_.parser == parser; }
  bool wanted(uint32_t bytes, uint32_t flows) const {
    return (arguments_.bytes == 0 || arguments_.bytes == bytes) && (arguments_.flows == 0 || arguments_.flows == flows);
  }

  Trial trial_for(Subject subject, const TrafficOptions& traffic) const {
    Trial trial{.subject = subject, .traffic = traffic, .monitor = {}};
    trial.monitor.output = "null";
    trial.seconds = arguments_.seconds;
    // Long enough for all connections to be in the table and for its memory to be touched.
    trial.warm_up_s = traffic.flows >= 100'000 && subject == Subject::kMonitor ? 3 : 0.3;
    return trial;
  }

  std::optional<Measurement> attempt(const Trial& trial, const std::string& trial_name) {
    Measurement measured = run(trial);
    if (measured.error.empty()) return measured;
    failed_ = true;
    std::fprintf(stderr, "error: %s: %s\n", trial_name.c_str(), measured.error.c_str());
    return std::nullopt;
  }

  static ordered_json row_of(const std::string& name, uint32_t bytes, uint32_t flows, const Measurement& measured,
                             const Mode& mode = kRunToCompletion) {
    const double per_second = measured.packets_per_second;
    return {{"name", name},
            {"mode", mode.name},
            {"cores", mode.cores},
            {"lost_share", measured.lost_share},
            {"bytes", bytes},
            {"flows", flows},
            {"cycles_per_packet", rounded(measured.cycles_per_packet)},
            {"packets_per_second", std::round(per_second)},
            {"gigabits_per_second", rounded(per_second * (bytes + kGapBytes) * 8 / 1e9)},
            {"share_of_10gbe", rounded(per_second / line_packets(bytes) * 100) / 100}};
  }

  ordered_json in_mode(const Mode& mode, const std::string& parser, uint32_t bytes) {
    Trial trial = trial_for(Subject::kMonitor, traffic_for(parser, bytes, 1000));
    trial.monitor.parser = {parser};
    trial.monitor.lanes = mode.lanes;
    if (mode.workers) trial.monitor.workers = {parser};
    trial.cores = mode.cores;
    trial.seconds = std::min(trial.seconds, 0.5);
    auto measured = attempt(trial, parser);
    if (!measured) return {};
    ordered_json row = row_of(parser, bytes, 1000, *measured, mode);
    print_row(row);
    return row;
  }

  static void print_row(const ordered_json& row) {
    std::fprintf(stderr, "%-17s %d  %-16s %5u B %8u flows %8.1f Mpps %7.1f cycles",
                 row["mode"].get<std::string>().c_str(), row["cores"].get<int>(),
                 row["name"].get<std::string>().c_str(), row["bytes"].get<uint32_t>(), row["flows"].get<uint32_t>(),
                 row["packets_per_second"].get<double>() / 1e6, row["cycles_per_packet"].get<double>());
    if (row.contains("added_cycles")) {
      std::fprintf(stderr, ", %6.1f added; %.4f tuples", row["added_cycles"].get<double>(),
                   row["tuples_per_packet"].get<double>());
    }
    std::fprintf(stderr, "\n");
  }

  ordered_json baseline(Subject subject, const std::string& name, uint32_t bytes, uint32_t flows) {
    auto measured = attempt(trial_for(subject, traffic_for("", bytes, flows)), name);
    if (!measured) return {};
    ordered_json row = row_of(name, bytes, flows, *measured);
    print_row(row);
    return row;
  }

  // Returns the plan of a query that runs the parser over all connections to the servers.
  static ordered_json plan_for(const std::string& parser) {
    return {{"format", 1},
            {"query", "matched"},
            {"parsers", {parser}},
            {"match", {{"to", {{{"prefix", "192.168.0.0/16"}, {"port", 80}}}}}},
            {"monitors", {{{"id", "local-0"}}}}};
  }

  static ordered_json member(const std::string& field, const std::string& value) {
    return {{"membership", {{"field", {{"name", field}}}, {"ranges", {{{"low", {{"word", value}}}}}}}}};
  }

  struct TriggerOptions {
    uint32_t matching = 8;  // triggers that match each packet
    bool with_tcp = false;
    bool by_client = false;
  };

  void triggers(const std::string& name, uint32_t flows, const TriggerOptions& options,
                TrafficKind kind = TrafficKind::kTcp) {
    if (!wanted("trigger") || !wanted(64, flows)) return;
    TrafficOptions traffic = traffic_for("trigger", 64, flows);
    traffic.kind = kind;
    triggers_.push_back(one_plan("trigger, " + name, plan_of_triggers(flows, options), traffic));
  }

  // Returns the plan of a query whose triggers are never true: as many as match a packet for each of the prefixes of
  // equal length that contain the clients of these flows.
  static ordered_json plan_of_triggers(uint32_t flows, const TriggerOptions& options) {
    constexpr uint32_t kFirstClient = 10u << 24;
    // Client addresses begin at kFirstClient + 1.
    const uint32_t clients = std::bit_ceil(flows / (kTriggers / options.matching) + 1);
    constexpr const char* kServers[] = {"0.0.0.0/0", "192.0.0.0/8", "192.168.0.0/16", "192.168.0.0/24"};
    ordered_json triggers = ordered_json::array();
    for (uint32_t i = 0; i < kTriggers; ++i) {
      const uint32_t address = kFirstClient + i / options.matching * clients;
      const std::string prefix = std::to_string(address >> 24) + "." + std::to_string(address >> 16 & 255) + "." +
                                 std::to_string(address >> 8 & 255) + "." + std::to_string(address & 255) + "/" +
                                 std::to_string(32 - std::countr_zero(clients));
      ordered_json filter = {member("src_ip", prefix), member("dst_ip", kServers[i % 4])};
      if (i % 8 >= 4) filter.push_back(member("dst_port", "80"));
      filter.push_back({{"all", filter.size()}});
      const bool tcp = options.with_tcp && i % 3 == 0;
      triggers.push_back(
          {{"processor", i},
           {"parser", "packets"},
           {"group", options.by_client ? ordered_json::array({"src_ip"}) : ordered_json::array()},
           {"filter", {{"nodes", filter}}},
           {"every", "0.010s"},
           {"when",
            {{{"measure", tcp ? "RETRANSMITTED_BYTES" : "BYTES"}}, {{"constant", 1e9 + i}}, {{"operator", "GREATER"}}}},
           {"after", 1}});
    }
    return {{"format", 1},
            {"query", "triggers"},
            {"parsers", {"packets", "trigger"}},
            {"match", ordered_json::object()},
            {"monitors", {{{"id", "local-0"}}}},
            {"triggers", triggers}};
  }

  ordered_json one_parser(const std::string& parser, uint32_t bytes, uint32_t flows, bool is_matched = false) {
    if (is_matched) return one_plan(parser, plan_for(parser), traffic_for(parser, bytes, flows));
    Trial trial = trial_for(Subject::kMonitor, traffic_for(parser, bytes, flows));
    trial.monitor.parser = {parser};
    return measure(parser, trial);
  }

  ordered_json one_plan(const std::string& name, const ordered_json& plan, const TrafficOptions& traffic) {
    const std::string path = "/tmp/tapline-bench-" + std::to_string(getpid()) + ".json";
    std::ofstream(path) << plan;
    Trial trial = trial_for(Subject::kMonitor, traffic);
    trial.monitor.plan = {path};
    ordered_json row = measure(name, trial);
    unlink(path.c_str());
    return row;
  }

  // Measures the monitor, and the receive loop alone just before and just after it, so that a change in the machine's
  // speed is visible and has only half the effect.
  ordered_json measure(const std::string& name, const Trial& trial) {
    const uint32_t bytes = trial.traffic.frame_bytes + kChecksumBytes, flows = trial.traffic.flows;
    Trial receive = trial_for(Subject::kReceiveLoop, trial.traffic);
    receive.seconds = std::min(receive.seconds, 0.3);
    auto previous_attempt = attempt(receive, "receive loop");
    auto measured = attempt(trial, name);
    auto later_attempt = attempt(receive, "receive loop");
    if (!previous_attempt || !measured || !later_attempt) return {};
    const double receive_cycles = (previous_attempt->cycles_per_packet + later_attempt->cycles_per_packet) / 2;
    ordered_json row = row_of(name, bytes, flows, *measured);
    row["receive_cycles"] = rounded(receive_cycles);
    row["added_cycles"] = rounded(measured->cycles_per_packet - receive_cycles);
    const auto& accounting = measured->accounting;
    const auto& query = accounting["queries"].begin().value();
    const double packets = query["packets_in"].get<double>();
    row["tuples_per_packet"] = query["tuples_out"].get<double>() / packets;
    if (query["packets_in"] != query["packets_out"] || accounting["matched"] != accounting["packets_received"]) {
      failed_ = true;
      std::fprintf(stderr, "error: packets are missing: %s\n", accounting.dump().c_str());
    }
    print_row(row);
    return row;
  }

  ordered_json over_time(const Target& target) {
    Trial trial = trial_for(Subject::kMonitor, traffic_for(target.parser, target.bytes, 1000));
    trial.monitor.parser = {target.parser};
    trial.seconds = arguments_.quick ? 3 : 12;
    auto measured = attempt(trial, target.parser);
    if (!measured) return {};
    std::map<int, std::pair<double, int>> seconds;
    for (const Window& window : measured->windows) {
      auto& [sum, count] = seconds[static_cast<int>(window.at_s)];
      sum += window.cycles_per_packet;
      ++count;
    }
    ordered_json cycles = ordered_json::array();
    for (const auto& [second, total] : seconds) cycles.push_back(rounded(total.first / total.second));
    std::fprintf(stderr, "%-16s cycles second by second: %s\n", target.parser, cycles.dump().c_str());
    return {{"name", target.parser}, {"bytes", target.bytes}, {"flows", 1000}, {"cycles_by_second", cycles}};
  }

  ordered_json targets() const {
    ordered_json rows = ordered_json::array();
    for (const Target& target : kTargets) {
      for (const ordered_json& row : figure5_) {
        const bool is_unrelated = row.is_null() || !row.contains("added_cycles") || row["flows"] != 1000;
        if (is_unrelated || row["name"] != target.parser || row["bytes"] != target.bytes) continue;
        rows.push_back({{"name", target.parser},
                        {"bytes", target.bytes},
                        {"added_cycles", row["added_cycles"]},
                        {"target_cycles", target.cycles},
                        {"met", row["added_cycles"].get<double>() <= target.cycles}});
      }
    }
    return rows;
  }

  Arguments arguments_;
  bool hugepages_;
  bool failed_ = false;
  std::vector<ordered_json> figure5_, matched_, triggers_, flows_, time_;
};

[[noreturn]] void usage(int code) {
  std::fprintf(code == 0 ? stdout : stderr,
               "bench_monitor: cost per packet of tapline-monitor, of its receive loop alone and of dpdk-testpmd\n"
               "  --json          results as JSON on standard output\n"
               "  --quick         fewer and shorter samples\n"
               "  --parser NAME   only this parser\n"
               "  --bytes N       only frames of this length\n"
               "  --flows N       only this many flows\n"
               "  --seconds S     measured time of each trial (1)\n"
               "  --only PART     figure5, modes, matched, triggers, flows or time\n");
  std::exit(code);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") usage(0);
    if (name == "--json") {
      arguments.json = true;
    } else if (name == "--quick") {
      arguments.quick = true;
      arguments.seconds = 0.3;
    } else if (++i == argc) {
      usage(2);
    } else if (name == "--parser") {
      arguments.parser = argv[i];
    } else if (name == "--bytes") {
      arguments.bytes = static_cast<uint32_t>(std::atoi(argv[i]));
    } else if (name == "--flows") {
      arguments.flows = static_cast<uint32_t>(std::atoi(argv[i]));
    } else if (name == "--seconds") {
      arguments.seconds = std::atof(argv[i]);
    } else if (name == "--only") {
      arguments.only = argv[i];
    } else {
      usage(2);
    }
  }
  return arguments;
}

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  Bench bench(arguments);
  const auto part = [&](const char* name) { return arguments.only.empty() || arguments.only == name; };
  if (part("figure5")) bench.figure5();
  if (part("modes") && !arguments.quick) bench.modes();
  if (part("matched")) bench.matched();
  if (part("triggers")) bench.triggers();
  if (part("flows") && !arguments.quick) bench.flows();
  if (part("time")) bench.time();
  const ordered_json results = bench.json();
  if (arguments.json) std::printf("%s\n", results.dump(1).c_str());
  for (const auto& target : results["targets"]) {
    std::fprintf(stderr, "%-16s at %4u B: %6.1f cycles added, target %3.0f: %s\n",
                 target["name"].get<std::string>().c_str(), target["bytes"].get<uint32_t>(),
                 target["added_cycles"].get<double>(), target["target_cycles"].get<double>(),
                 target["met"].get<bool>() ? "met" : "missed");
  }
  return bench.failed() ? 1 : 0;
}

}  // namespace
}  // namespace tapline::bench

int main(int argc, char** argv) { return tapline::bench::main(argc, argv); }
