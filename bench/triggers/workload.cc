#include "bench/triggers/workload.h"

#include <algorithm>
#include <cstring>

namespace tapline::bench {
namespace {

using trigger::Filter;
using trigger::Measure;
using trigger::PortRange;
using trigger::Prefix;
using trigger::Trigger;

// Each group of triggers is for 32 neighbouring servers; all clients are in one /16.
constexpr uint32_t kServers = 10u << 24, kUncovered = 11u << 24, kClients = 172u << 24 | 16 << 16;
constexpr uint32_t kServersPerGroup = 32;
constexpr uint16_t kPort = 80;

Prefix prefix_of(uint32_t address, int bits) {
  const uint8_t bytes[4] = {static_cast<uint8_t>(address >> 24), static_cast<uint8_t>(address >> 16),
                            static_cast<uint8_t>(address >> 8), static_cast<uint8_t>(address)};
  return {IpAddress::v4(bytes), static_cast<uint8_t>(96 + bits)};
}

void store(uint8_t* bytes, uint16_t value) {
  bytes[0] = static_cast<uint8_t>(value >> 8);
  bytes[1] = static_cast<uint8_t>(value);
}
void store(uint8_t* bytes, uint32_t value) {
  store(bytes, static_cast<uint16_t>(value >> 16));
  store(bytes + 2, static_cast<uint16_t>(value));
}

}  // namespace

Workload::Workload(const WorkloadOptions& options)
    : options_(options),
      packet_ns_(1e9 / options.packets_per_second),
      stride_((options.frame_bytes + 63) / 64 * 64),
      memory_(options.frames * stride_) {
  if (options_.adversarial) {
    make_random_triggers();
  } else {
    make_triggers();
  }
  make_frames();
}

// Returns the next number of a xorshift generator (Marsaglia 2003), which gives the same workload in each run.
uint32_t Workload::random() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<uint32_t>(state_ >> 16);
}

// Returns a condition that is rarely true: a window has about 150,000 packets of 64 bytes.
trigger::Expression Workload::condition(uint32_t number) {
  if (!options_.when.empty()) return options_.when;
  const bool retransmissions =
      options_.retransmission_triggers_in > 0 && number % options_.retransmission_triggers_in == 0;
  if (retransmissions) return trigger::above(trigger::value_of(Measure::kRetransmittedBytes), trigger::number(1e6));
  const uint32_t threshold = options_.group == trigger::GroupBy{} ? 5'000'000 : 20'000;
  trigger::Expression bytes = trigger::value_of(Measure::kBytes);
  if (!options_.plain_thresholds) bytes = trigger::apply(trigger::Op::kMultiply, std::move(bytes), trigger::number(1));
  return trigger::above(std::move(bytes), trigger::number(threshold + random() % threshold));
}

// Creates the triggers. A pattern combines one of four lengths of the servers' prefix, one of four of the clients'
// prefix, and optionally the port and the protocol.
void Workload::make_triggers() {
  for (uint32_t i = 0; i < options_.triggers; ++i) {
    const uint32_t group = i / options_.triggers_per_packet;
    const uint32_t pattern = (i % options_.triggers_per_packet + group) % std::min(options_.patterns, 64u);
    Trigger trigger;
    trigger.id = i;
    static constexpr int kServerBits[] = {27, 26, 25, 24}, kClientBits[] = {0, 8, 12, 16};
    // A shorter prefix must not extend into the next group's servers, so groups are 256 addresses apart.
    trigger.filter.dst = {prefix_of(kServers + group * 256, kServerBits[pattern % 4])};
    if (kClientBits[pattern / 4 % 4] > 0) trigger.filter.src = {prefix_of(kClients, kClientBits[pattern / 4 % 4])};
    if (pattern / 16 % 2 == 1) trigger.filter.dst_ports = {PortRange{kPort, kPort}};
    if (pattern / 32 == 1) trigger.filter.protocol = protocol::kTcp;
    trigger.group = options_.group;
    trigger.every_ns = options_.window_ns;
    trigger.when = condition(i);
    triggers_.push_back(std::move(trigger));
  }
}

void Workload::make_random_triggers() {
  for (uint32_t i = 0; i < options_.triggers; ++i) {
    Trigger trigger;
    trigger.id = i;
    trigger.filter.src = {prefix_of(random(), static_cast<int>(16 + random() % 17))};
    trigger.filter.dst = {prefix_of(random(), static_cast<int>(16 + random() % 17))};
    // Half of the triggers leave one side unrestricted, since packets would rarely match otherwise.
    if (random() % 2 == 0) (random() % 2 == 0 ? trigger.filter.src : trigger.filter.dst).clear();
    const auto port = static_cast<uint16_t>(random() % 64);
    if (random() % 2 == 0) trigger.filter.dst_ports = {PortRange{port, port}};
    trigger.group = options_.group;
    trigger.every_ns = options_.window_ns;
    trigger.when = condition(i);
    triggers_.push_back(std::move(trigger));
  }
}

Workload::Flow Workload::new_flow() {
  if (options_.adversarial) return random_flow();
  const uint32_t groups = std::max(1u, options_.triggers / options_.triggers_per_packet);
  const bool is_covered = static_cast<double>(random() % 1000) < options_.covered * 1000;
  Flow flow;
  flow.src = kClients + random() % (1 << 16);
  flow.dst = (is_covered ? kServers : kUncovered) + random() % groups * 256 + random() % kServersPerGroup;
  flow.src_port = static_cast<uint16_t>(1024 + random() % 60000);
  flow.dst_port = kPort;
  flow.seq = random();
  flow.left = options_.packets_per_flow;
  return flow;
}

// Draws addresses from the prefixes of two triggers, which yields as many combinations of classes as possible.
Workload::Flow Workload::random_flow() {
  const auto random_in = [this](const std::vector<Prefix>& list) {
    if (list.empty()) return random();
    const auto& bytes = list[0].address.mapped();
    const uint32_t address = uint32_t{bytes[12]} << 24 | bytes[13] << 16 | bytes[14] << 8 | bytes[15];
    const int free_bits = 128 - list[0].bits;
    return (address >> free_bits << free_bits) | (free_bits == 0 ? 0 : random() & ((1u << free_bits) - 1));
  };
  Flow flow;
  flow.src = random_in(triggers_[random() % triggers_.size()].filter.src);
  flow.dst = random_in(triggers_[random() % triggers_.size()].filter.dst);
  flow.src_port = static_cast<uint16_t>(random());
  flow.dst_port = static_cast<uint16_t>(random() % 80);
  flow.seq = random();
  flow.left = options_.packets_per_flow;
  return flow;
}

void Workload::make_frames() {
  std::vector<Flow> active(options_.flows);
  for (Flow& flow : active) flow = new_flow();
  for (uint32_t i = 0; i < options_.frames; ++i) {
    uint8_t* frame = memory_.data() + i * stride_;
    if (options_.syn_flood || static_cast<double>(random() % 10000) < options_.syn_share * 10000) {
      write(frame, new_flow(), tcp_flag::kSyn);
      continue;
    }
    Flow& flow = active[random() % active.size()];
    write(frame, flow, tcp_flag::kAck);
    flow.seq += 10;
    if (--flow.left == 0) flow = new_flow();
  }
}

void Workload::write(uint8_t* frame, const Flow& flow, uint8_t flags) const {
  constexpr uint32_t kHeaderBytes = 54;
  const uint32_t payload_bytes = options_.frame_bytes - kHeaderBytes;
  const bool is_syn = (flags & tcp_flag::kSyn) != 0;
  std::memset(frame, 0, stride_);
  store(frame + 12, uint16_t{0x0800});
  uint8_t* ip = frame + 14;
  ip[0] = 0x45;
  store(ip + 2, static_cast<uint16_t>(40 + (is_syn ? 0 : payload_bytes)));
  ip[8] = 64;
  ip[9] = protocol::kTcp;
  store(ip + 12, flow.src);
  store(ip + 16, flow.dst);
  uint8_t* tcp = ip + 20;
  store(tcp, flow.src_port);
  store(tcp + 2, flow.dst_port);
  store(tcp + 4, flow.seq);
  tcp[12] = 5 << 4;
  tcp[13] = flags;
}

}  // namespace tapline::bench
