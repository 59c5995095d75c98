#include "parsers/trigger/testing/random_traffic.h"

#include <string>

#include "parsers/testing/frames.h"

namespace tapline::trigger::testing {
namespace {

constexpr int64_t kMs = 1'000'000;

}  // namespace

RandomTraffic::RandomTraffic(uint32_t seed, const RandomOptions& options)
    : random_(seed), options_(options), first_group_(below(4)) {
  static constexpr int64_t kEvery[] = {kMs, 2 * kMs, 10 * kMs, 20 * kMs};
  for (int64_t& every_ns : every_ns_) every_ns = kEvery[below(options.bursts ? 3 : 4)];
  for (int64_t& panes : panes_) panes = 2 + below(6);
  // The number of combinations in a program is bounded.
  if (options.sketches && options.panes) every_ns_[1] = every_ns_[0], panes_[1] = panes_[0];
}

IpAddress RandomTraffic::address() {
  static const char* const kAddresses[] = {"10.0.0.1",    "10.0.0.2",    "10.0.1.1",        "10.1.0.1",
                                           "10.128.0.1",  "192.168.0.1", "255.255.255.255", "0.0.0.0",
                                           "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "ffff:ffff::1"};
  return tapline::testing::address(kAddresses[below(std::size(kAddresses))]);
}

Prefix RandomTraffic::prefix() {
  Prefix result;
  result.address = address();
  static constexpr uint8_t kV4[] = {96, 97, 104, 105, 112, 116, 120, 127, 128},
                           kV6[] = {1, 16, 32, 48, 64, 65, 127, 128};
  result.bits = result.address.is_v4() ? kV4[below(std::size(kV4))] : kV6[below(std::size(kV6))];
  return result;
}

Filter RandomTraffic::filter() {
  Filter result;
  while (one_in(3)) result.src.push_back(prefix());
  while (one_in(3)) result.dst.push_back(prefix());
  const auto ports = [this](std::vector<PortRange>* list) {
    while (one_in(5)) {
      const auto first = static_cast<uint16_t>(below(6));
      list->push_back({first, static_cast<uint16_t>(one_in(3) ? UINT16_MAX : first + below(3))});
    }
  };
  ports(&result.src_ports);
  ports(&result.dst_ports);
  if (one_in(6)) result.protocol = one_in(2) ? protocol::kTcp : protocol::kUdp;
  if (one_in(6)) {
    result.tcp_flags_mask = static_cast<uint8_t>(1 + below(31));
    result.tcp_flags = static_cast<uint8_t>(below(32));
  }
  while (one_in(8)) result.vlans.push_back(below(3));
  while (one_in(8)) result.network_ids.push_back(below(3));
  return result;
}

GroupBy RandomTraffic::group() {
  switch ((first_group_ + below(2)) % 4) {
    case 0:
      return GroupBy::source(24, 64);
    case 1:
      return GroupBy::destination(32, 128);
    case 2:
      return GroupBy::flow();
    default:
      return {.dst_v4_bits = 8, .dst_port = true, .vlan = true};
  }
}

Measure RandomTraffic::measure() {
  if (options_.bursts) return Measure::kBurst;
  static constexpr Measure kMeasures[] = {Measure::kPackets,
                                          Measure::kBytes,
                                          Measure::kPayloadBytes,
                                          Measure::kSyn,
                                          Measure::kSynAck,
                                          Measure::kFin,
                                          Measure::kRst,
                                          Measure::kRetransmittedBytes,
                                          Measure::kOutOfOrder,
                                          Measure::kRetransmissions,
                                          Measure::kMissingBytes,
                                          Measure::kRttSumNs,
                                          Measure::kRttCount,
                                          Measure::kMaxBytes,
                                          Measure::kMaxPayloadBytes,
                                          Measure::kMaxRttNs,
                                          Measure::kMinRttNs};
  return kMeasures[one_in(2) ? below(3) : below(std::size(kMeasures))];
}

Expression RandomTraffic::value() {
  if (!options_.sketches || one_in(2)) return value_of(measure());
  const auto sketch = static_cast<Measure>(word_of(Measure::kFlows) + static_cast<int>(below(8)));
  static constexpr double kShares[] = {0.01, 0.5, 0.9, 0.999};
  return is_quantile(sketch) ? quantile_of(sketch, kShares[below(4)]) : value_of(sketch);
}

Expression RandomTraffic::comparison(bool may_hold_when_empty) {
  Expression compared = value();
  const Measure left = compared[0].measure;
  const bool large = left == Measure::kBytes || left == Measure::kPayloadBytes || left == Measure::kBurst ||
                     left == Measure::kBytesQuantile || left == Measure::kPayloadBytesQuantile;
  if (!options_.bursts && one_in(5)) compared = apply(static_cast<Op>(2 + below(4)), compared, value());
  const Expression bound = number(1 + below(large ? (is_sketch(left) ? 1500 : 6000) : 6));
  if (!options_.bursts && one_in(4)) {
    Expression less = apply(Op::kLess, compared, bound);
    return may_hold_when_empty ? less : apply(Op::kAnd, less, above(value_of(Measure::kPackets), number(0)));
  }
  return apply(one_in(2) ? Op::kGreater : Op::kGreaterEqual, compared, bound);
}

Expression RandomTraffic::condition(bool may_hold_when_empty) {
  Expression result = comparison(may_hold_when_empty);
  if (!options_.bursts && one_in(4))
    result = apply(one_in(2) ? Op::kAnd : Op::kOr, result, comparison(may_hold_when_empty));
  return result;
}

std::vector<Trigger> RandomTraffic::triggers() {
  std::vector<Trigger> result;
  for (size_t i = 0; i < options_.triggers; ++i) {
    Trigger trigger;
    trigger.id = 1000 + i;
    trigger.filter = filter();
    trigger.group = i % 2 == 0 ? GroupBy{} : group();
    const uint32_t window = below(2);
    trigger.every_ns = every_ns_[window];
    if (options_.panes && one_in(2)) trigger.window_ns = trigger.every_ns * panes_[window];
    trigger.burst_ns = options_.bursts ? 400'000 : 0;
    trigger.when = condition(trigger.group == GroupBy{} || options_.silence);
    if (options_.alerts) {
      if (one_in(2)) trigger.clear = condition(trigger.group == GroupBy{} || options_.silence);
      if (one_in(2)) trigger.after = 1 + below(4);
      if (one_in(3)) trigger.cooldown_ns = below(8) * kMs;
    }
    result.push_back(std::move(trigger));
  }
  return result;
}

std::vector<Sample> RandomTraffic::samples() {
  std::vector<Sample> result;
  int64_t time_ns = 1'700'000'000'000'000'000 + below(2) * kMs / 2;
  const auto step = static_cast<uint32_t>(2 * options_.duration_ns / static_cast<int64_t>(options_.samples));
  for (size_t i = 0; i < options_.samples; ++i) {
    Sample sample;
    time_ns += below(step);
    sample.time_ns = one_in(20) ? time_ns - below(step * 4) : time_ns;
    if (i == 0) sample.time_ns = time_ns;
    do {
      sample.src_ip = address();
      sample.dst_ip = address();
    } while (sample.src_ip.is_v4() != sample.dst_ip.is_v4());
    sample.ip_version = sample.src_ip.is_v4() ? 4 : 6;
    sample.protocol = one_in(4) ? protocol::kUdp : protocol::kTcp;
    sample.src_port = static_cast<uint16_t>(below(8));
    sample.dst_port = static_cast<uint16_t>(below(8));
    if (sample.protocol == protocol::kTcp) sample.tcp_flags = static_cast<uint8_t>(below(32));
    sample.vlan = one_in(3) ? below(3) : 0;
    sample.network_id = one_in(3) ? below(3) : 0;
    sample.bytes = 60 + below(1400);
    sample.payload_bytes = one_in(3) ? 0 : sample.bytes - 54;
    result.push_back(sample);
  }
  return result;
}

std::vector<TcpFacts> RandomTraffic::facts(const std::vector<Sample>& samples) {
  std::vector<TcpFacts> result(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].protocol != protocol::kTcp) continue;
    if (one_in(4)) result[i].retransmitted_bytes = below(1000);
    if (one_in(8)) result[i].out_of_order_bytes = below(1000);
    if (one_in(8)) result[i].missing_bytes = below(1000);
    if (one_in(4)) result[i].rtt_ns = 1 + below(8);
  }
  return result;
}

}  // namespace tapline::trigger::testing
