#include "bench/triggers/measurement.h"

#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tapline::bench {
namespace {

std::string text_of(const ordered_json& row) {
  char text[160];
  std::snprintf(text, sizeof text, "%-24s %8.1f ns %7.2f Mpps %7.0f cycles", row["design"].get<std::string>().c_str(),
                row["ns_per_packet"].get<double>(), row["million_packets_per_second"].get<double>(),
                row["cycles_over_read_only"].get<double>());
  std::string line = text;
  if (row.contains("events")) {
    std::snprintf(text, sizeof text, " %8lu events %3lu late", row["events"].get<uint64_t>(),
                  row["late"].get<uint64_t>());
    line += text;
  }
  if (row.contains("match_sets")) {
    std::snprintf(text, sizeof text, " %6lu sets %8lu misses %7lu groups %8lu rest", row["match_sets"].get<uint64_t>(),
                  row["cache_misses"].get<uint64_t>(), row["groups_a_window"].get<uint64_t>(),
                  row["rest_packets"].get<uint64_t>());
    line += text;
  }
  return line;
}

}  // namespace

double cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::shared_ptr<const trigger::Program> program_of(const std::vector<trigger::Trigger>& triggers) {
  std::string error;
  auto program = trigger::Program::make(triggers, &error);
  if (program == nullptr) {
    std::fprintf(stderr, "error: %s\n", error.c_str());
    std::exit(1);
  }
  return program;
}

Engine::Engine(const std::vector<trigger::Trigger>& triggers, const trigger::TriggerOptions& options)
    : Subject("engine") {
  const double previous_cpu_seconds = cpu_seconds();
  const auto program = program_of(triggers);
  prepare_ms_ = (cpu_seconds() - previous_cpu_seconds) * 1e3;
  if (program->needs_tcp()) {
    flows_ = std::make_unique<TcpFlows>(TcpFlowOptions{.window_ns = program->in_flight_window_ns()});
  }
  engine_ = std::make_unique<trigger::TriggerEngine>(program, options, &sink_);
}

void Engine::process(std::span<const Sample> samples, std::span<const TcpNumbers> numbers) {
  latest_ns_ = samples.back().time_ns;
  packets_ += samples.size();
  if (flows_ == nullptr) {
    engine_->process(samples, {});
  } else {
    flows_->observe(samples, numbers, &batch_);
    engine_->process(batch_.all_samples(), batch_.all_facts());
  }
}

void Engine::finish(ordered_json* row) {
  const auto& channels = engine_->program().channels();
  const uint64_t late = engine_->stats().late_sweeps;
  if (packets_ > 0) engine_->advance(latest_ns_ + trigger::Program::kMaxWindowNs);
  const auto stats = engine_->stats();
  (*row)["events"] = sink_.events;
  (*row)["windows"] = sink_.windows;
  (*row)["late"] = late;
  (*row)["match_sets"] = stats.match_sets;
  (*row)["cache_misses"] = stats.cache_misses;
  (*row)["counted_singly"] = stats.counted_singly;
  (*row)["groups_a_window"] = sink_.groups;
  (*row)["rest_packets"] = sink_.rest_packets;
  (*row)["unaccounted"] = static_cast<int64_t>(packets_ * channels.size() - sink_.packets);
  (*row)["prepare_ms"] = prepare_ms_;
}

std::vector<ordered_json> Measurements::rows_of(const Case& measured_case) {
  const WorkloadOptions& options = measured_case.workload;
  const Workload workload(options);
  std::vector<std::unique_ptr<Subject>> subjects;
  subjects.push_back(std::make_unique<Pass>());
  subjects.push_back(std::make_unique<Engine>(workload.triggers(), measured_case.engine));
  if (measured_case.other_designs) {
    subjects.push_back(
        std::make_unique<Other>("flow table, tuple space", std::make_unique<FlowTable>(workload.triggers())));
    subjects.push_back(
        std::make_unique<Other>("update each trigger", std::make_unique<UpdatePerTrigger>(workload.triggers())));
  }
  if (measured_case.linear_scan) {
    subjects.push_back(std::make_unique<Other>("linear scan", std::make_unique<LinearScan>(workload.triggers())));
  }
  const int rounds = arguments_.quick ? 3 : 7;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& subject : subjects) run_round(measured_case, workload, subject.get());
  }
  std::vector<ordered_json> rows;
  for (const auto& subject : subjects) rows.push_back(row_of(measured_case, subjects[0]->min_ns, subject.get()));
  if (rows[1]["unaccounted"] != 0) fail(measured_case.label + ": some packets are missing from the windows' reports");
  return rows;
}

ordered_json Measurements::measure(const Case& measured_case) {
  std::vector<ordered_json> rows = rows_of(measured_case);
  for (const ordered_json& row : rows) add(row, text_of(row));
  return rows[1];
}

ordered_json Measurements::measure_quietly(const Case& measured_case) { return rows_of(measured_case)[1]; }

// Runs a round of at least two windows, 2^18 packets, and all frames (up to 2^20). The linear scan's rounds have 4096
// packets; --quick limits all rounds to 2^19 packets.
void Measurements::run_round(const Case& measured_case, const Workload& workload, Subject* subject) {
  uint64_t packets = std::max<uint64_t>(2 * workload.packets_per_window(), 1 << 18);
  packets = std::max<uint64_t>(packets, std::min<uint64_t>(workload.options().frames, 1 << 20));
  if (subject->name == "linear scan") packets = 4096;
  if (arguments_.quick) packets = std::min<uint64_t>(packets, 1 << 19);
  const uint64_t end = subject->next + packets;
  const double previous_cpu_seconds = cpu_seconds();
  while (subject->next < end) process_burst(measured_case, workload, subject);
  subject->min_ns =
      std::min(subject->min_ns, (cpu_seconds() - previous_cpu_seconds) * 1e9 / static_cast<double>(packets));
}

void Measurements::process_burst(const Case& measured_case, const Workload& workload, Subject* subject) {
  for (size_t i = 0; i < measured_case.burst; ++i) {
    if (measured_case.ahead > 0) __builtin_prefetch(workload.packet(subject->next + measured_case.ahead).data);
    for (uint32_t fetch = 1; fetch < measured_case.fetches; ++fetch) {
      // Another frame stands for the packet's copy, which would be elsewhere in memory.
      const uint64_t copy = subject->next + fetch * workload.options().frames / measured_case.fetches;
      __builtin_prefetch(workload.packet(copy + measured_case.ahead).data);
      if (!read_plain(workload.packet(copy), &samples_[i], &numbers_[i])) std::abort();
      asm volatile("" : : "m"(samples_[i]), "m"(numbers_[i]));
    }
    if (!read_plain(workload.packet(subject->next++), &samples_[i], &numbers_[i])) std::abort();
  }
  subject->process({samples_.data(), measured_case.burst}, {numbers_.data(), measured_case.burst});
}

ordered_json Measurements::row_of(const Case& measured_case, double pass_ns, Subject* subject) {
  ordered_json row = {{"part", measured_case.part},
                      {"what", measured_case.label},
                      {"design", subject->name},
                      {"ns_per_packet", subject->min_ns},
                      {"million_packets_per_second", 1e3 / subject->min_ns},
                      {"read_only_ns", pass_ns},
                      {"cycles_over_read_only", (subject->min_ns - pass_ns) * tsc_ghz()},
                      {"packets", subject->next}};
  subject->finish(&row);
  return row;
}

void Measurements::add(ordered_json row, const std::string& text) {
  std::fprintf(stderr, "%-13s %-52s %s\n", row["part"].get<std::string>().c_str(),
               row["what"].get<std::string>().c_str(), text.c_str());
  rows_.push_back(std::move(row));
}

void Measurements::fail(const std::string& label) {
  std::fprintf(stderr, "error: %s\n", label.c_str());
  failed_ = true;
}

// Measures the frequency over 20 ms.
double tsc_ghz() {
  static const double ghz = [] {
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const uint64_t cycles = __rdtsc();
    int64_t passed_ns;
    do {
      clock_gettime(CLOCK_MONOTONIC, &now);
      passed_ns = (now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec;
    } while (passed_ns < 20'000'000);
    return static_cast<double>(__rdtsc() - cycles) / static_cast<double>(passed_ns);
  }();
  return ghz;
}

}  // namespace tapline::bench
