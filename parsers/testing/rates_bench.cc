// Measures what a packet costs in flow_rate and link_load: TSC cycles, the least of many short runs, and the ratio to a
// pass that makes the same packets and adds up their lengths. Each row is beside it in the same run, in turns, so that
// a busy machine disturbs both alike.
//
// usage: rates_bench
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "parsers/engine/engine.h"
#include "parsers/flow_rate/flow_rate.h"
#include "parsers/link_load/link_load.h"

namespace tapline {
namespace {

constexpr size_t kBurst = 32;
constexpr int kBurstsPerRun = 256;
constexpr int kRuns = 60;

class NoSink final : public TupleSink {
 public:
  void emit(uint32_t, const TupleHeader&, std::span<const Value>) override {}
  void lose(LossReason, uint64_t, uint64_t) override {}
};

// Segments of many flows in turn. Each flow misses every other segment.
class Traffic {
 public:
  Traffic(uint32_t flows, uint32_t wire_bytes) : flows_(flows), wire_bytes_(wire_bytes), seqs_(flows) {
    frame_.fill(0);
    for (Packet& packet : burst_) {
      packet.data = frame_.data();
      packet.ip_offset = 14;
      packet.protocol = protocol::kTcp;
      packet.ip_version = 4;
      packet.tcp_flags = tcp_flag::kAck;
      packet.dst_port = 5001;
      packet.queries = 1;
      packet.captured_bytes = packet.wire_bytes = wire_bytes;
      packet.payload_bytes = wire_bytes - 54;
      const uint8_t server[4] = {10, 200, 0, 1};
      packet.dst_ip = IpAddress::v4(server);
    }
  }

  std::span<Packet> next() {
    for (Packet& packet : burst_) {
      const uint32_t flow = at_;
      at_ = at_ + 1 == flows_ ? 0 : at_ + 1;
      const uint8_t client[4] = {10, static_cast<uint8_t>(flow >> 16), static_cast<uint8_t>(flow >> 8),
                                 static_cast<uint8_t>(flow)};
      packet.src_ip = IpAddress::v4(client);
      packet.src_port = static_cast<uint16_t>(1024 + flow % 50'000);
      packet.tcp_seq = seqs_[flow];
      seqs_[flow] += 2 * packet.payload_bytes;
      packet.time_ns = now_ns_;
      packet.flow_hash = flow;
      packet.connection = nullptr;
      now_ns_ += wire_bytes_ * 8 / 10;  // 10 Gb/s
    }
    return burst_;
  }

 private:
  uint32_t flows_, wire_bytes_, at_ = 0;
  int64_t now_ns_ = 1'000'000'000'000;
  std::vector<uint32_t> seqs_;
  std::array<uint8_t, 64> frame_;
  std::array<Packet, kBurst> burst_;
};

// Looks at nothing but asks for connections: what the engine costs.
class NoParser final : public Parser {
 public:
  const Schema& schema() const override {
    static const Schema schema = {.name = "none", .main_fields = {"dst_ip"}};
    return schema;
  }
  Needs needs() const override { return {.connections = true, .intervals = true}; }
};

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
  void run() {
    const uint64_t start = __rdtsc();
    for (int i = 0; i < kBurstsPerRun; ++i) burst();
    cycles_.push_back(static_cast<double>(__rdtsc() - start) / (kBurstsPerRun * kBurst));
  }
  double least() const { return *std::min_element(cycles_.begin(), cycles_.end()); }
  double median() {
    std::sort(cycles_.begin(), cycles_.end());
    return cycles_[cycles_.size() / 2];
  }
  const std::string& name() const { return name_; }

 private:
  void burst() {
    const std::span<Packet> packets = traffic_.next();
    for (const Packet& packet : packets) looked_at += packet.wire_bytes;
    if (engine_ != nullptr) engine_->process(packets);
  }

  std::string name_;
  Traffic traffic_;
  NoSink sink_;
  std::unique_ptr<Engine> engine_;
  std::vector<double> cycles_;
};

void measure(uint32_t flows, uint32_t wire_bytes) {
  FlowRateOptions flow_rate;
  LinkLoadOptions link_load;
  flow_rate.mirror.bits_per_second = link_load.mirror.bits_per_second = 10'000'000'000;
  std::vector<std::unique_ptr<Row>> rows;
  rows.push_back(std::make_unique<Row>("pass", nullptr, flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("engine", std::make_unique<NoParser>(), flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("flow_rate", make_flow_rate(flow_rate), flows, wire_bytes));
  rows.push_back(std::make_unique<Row>("link_load", make_link_load(link_load), flows, wire_bytes));
  for (auto& row : rows) row->warm_up(4 * flows + 4096);
  for (int i = 0; i < kRuns; ++i) {
    for (auto& row : rows) row->run();
  }
  const double pass = rows[0]->least();
  for (auto& row : rows) {
    std::printf("| %u flows, %u B, %s | %.0f | %.0f | %.1f |\n", flows, wire_bytes, row->name().c_str(), row->least(),
                row->median(), row->least() / pass);
  }
}

int run_all() {
  std::printf("| | cycles a packet, least | median | least, times the pass |\n|---|---|---|---|\n");
  for (const uint32_t wire_bytes : {64u, 1500u}) {
    for (const uint32_t flows : {1'000u, 32'000u, 1'000'000u}) measure(flows, wire_bytes);
  }
  return looked_at == 1 ? 1 : 0;
}

}  // namespace
}  // namespace tapline

int main() { return tapline::run_all(); }
