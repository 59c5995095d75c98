// Measures the cost per packet for several subjects over the same frames, in rounds that alternate between them.
#pragma once

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/triggers/designs.h"
#include "bench/triggers/workload.h"
#include "parsers/packets/tcp_flows.h"
#include "parsers/trigger/trigger_engine.h"

namespace tapline::bench {

using nlohmann::ordered_json;

// Returns this thread's CPU time.
double cpu_seconds();

// Returns the time stamp counter's cycles per nanosecond.
double tsc_ghz();

// Compiles triggers. Exits with a message if they are invalid.
std::shared_ptr<const trigger::Program> program_of(const std::vector<trigger::Trigger>& triggers);

class CountingSink final : public trigger::EventSink {
 public:
  void on_event(const trigger::Event&) override { ++events; }
  void on_window(const trigger::WindowReport& report) override {
    ++windows;
    packets += report.packets + report.uncounted_packets;
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
  double min_ns = 1e9;  // minimum per packet
};

// The work that all subjects share: reading the frames.
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

// TriggerEngine, with TcpFlows if triggers need it.
class Engine final : public Subject {
 public:
  Engine(const std::vector<trigger::Trigger>& triggers, const trigger::TriggerOptions& options);
  void process(std::span<const Sample> samples, std::span<const TcpNumbers> numbers) override;
  // Closes the last window, and adds the engine's statistics; `unaccounted` is the number of packets in no window's
  // report.
  void finish(ordered_json* row) override;

 private:
  CountingSink sink_;
  double prepare_ms_ = 0;
  std::unique_ptr<TcpFlows> flows_;
  SampleBatch batch_;
  std::unique_ptr<trigger::TriggerEngine> engine_;
  int64_t latest_ns_ = 0;
  uint64_t packets_ = 0;
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

// One measurement: the frames, and the subjects in addition to Pass and Engine.
struct Case {
  std::string part;
  std::string label;
  WorkloadOptions workload = {};
  bool other_designs = false;
  bool linear_scan = false;
  trigger::TriggerOptions engine = {};
  size_t burst = 64;     // packets, at most 64
  uint64_t ahead = 16;   // how many frames ahead are prefetched; 0: none
  uint32_t fetches = 1;  // frames read per packet, as if several queues had a copy of it
};

struct Arguments {
  bool json = false;
  bool quick = false;
  std::string part;
};

class Measurements {
 public:
  explicit Measurements(const Arguments& arguments) : arguments_(arguments) {}

  // Measures all subjects, and appends a row for each. Returns the engine's row.
  ordered_json measure(const Case& measured_case);
  // Does the same, but appends no rows.
  ordered_json measure_quietly(const Case& measured_case);
  // Appends a row, and prints it with this text.
  void add(ordered_json row, const std::string& text);
  // Reports a wrong count, so that the program's exit code will be 1.
  void fail(const std::string& label);

  const ordered_json& rows() const { return rows_; }
  bool failed() const { return failed_; }
  bool quick() const { return arguments_.quick; }

 private:
  void run_round(const Case& measured_case, const Workload& workload, Subject* subject);
  void process_burst(const Case& measured_case, const Workload& workload, Subject* subject);
  std::vector<ordered_json> rows_of(const Case& measured_case);
  static ordered_json row_of(const Case& measured_case, double pass_ns, Subject* subject);

  Arguments arguments_;
  ordered_json rows_ = ordered_json::array();
  bool failed_ = false;
  std::array<Sample, 64> samples_;
  std::array<TcpNumbers, 64> numbers_;
};

}  // namespace tapline::bench
