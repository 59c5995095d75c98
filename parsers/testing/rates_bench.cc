// Measures the cost per packet of flow_rate and link_load, including decoding, in TSC cycles: the minimum and median of
// many short runs, and the ratio of the minimum to that of a pass that only makes the frames and adds up their lengths.
// The rows alternate within one run, so that a busy machine affects all of them.
//
// usage: rates_bench [ROW [FLOWS [BYTES]]]      only that row, for a profile
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "parsers/api/flow_hash.h"
#include "parsers/engine/engine.h"
#include "parsers/flow_rate/flow_rate.h"
#include "parsers/link_load/link_load.h"

namespace tapline {
namespace {

constexpr size_t kBurst = 32;
constexpr int kBurstsPerRun = 64;  // shorter than a time slice: most runs are not interrupted
constexpr int kRuns = 500;
constexpr uint64_t kSpeed = 10'000'000'000;
constexpr uint32_t kFlows = 1 << 16;

class NoSink final : public TupleSink {
 public:
  void emit(uint32_t, const TupleHeader&, std::span<const Value>) override {}
  void lose(LossReason, uint64_t, uint64_t) override {}
};

// Captured segments of many flows, which take turns. Every other segment of each flow is missing.
class Traffic {
 public:
  Traffic(uint32_t flows, uint32_t wire_bytes) : flows_(flows), wire_bytes_(wire_bytes), seqs_(flows) {
    for (auto& frame : frames_) {
      frame = {0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45};
      put(&frame[16], wire_bytes - kEthernet, 2);
      frame[22] = 64;
      frame[23] = protocol::kTcp;
      put(&frame[30], 0x0ac80001, 4);
      put(&frame[36], 5001, 2);
      frame[46] = 0x50;
      frame[47] = tcp_flag::kAck;
    }
  }

  std::span<const RawPacket> next() {
    for (size_t i = 0; i < kBurst; ++i) {
      const uint32_t flow = at_;
      at_ = at_ + 1 == flows_ ? 0 : at_ + 1;
      put(&frames_[i][26], 0x0a000000 + flow, 4);
      put(&frames_[i][34], 1024 + flow % 50'000, 2);
      put(&frames_[i][38], seqs_[flow], 4);
      seqs_[flow] += 2 * (wire_bytes_ - kHeaders);
      burst_[i] = {
          .data = frames_[i].data(), .captured_bytes = kCaptured, .wire_bytes = wire_bytes_, .time_ns = now_ns_};
      now_ns_ += (wire_bytes_ + kFraming) * 8 / 10;  // 10 Gb/s
    }
    return burst_;
  }

 private:
  static constexpr uint32_t kEthernet = 14, kHeaders = 54, kCaptured = 64, kFraming = 20;

  static void put(uint8_t* target, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) target[i] = static_cast<uint8_t>(value >> 8 * (bytes - 1 - i));
  }

  uint32_t flows_, wire_bytes_, at_ = 0;
  int64_t now_ns_ = 1'000'000'000'000;
  std::vector<uint32_t> seqs_;
  std::array<std::array<uint8_t, kCaptured>, kBurst> frames_;
  std::array<RawPacket, kBurst> burst_;
};

// Does nothing, to measure decoding and the engine, with or without the connection table.
class NoParser final : public Parser {
 public:
  explicit NoParser(bool connections) : connections_(connections) {}
  const Schema& schema() const override {
    static const Schema schema = {.name = "none", .main_fields = {"dst_ip"}};
    return schema;
  }
  Needs needs() const override { return {.connections = connections_, .interval_ns = kNsPerSecond}; }

 private:
  bool connections_;
};

// Returns the parser with these speeds as its arguments. Only link_load has the argument `flows_above`.
std::unique_ptr<Parser> with_speeds(std::unique_ptr<Parser> parser, double flows_above = 0) {
  parser->set_arguments(
      0, std::vector<Value>{Value::u64(kSpeed), Value::u64(kSpeed), Value::i64(0), Value::i64(kNsPerSecond),
                            Value::string("edge"), Value::f64(flows_above)});
  return parser;
}

uint64_t looked_at = 0;

class Row {
 public:
  Row(std::string name, std::unique_ptr<Parser> parser, uint32_t flows, uint32_t wire_bytes)
      : name_(std::move(name)), traffic_(flows, wire_bytes) {
    if (parser == nullptr) return;
    std::vector<std::unique_ptr<Parser>> parsers;
    parsers.push_back(std::move(parser));
    engine_ = std::make_unique<Engine>(std::move(parsers), &sink_, EngineOptions{.max_connections = 1 << 20});
  }

  void warm_up(uint32_t packets) {
    for (uint32_t i = 0; i < packets; i += kBurst) burst();
  }
  // Measures one run, after an equally long one that brings this row's data back into the caches: other rows have
  // evicted them, as would not happen in a monitor.
  void run() {
    warm_up(kBurstsPerRun * kBurst);
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kBurstsPerRun; ++i) burst();
    cycles_.push_back(static_cast<double>(__rdtsc() - start) / (kBurstsPerRun * kBurst));
  }
  double min() const { return *std::min_element(cycles_.begin(), cycles_.end()); }
  double median() {
    std::sort(cycles_.begin(), cycles_.end());
    return cycles_[cycles_.size() / 2];
  }
  const std::string& name() const { return name_; }

 private:
  void burst() {
    const std::span<const RawPacket> frames = traffic_.next();
    for (const RawPacket& frame : frames) looked_at += frame.wire_bytes;
    if (engine_ == nullptr) return;
    for (size_t i = 0; i < frames.size(); ++i) {
      if (decode(frames[i], hasher_, &packets_[i]) != DecodeOutcome::kOk) std::abort();
      packets_[i].queries = 1;
    }
    engine_->process(packets_);
  }

  std::string name_;
  Traffic traffic_;
  NoSink sink_;
  FlowHasher hasher_{HashKey{1, 2}};
  std::array<Packet, kBurst> packets_;
  std::unique_ptr<Engine> engine_;
  std::vector<double> cycles_;
};

void measure(uint32_t flows, uint32_t wire_bytes, const std::string& only) {
  std::vector<std::unique_ptr<Row>> rows;
  rows.push_back(std::make_unique<Row>("pass", nullptr, flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("decoding", std::make_unique<NoParser>(false), flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("connections", std::make_unique<NoParser>(true), flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("flow_rate", with_speeds(make_flow_rate(kFlows)), flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("link_load", with_speeds(make_link_load(kFlows)), flows, wire_bytes));
  rows.push_back(
      std::make_unique<Row>("link_load with flows", with_speeds(make_link_load(kFlows), 0.9), flows, wire_bytes));
  if (!only.empty()) std::erase_if(rows, [&](const auto& row) { return row->name() != only && row->name() != "pass"; });
  for (auto& row : rows) row->warm_up(4 * flows + 4096);
  for (int i = 0; i < kRuns; ++i) {
    for (auto& row : rows) row->run();
  }
  const double pass = rows[0]->min();
  for (auto& row : rows) {
    std::printf("| %u flows, %u B, %s | %.0f | %.0f | %.1f |\n", flows, wire_bytes, row->name().c_str(), row->min(),
                row->median(), row->min() / pass);
  }
}

int run_all(const std::string& row, std::vector<uint32_t> flows, std::vector<uint32_t> wire_bytes) {
  std::printf("| | cycles per packet, min | median | min, relative to the pass |\n|---|---|---|---|\n");
  for (const uint32_t bytes : wire_bytes) {
    for (const uint32_t number : flows) measure(number, bytes, row);
  }
  return looked_at == 1 ? 1 : 0;
}

}  // namespace
}  // namespace tapline

int main(int argc, char** argv) {
  const auto numbers = [&](int column, std::vector<uint32_t> all) {
    return argc > column ? std::vector<uint32_t>{static_cast<uint32_t>(std::stoul(argv[column]))} : all;
  };
  return tapline::run_all(argc > 1 ? argv[1] : "", numbers(2, {1'000, 32'000, 1'000'000}), numbers(3, {64, 1500}));
}
