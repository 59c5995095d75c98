// Compares the cost of evaluating triggers on every packet with that of a pass that only reads the packets, in the same
// run. Frames of 64 bytes are in memory; packet time advances at 14.88 million packets per second, the maximum of
// 10 GbE, so a window of 10 ms has 148,800 of them. Rates are by this thread's CPU time: the minimum of several rounds,
// which alternate between the subjects.
//
//   bench_triggers [--json] [--only rate|triggers|groups|attack|feasible|patterns|bursts] [--quick]
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/triggers/designs.h"
#include "bench/triggers/workload.h"
#include "parsers/packets/tcp_flows.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::bench {
namespace {

using nlohmann::ordered_json;
using trigger::GroupBy;
using trigger::TriggerEngine;

struct Arguments {
  bool json = false;
  bool quick = false;
  std::string only;
};

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class CountingSink final : public trigger::EventSink {
 public:
  void on_event(const trigger::Event&) override { ++events; }
  void on_window(const trigger::WindowReport& report) override {
    ++windows;
    packets += report.packets;
    groups = std::max(groups, report.groups);
    rest_packets += report.rest_packets;
  }

  uint64_t events = 0, windows = 0, packets = 0, groups = 0, rest_packets = 0;
};

// A subject processes each burst of frames. Packet numbers continue from round to round.
class Subject {
 public:
  explicit Subject(std::string called) : name(std::move(called)) {}
  virtual ~Subject() = default;
  virtual void process(std::span<const Sample> samples, std::span<const TcpNumbers> numbers) = 0;
  virtual void finish(ordered_json*) {}

  std::string name;
  uint64_t next = 0;
  double least_ns = 1e9;  // a packet
};

// The work that all subjects share: reads the frames.
class Pass final : public Subject {
 public:
  Pass() : Subject("read only") {}
  void process(std::span<const Sample> samples, std::span<const TcpNumbers> numbers) override {
    for (size_t i = 0; i < samples.size(); ++i) sum_ += samples[i].bytes + numbers[i].seq;
  }
  void finish(ordered_json* row) override { (*row)["checksum"] = sum_; }

 private:
  uint64_t sum_ = 0;
};

class Engine final : public Subject {
 public:
  Engine(const Workload& workload, std::string called) : Subject(std::move(called)) {
    std::string error;
    const double before = cpu_seconds();
    auto program = trigger::Program::make(workload.triggers(), &error);
    if (program == nullptr) {
      std::fprintf(stderr, "error: %s\n", error.c_str());
      std::exit(1);
    }
    prepare_ms_ = (cpu_seconds() - before) * 1e3;
    if (program->needs_tcp()) {
      flows_ = std::make_unique<TcpFlows>(TcpFlowOptions{.window_ns = program->in_flight_window_ns()});
    }
    engine_ = std::make_unique<TriggerEngine>(program, trigger::TriggerOptions{}, &sink_);
  }
  void process(std::span<const Sample> samples, std::span<const TcpNumbers> numbers) override {
    if (flows_ == nullptr) {
      engine_->process(samples, {});
    } else {
      flows_->observe(samples, numbers, &batch_);
      engine_->process(batch_.all_samples(), batch_.all_facts());
    }
  }
  void finish(ordered_json* row) override {
    const auto stats = engine_->stats();
    (*row)["events"] = sink_.events;
    (*row)["windows"] = sink_.windows;
    (*row)["late"] = stats.late_sweeps;
    (*row)["match_sets"] = stats.match_sets;
    (*row)["cache_misses"] = stats.cache_misses;
    (*row)["counted_singly"] = stats.counted_singly;
    (*row)["groups_a_window"] = sink_.groups;
    (*row)["rest_packets"] = sink_.rest_packets;
    (*row)["prepare_ms"] = prepare_ms_;
  }

 private:
  CountingSink sink_;
  std::unique_ptr<TcpFlows> flows_;
  SampleBatch batch_;
  std::unique_ptr<TriggerEngine> engine_;
  double prepare_ms_ = 0;
};

class Other final : public Subject {
 public:
  Other(std::string called, std::unique_ptr<Design> design) : Subject(std::move(called)), design_(std::move(design)) {}
  void process(std::span<const Sample> samples, std::span<const TcpNumbers>) override { design_->process(samples); }
  void finish(ordered_json* row) override {
    design_->finish();
    (*row)["events"] = design_->events();
    (*row)["late"] = design_->late_sweeps();
  }

 private:
  std::unique_ptr<Design> design_;
};

class Bench {
 public:
  explicit Bench(const Arguments& arguments) : arguments_(arguments) {}

  // Trumpet's base case, and more triggers per packet than it allows.
  void rate() {
    for (const uint32_t per_packet : {8u, 16u, 64u, 256u}) {
      measure("rate", "4096 triggers, " + std::to_string(per_packet) + " a packet", {.triggers_per_packet = per_packet},
              true, per_packet == 8);
    }
    measure("rate", "4096 triggers, 8 a packet, a third on retransmissions", {.retransmission_triggers_in = 3});
    measure("rate", "a million flows, 8 a packet", million_flows(), true);
    WorkloadOptions tcp = million_flows();
    tcp.retransmission_triggers_in = 3;
    measure("rate", "a million flows, a third on retransmissions", tcp);
  }

  void triggers() {
    for (const uint32_t count : {0u, 256u, 1024u, 4096u, 16384u}) {
      measure("triggers", std::to_string(count) + " triggers", {.triggers = count}, count > 0, count == 256);
    }
    for (const double covered : {0.0, 0.1, 0.5, 1.0}) {
      measure("triggers", std::to_string(static_cast<int>(covered * 100)) + " % of packets covered",
              {.covered = covered});
    }
  }

  void patterns() {
    for (const uint32_t count : {1u, 8u, 32u, 64u}) {
      measure("patterns", std::to_string(count) + " patterns, each packet of a new flow",
              {.triggers_per_packet = 64, .patterns = count, .packets_per_flow = 1}, true);
    }
  }

  void groups() {
    for (const uint32_t flows : {300u, 10'000u, 30'000u, 60'000u, 1'000'000u}) {
      WorkloadOptions options = {.flows = flows, .packets_per_flow = 1000, .group = GroupBy::flow()};
      if (flows >= 60'000) options.frames = 1 << 20;
      measure("groups", "by flow, " + std::to_string(flows) + " flows", options);
    }
    measure("groups", "by destination, 300 flows", {.group = GroupBy::destination(32, 128)});
  }

  void attack() {
    for (const uint32_t count : {8u, 32u, 64u}) {
      const std::string named = std::to_string(count) + " patterns";
      WorkloadOptions fitting = {.triggers_per_packet = 64, .patterns = count, .syn_flood = true, .frames = 1 << 20};
      measure("attack", "SYNs that match, " + named, fitting, true);
      fitting.covered = 0;
      measure("attack", "SYNs that do not match, " + named, fitting, true);
    }
    measure("attack", "650,000/s of SYNs", {.syn_share = 0.65 / 14.88, .frames = 1 << 20}, true);
    measure("attack", "SYNs that match, by source",
            {.syn_flood = true, .frames = 1 << 20, .group = GroupBy::source(32, 128)});
    measure("attack", "SYNs that match, a third on retransmissions",
            {.syn_flood = true, .retransmission_triggers_in = 3, .frames = 1 << 20});
    measure("attack", "addresses chosen against random prefixes",
            {.flows = 1, .packets_per_flow = 1, .adversarial = true, .frames = 1 << 21}, true);
  }

  void feasible() {
    for (const int64_t window_ms : {1, 5, 10, 20}) {
      for (const uint32_t per_packet : {1u, 8u, 16u, 64u}) {
        measure("feasible", std::to_string(window_ms) + " ms, " + std::to_string(per_packet) + " a packet",
                {.triggers_per_packet = per_packet, .window_ns = window_ms * 1'000'000});
      }
    }
    for (const uint32_t flows : {150u, 600u, 1200u}) {
      measure("feasible", std::to_string(flows) + " flows", {.triggers_per_packet = 16, .flows = flows});
    }
  }

  void bursts() {
    for (const size_t burst : {1u, 4u, 8u, 16u, 32u, 64u}) {
      burst_ = burst;
      measure("bursts", "bursts of " + std::to_string(burst), {});
    }
    burst_ = 64;
  }

  ordered_json rows = ordered_json::array();

 private:
  static WorkloadOptions million_flows() { return {.flows = 1'000'000, .packets_per_flow = 10, .frames = 1 << 21}; }

  void measure(const std::string& part, const std::string& what, const WorkloadOptions& options, bool others = false,
               bool linear = false) {
    const Workload workload(options);
    std::vector<std::unique_ptr<Subject>> subjects;
    subjects.push_back(std::make_unique<Pass>());
    subjects.push_back(std::make_unique<Engine>(workload, "engine"));
    if (others && options.retransmission_triggers_in == 0 && options.group == GroupBy{}) {
      subjects.push_back(
          std::make_unique<Other>("flow table, tuple space", std::make_unique<FlowTable>(workload.triggers())));
      subjects.push_back(
          std::make_unique<Other>("update each trigger", std::make_unique<UpdatePerTrigger>(workload.triggers())));
    }
    if (linear) {
      subjects.push_back(std::make_unique<Other>("linear scan", std::make_unique<LinearScan>(workload.triggers())));
    }
    const int rounds = arguments_.quick ? 3 : 7;
    for (int round = 0; round < rounds; ++round) {
      for (const auto& subject : subjects) run_round(workload, subject.get());
    }
    const double pass_ns = subjects[0]->least_ns;
    for (const auto& subject : subjects) report(part, what, *subject, pass_ns);
  }

  // Two windows of 10 ms, or as many frames as there are.
  void run_round(const Workload& workload, Subject* subject) {
    uint64_t packets = std::max<uint64_t>(2 * workload.packets_per_window(), 1 << 18);
    packets = std::max<uint64_t>(packets, std::min<uint64_t>(workload.options().frames, 1 << 20));
    if (subject->name == "linear scan") packets = 4096;
    if (arguments_.quick) packets = std::min<uint64_t>(packets, 1 << 19);
    const uint64_t end = subject->next + packets;
    const double before = cpu_seconds();
    while (subject->next < end) process_burst(workload, subject);
    subject->least_ns = std::min(subject->least_ns, (cpu_seconds() - before) * 1e9 / static_cast<double>(packets));
  }

  void process_burst(const Workload& workload, Subject* subject) {
    constexpr uint64_t kAhead = 16;
    for (size_t i = 0; i < burst_; ++i) {
      __builtin_prefetch(workload.packet(subject->next + kAhead).data);
      if (!read_plain(workload.packet(subject->next++), &samples_[i], &numbers_[i])) std::abort();
    }
    subject->process({samples_.data(), burst_}, {numbers_.data(), burst_});
  }

  void report(const std::string& part, const std::string& what, Subject& subject, double pass_ns) {
    ordered_json row = {{"part", part},
                        {"what", what},
                        {"design", subject.name},
                        {"ns_per_packet", subject.least_ns},
                        {"million_packets_per_second", 1e3 / subject.least_ns},
                        {"times_read_only", subject.least_ns / pass_ns}};
    row["packets"] = subject.next;
    subject.finish(&row);
    std::fprintf(stderr, "%-8s %-52s %-24s %8.1f ns %7.2f Mpps %7.2f x", part.c_str(), what.c_str(),
                 subject.name.c_str(), subject.least_ns, 1e3 / subject.least_ns, subject.least_ns / pass_ns);
    if (row.contains("events")) {
      std::fprintf(stderr, " %8lu events %3lu late", row["events"].get<uint64_t>(), row["late"].get<uint64_t>());
    }
    if (row.contains("match_sets")) {
      std::fprintf(stderr, " %6lu sets %8lu misses %7lu groups %8lu rest", row["match_sets"].get<uint64_t>(),
                   row["cache_misses"].get<uint64_t>(), row["groups_a_window"].get<uint64_t>(),
                   row["rest_packets"].get<uint64_t>());
    }
    std::fprintf(stderr, "\n");
    rows.push_back(std::move(row));
  }

  Arguments arguments_;
  size_t burst_ = 64;
  std::array<Sample, 64> samples_;
  std::array<TcpNumbers, 64> numbers_;
};

int run(const Arguments& arguments) {
  Bench bench(arguments);
  const std::pair<const char*, std::function<void()>> parts[] = {
      {"rate", [&] { bench.rate(); }},         {"triggers", [&] { bench.triggers(); }},
      {"patterns", [&] { bench.patterns(); }}, {"groups", [&] { bench.groups(); }},
      {"attack", [&] { bench.attack(); }},     {"feasible", [&] { bench.feasible(); }},
      {"bursts", [&] { bench.bursts(); }}};
  bool known = arguments.only.empty();
  for (const auto& [name, part] : parts) {
    if (!arguments.only.empty() && arguments.only != name) continue;
    known = true;
    part();
  }
  if (!known) {
    std::fprintf(stderr, "error: --only %s: no such part\n", arguments.only.c_str());
    return 2;
  }
  if (arguments.json) std::printf("%s\n", bench.rows.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace tapline::bench

int main(int argc, char** argv) {
  tapline::bench::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      arguments.json = true;
    } else if (std::strcmp(argv[i], "--quick") == 0) {
      arguments.quick = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      arguments.only = argv[++i];
    } else {
      std::fprintf(stderr, "usage: bench_triggers [--json] [--quick] [--only PART]\n");
      return 2;
    }
  }
  return tapline::bench::run(arguments);
}
