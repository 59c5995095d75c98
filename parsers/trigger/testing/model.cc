#include "parsers/trigger/testing/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "parsers/testing/frames.h"
#include "parsers/trigger/named_groups.h"
#include "parsers/trigger/program.h"

namespace tapline::trigger::testing {
namespace {

IpAddress masked(const IpAddress& address, int v4_bits, int v6_bits) {
  const int bits = !address.is_v4() ? v6_bits : v4_bits == 0 ? 0 : 96 + v4_bits;
  std::array<uint8_t, 16> bytes = address.mapped();
  for (int byte = 0; byte < 16; ++byte) {
    bytes[static_cast<size_t>(byte)] &= static_cast<uint8_t>(0xff00 >> std::clamp(bits - 8 * byte, 0, 8));
  }
  return IpAddress::v6(bytes.data());
}

ModelKey group_of(const GroupBy& group_by, const Sample& sample) {
  auto source = std::tuple(sample.src_ip, sample.src_port), destination = std::tuple(sample.dst_ip, sample.dst_port);
  if (group_by.both_directions && source > destination) std::swap(source, destination);
  return {masked(std::get<0>(source), group_by.src_v4_bits, group_by.src_v6_bits),
          masked(std::get<0>(destination), group_by.dst_v4_bits, group_by.dst_v6_bits),
          group_by.src_port ? std::get<1>(source) : uint16_t{0},
          group_by.dst_port ? std::get<1>(destination) : uint16_t{0},
          group_by.protocol ? sample.protocol : uint8_t{0},
          group_by.vlan ? sample.vlan : 0,
          group_by.network_id ? sample.network_id : 0};
}

struct Counted {
  double sums[16] = {};
  std::optional<double> max_bytes, max_payload_bytes, max_rtt_ns, min_rtt_ns;
  std::array<std::set<ModelKey>, 5> distinct;         // flows, then values of the fields, by Measure
  std::array<std::vector<double>, 3> values;          // for quantiles, by Measure
  std::vector<std::pair<int64_t, uint32_t>> packets;  // time, bytes
  std::vector<size_t> samples;
};

void raise(std::optional<double>* max, double value) { *max = std::max(max->value_or(value), value); }

void add_to_sketches(const Sample& sample, const TcpFacts& tcp, Counted* counted) {
  if (tcp.rtt_ns > 0) counted->values[2].push_back(tcp.rtt_ns);
  if (sample.packets == 0) return;  // a correction
  GroupBy flow = GroupBy::flow();
  flow.both_directions = false;
  const GroupBy fields[] = {
      flow, GroupBy::source(32, 128), {.src_port = true}, GroupBy::destination(32, 128), {.dst_port = true}};
  for (size_t field = 0; field < std::size(fields); ++field) {
    counted->distinct[field].insert(group_of(fields[field], sample));
  }
  counted->values[0].push_back(sample.bytes);
  counted->values[1].push_back(sample.payload_bytes);
}

void add(const Sample& sample, const TcpFacts& tcp, int64_t time_ns, Counted* counted) {
  add_to_sketches(sample, tcp, counted);
  const auto sum = [counted](Measure measure) -> double& { return counted->sums[word_of(measure)]; };
  const bool syn = (sample.tcp_flags & tcp_flag::kSyn) != 0, ack = (sample.tcp_flags & tcp_flag::kAck) != 0;
  sum(Measure::kPackets) += sample.packets;
  sum(Measure::kBytes) += sample.bytes;
  sum(Measure::kPayloadBytes) += sample.payload_bytes;
  sum(Measure::kSyn) += syn && !ack;
  sum(Measure::kSynAck) += syn && ack;
  sum(Measure::kFin) += (sample.tcp_flags & tcp_flag::kFin) != 0;
  sum(Measure::kRst) += (sample.tcp_flags & tcp_flag::kRst) != 0;
  sum(Measure::kRetransmittedBytes) += tcp.retransmitted_bytes;
  sum(Measure::kRetransmissions) += tcp.retransmitted_bytes > 0;
  sum(Measure::kOutOfOrder) += tcp.out_of_order_bytes > 0;
  sum(Measure::kMissingBytes) += tcp.missing_bytes;
  sum(Measure::kRttSumNs) += tcp.rtt_ns;
  sum(Measure::kRttCount) += tcp.rtt_ns > 0;
  sum(Measure::kInFlightBytes) += tcp.in_flight_bytes;
  sum(Measure::kUnackedBytes) += tcp.unacked_bytes;
  if (sample.bytes > 0) raise(&counted->max_bytes, sample.bytes);
  if (sample.payload_bytes > 0) raise(&counted->max_payload_bytes, sample.payload_bytes);
  if (tcp.rtt_ns > 0) {
    raise(&counted->max_rtt_ns, tcp.rtt_ns);
    counted->min_rtt_ns = std::min(counted->min_rtt_ns.value_or(tcp.rtt_ns), static_cast<double>(tcp.rtt_ns));
  }
  counted->packets.emplace_back(time_ns, sample.bytes);
}

// Returns the exact maximum of bytes in (t - span, t] over the times t of all packets.
double burst_of(const Counted& counted, int64_t span_ns) {
  double max = 0;
  for (const auto& [end, ignored] : counted.packets) {
    double bytes = 0;
    for (const auto& [time, packet_bytes] : counted.packets)
      bytes += time <= end && time > end - span_ns ? packet_bytes : 0;
    max = std::max(max, bytes);
  }
  return max;
}

// Returns the smallest value that this share of all values does not exceed.
std::optional<double> quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1];
}

std::optional<double> value_of_sketch(Measure measure, double share, const Counted& counted) {
  if (is_quantile(measure)) {
    const int first = word_of(Measure::kBytesQuantile);
    return quantile_of(counted.values[static_cast<size_t>(word_of(measure) - first)], share);
  }
  const size_t count = counted.distinct[static_cast<size_t>(word_of(measure) - word_of(Measure::kFlows))].size();
  if (count == 0 && measure != Measure::kFlows) return std::nullopt;
  return static_cast<double>(count);
}

std::optional<double> value_of_measure(Measure measure, double share, const Counted& counted, int64_t burst_ns) {
  if (is_sketch(measure)) return value_of_sketch(measure, share, counted);
  switch (measure) {
    case Measure::kMaxBytes:
      return counted.max_bytes;
    case Measure::kMaxPayloadBytes:
      return counted.max_payload_bytes;
    case Measure::kMaxRttNs:
      return counted.max_rtt_ns;
    case Measure::kMinRttNs:
      return counted.min_rtt_ns;
    case Measure::kBurst:
      return burst_of(counted, burst_ns);
    case Measure::kUnackedBytes:
      return std::max(0.0, counted.sums[word_of(measure)]);
    default:
      return counted.sums[word_of(measure)];
  }
}

std::optional<double> calculated(Op op, std::optional<double> a, std::optional<double> b) {
  if (!a || !b || (op == Op::kDivide && *b == 0)) return std::nullopt;
  return op == Op::kAdd ? *a + *b : op == Op::kSubtract ? *a - *b : op == Op::kMultiply ? *a * *b : *a / *b;
}

bool compared(Op op, std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return false;
  return op == Op::kGreater ? *a > *b : op == Op::kGreaterEqual ? *a >= *b : op == Op::kLess ? *a < *b : *a <= *b;
}

// Returns true if the condition holds, and sets *value to the left side of the first comparison.
bool holds(const Expression& expression, const Counted& counted, int64_t burst_ns, double* value) {
  std::array<std::optional<double>, Condition::kMaxDepth> stack;
  size_t size = 0;
  bool first = true;
  for (const Instruction& instruction : expression) {
    if (instruction.op == Op::kMeasure) {
      stack.at(size++) = value_of_measure(instruction.measure, instruction.constant, counted, burst_ns);
      continue;
    }
    if (instruction.op == Op::kConstant) {
      stack.at(size++) = instruction.constant;
      continue;
    }
    const auto& b = stack.at(--size);
    auto& a = stack.at(size - 1);
    if (instruction.op <= Op::kDivide) {
      a = calculated(instruction.op, a, b);
    } else if (instruction.op == Op::kAnd || instruction.op == Op::kOr) {
      a = instruction.op == Op::kAnd ? *a != 0 && *b != 0 : *a != 0 || *b != 0;
    } else {
      if (first) *value = a.value_or(0);
      first = false;
      a = compared(instruction.op, a, b);
    }
  }
  return *stack[0] != 0;
}

// Returns true if the condition is a single comparison that more packets can't make false. Excludes minima and
// unacknowledged bytes, which may fall, and quantiles.
bool is_rising(const Expression& expression) {
  const Measure measure = expression[0].measure;
  if (measure == Measure::kMinRttNs || measure == Measure::kUnackedBytes || is_quantile(measure)) return false;
  return expression.size() == 3 && (expression[2].op == Op::kGreater || expression[2].op == Op::kGreaterEqual);
}

// Returns true if the trigger's windows are long, and its conditions stay true until the window's end once a packet has
// made them true.
bool fires_early(const Trigger& trigger) {
  const bool overlaps = trigger.window_ns > trigger.every_ns;
  if (overlaps || trigger.every_ns <= Program::kLongWindowNs || !is_rising(trigger.when)) return false;
  if (trigger.when[0].measure == Measure::kBurst || is_sketch(trigger.when[0].measure)) return false;
  if (trigger.clear.empty()) return true;
  return is_rising(trigger.clear) && trigger.clear[0].measure == trigger.when[0].measure;
}

// The alert of a group. Windows of the group come in order; those without packets may be left out.
struct Alert {
  bool is_in_force(const Trigger& trigger, const Counted& counted, int64_t start_ns, bool partial, double* value) {
    const bool follows = last_met_ns == start_ns - trigger.every_ns;
    const bool lasts = in_force && follows;
    condition = lasts && !trigger.clear.empty() ? &trigger.clear : &trigger.when;
    double ignored = 0;
    const bool met = (!partial || is_rising(*condition)) && holds(*condition, counted, trigger.burst_ns, &ignored);
    holds(trigger.when, counted, trigger.burst_ns, value);
    in_a_row = !met ? 0 : follows ? in_a_row + 1 : 1;
    if (met) last_met_ns = start_ns;
    const bool cooling = began_ns && start_ns - *began_ns < trigger.cooldown_ns;
    const bool begins = met && !lasts && in_a_row >= trigger.after && !cooling;
    if (begins) began_ns = start_ns;
    in_force = met && (lasts || begins);
    return in_force;
  }

  const Expression* condition = nullptr;  // condition of the last window
  int64_t last_met_ns = -1;
  std::optional<int64_t> began_ns;
  uint32_t in_a_row = 0;
  bool in_force = false;
};

// Returns the values that met the condition, with their times.
std::vector<std::pair<int64_t, double>> risen(const Trigger& trigger, const Expression& condition, const Counted& all,
                                              std::span<const Sample> samples, std::span<const TcpFacts> tcp) {
  std::vector<std::pair<int64_t, double>> values;
  Counted counted;
  for (size_t i = 0; i < all.samples.size(); ++i) {
    const size_t sample = all.samples[i];
    const int64_t time_ns = all.packets[i].first;
    add(samples[sample], tcp.empty() ? TcpFacts{} : tcp[sample], time_ns, &counted);
    double value = 0;
    if (holds(condition, counted, trigger.burst_ns, &value)) values.emplace_back(time_ns, value);
  }
  return values;
}

// A group's windows with packets, by their start.
using Windows = std::map<int64_t, Counted>;

int64_t window_of(const Trigger& trigger) { return trigger.window_ns == 0 ? trigger.every_ns : trigger.window_ns; }

// Returns the start of the first window that ends after a time.
int64_t first_after(const Trigger& trigger, int64_t time_ns) {
  return (time_ns / trigger.every_ns + 1) * trigger.every_ns - window_of(trigger);
}

std::map<ModelKey, Windows> count(const Trigger& trigger, std::span<const Sample> samples,
                                  std::span<const TcpFacts> tcp) {
  std::map<ModelKey, Windows> groups;
  int64_t now_ns = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    now_ns = std::max(now_ns, samples[i].time_ns);
    // A sample without an address family only begins the first window.
    if (samples[i].ip_version == 0 || !trigger.filter.matches(samples[i])) continue;
    Windows& windows = groups[group_of(trigger.group, samples[i])];
    for (int64_t start = first_after(trigger, now_ns); start <= now_ns; start += trigger.every_ns) {
      Counted& counted = windows[start];
      add(samples[i], tcp.empty() ? TcpFacts{} : tcp[i], now_ns, &counted);
      counted.samples.push_back(i);
    }
  }
  return groups;
}

// Calls test(start, counted) for the windows of a group in which its conditions may be true, in order. A window without
// packets of the group is visited with counts of 0 if the group is named (or the trigger has no groups), or had packets
// in one of the last 1,000 windows.
template <typename Test>
void visit_windows(const Trigger& trigger, const Windows& windows, bool is_named, int64_t first_ns, int64_t until_ns,
                   Test test) {
  static const Counted kNothing;
  double ignored = 0;
  const bool may_be_silent = holds(trigger.when, kNothing, trigger.burst_ns, &ignored) ||
                             (!trigger.clear.empty() && holds(trigger.clear, kNothing, trigger.burst_ns, &ignored));
  int64_t next_ns = first_ns;
  int64_t silent_until_ns = is_named ? INT64_MAX : INT64_MIN;
  const auto visit_silence = [&](int64_t end_ns) {
    if (!may_be_silent) return;
    for (; next_ns < std::min(end_ns, silent_until_ns); next_ns += trigger.every_ns) test(next_ns, kNothing);
  };
  const int64_t last_ns = until_ns - window_of(trigger);
  for (const auto& [start_ns, counted] : windows) {
    if (start_ns > last_ns) break;
    visit_silence(start_ns);
    test(start_ns, counted);
    next_ns = start_ns + trigger.every_ns;
    if (!is_named) silent_until_ns = start_ns + 1001 * trigger.every_ns;
  }
  visit_silence(last_ns + 1);
}

}  // namespace

void expect_value(const Event& event, const Expected& expected) {
  EXPECT_EQ(event.verdict, Verdict::kTrue);
  EXPECT_EQ(event.value.low, event.value.high);
  if (event.ready_ns == event.window_end_ns) {
    EXPECT_EQ(event.value.low, expected.value);
    return;
  }
  ASSERT_FALSE(expected.risen.empty()) << "fired before its window's end";
  EXPECT_LT(event.ready_ns, event.window_end_ns);
  EXPECT_GE(event.ready_ns, expected.risen[0].first) << "before the packet that made it true";
  EXPECT_GE(event.value.low, expected.threshold);
  double latest = 0;
  for (const auto& [time_ns, value] : expected.risen) latest = time_ns <= event.ready_ns ? value : latest;
  EXPECT_LE(event.value.low, latest) << "counts packets that came later";
}

void expect_exemplars(const Event& event, const Expected& expected, std::span<const Sample> samples) {
  GroupBy one_direction = GroupBy::flow();
  one_direction.both_directions = false;
  const GroupBy group_by =
      event.group.protocol() != 0 ? GroupBy::flow() : one_direction;  // a group by flow has a protocol
  std::set<ModelKey> flows;
  for (const size_t sample : expected.samples) flows.insert(group_of(group_by, samples[sample]));
  const auto exemplars = event.exemplars.flows();
  EXPECT_EQ(exemplars.empty(), flows.empty());
  for (const GroupKey& exemplar : exemplars) EXPECT_TRUE(flows.contains(key_of(exemplar)));
}

ModelKey key_of(const GroupKey& key) {
  return {key.src_ip(), key.dst_ip(), key.src_port(), key.dst_port(), key.protocol(), key.vlan(), key.network_id()};
}

std::map<Occasion, Expected> expected_events(std::span<const Trigger> triggers, std::span<const Sample> samples,
                                             std::span<const TcpFacts> tcp, int64_t until_ns) {
  std::map<Occasion, Expected> events;
  for (const Trigger& trigger : triggers) {
    std::map<ModelKey, Windows> groups = count(trigger, samples, tcp);
    std::set<ModelKey> named;
    if (trigger.group == GroupBy{}) named.insert(ModelKey{});
    for (const GroupKey& key : named_groups(trigger.group, trigger.filter)) named.insert(key_of(key));
    for (const ModelKey& key : named) groups[key];
    const int64_t first_ns = first_after(trigger, samples[0].time_ns);
    for (const auto& [key, windows] : groups) {
      Alert alert;
      visit_windows(trigger, windows, named.contains(key), first_ns, until_ns,
                    [&](int64_t start_ns, const Counted& counted) {
                      double value = 0;
                      const bool partial = samples[0].time_ns > start_ns;
                      if (!alert.is_in_force(trigger, counted, start_ns, partial, &value)) return;
                      Expected& expected = events[{trigger.id, start_ns, key}];
                      expected.value = value;
                      expected.samples = counted.samples;
                      if (!fires_early(trigger)) return;
                      expected.threshold = (*alert.condition)[1].constant;
                      expected.risen = risen(trigger, *alert.condition, counted, samples, tcp);
                    });
    }
  }
  return events;
}

std::string to_string(const Occasion& occasion) {
  const auto& [trigger, start, key] = occasion;
  const auto& [src, dst, src_port, dst_port, protocol, vlan, network_id] = key;
  return "trigger " + std::to_string(trigger) + " window " + std::to_string(start) + " group " +
         tapline::testing::to_string(src) + ":" + std::to_string(src_port) + " " + tapline::testing::to_string(dst) +
         ":" + std::to_string(dst_port) + " " + std::to_string(protocol) + " " + std::to_string(vlan) + " " +
         std::to_string(network_id);
}

}  // namespace tapline::trigger::testing
