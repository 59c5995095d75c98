#include "monitors/plan/trigger_reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "monitors/plan/duration.h"
#include "parsers/api/packet.h"
#include "parsers/api/time.h"
#include "parsers/trigger/filter_reader.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/shared_triggers.h"

namespace tapline {
namespace {

using trigger::Filter;
using trigger::GroupBy;
using trigger::Measure;

constexpr std::string_view kParser = "trigger";
constexpr uint8_t kV4Bits = 32, kV6Bits = 128;

Status read_group(const v1::PacketTrigger& message, GroupBy* group) {
  for (const std::string& field : message.group()) {
    if (field == "src_ip") {
      group->src_v4_bits = kV4Bits, group->src_v6_bits = kV6Bits;
    } else if (field == "dst_ip") {
      group->dst_v4_bits = kV4Bits, group->dst_v6_bits = kV6Bits;
    } else if (field == "src_port") {
      group->src_port = true;
    } else if (field == "dst_port") {
      group->dst_port = true;
    } else {
      return Status::invalid("packets can't be grouped by '" + field + "'");
    }
  }
  return {};
}

// Sets the prefix lengths to which a group's addresses are shortened. REQUIRES: read_group() has set the group.
Status read_networks(const v1::PacketTrigger& message, GroupBy* group) {
  for (const v1::PrefixLength& network : message.networks()) {
    const bool source = network.field() == "src_ip";
    if (!source && network.field() != "dst_ip") {
      return Status::invalid("'" + network.field() + "' is not an address field, so it can't be grouped by network");
    }
    uint8_t* v4_bits = source ? &group->src_v4_bits : &group->dst_v4_bits;
    uint8_t* v6_bits = source ? &group->src_v6_bits : &group->dst_v6_bits;
    if (*v4_bits != kV4Bits || *v6_bits != kV6Bits) {
      return Status::invalid("networks for '" + network.field() + "' are given twice, or '" + network.field() +
                             "' is not in the group");
    }
    if (network.ipv4() < 1 || network.ipv4() > kV4Bits || network.ipv6() < 1 || network.ipv6() > kV6Bits) {
      return Status::invalid("the prefix lengths for '" + network.field() +
                             "' must be 1 to 32 for IPv4 and 1 to 128 for IPv6");
    }
    *v4_bits = static_cast<uint8_t>(network.ipv4());
    *v6_bits = static_cast<uint8_t>(network.ipv6());
  }
  return {};
}

Status read_filter(const v1::PacketTrigger& message, Filter* filter) {
  std::string error;
  auto read = trigger::read_filter(message.filter(), &error);
  if (!read) return Status::invalid(error);
  *filter = *std::move(read);
  if (message.parser() == "tcp_pkt_size") {
    filter->protocol = protocol::kTcp;
  } else if (message.parser() == "udp_flow") {
    filter->protocol = protocol::kUdp;
  } else if (message.parser() != "packets") {
    return Status::invalid("the packets of '" + message.parser() + "' can't be counted");
  }
  return {};
}

// Indexed by v1::ConditionStep::Measure.
constexpr Measure kMeasures[] = {Measure::kPackets,
                                 Measure::kBytes,
                                 Measure::kPayloadBytes,
                                 Measure::kSyn,
                                 Measure::kSynAck,
                                 Measure::kFin,
                                 Measure::kRst,
                                 Measure::kRetransmittedBytes,
                                 Measure::kRetransmissions,
                                 Measure::kOutOfOrder,
                                 Measure::kMissingBytes,
                                 Measure::kRttSumNs,
                                 Measure::kRttCount,
                                 Measure::kInFlightBytes,
                                 Measure::kUnackedBytes,
                                 Measure::kMaxBytes,
                                 Measure::kMaxPayloadBytes,
                                 Measure::kMaxRttNs,
                                 Measure::kMinRttNs,
                                 Measure::kBurst,
                                 Measure::kFlows,
                                 Measure::kDistinctSrcIps,
                                 Measure::kDistinctSrcPorts,
                                 Measure::kDistinctDstIps,
                                 Measure::kDistinctDstPorts};
// Indexed by v1::ConditionStep::Operator.
constexpr trigger::Op kOperators[] = {trigger::Op::kAdd,    trigger::Op::kSubtract,  trigger::Op::kMultiply,
                                      trigger::Op::kDivide, trigger::Op::kGreater,   trigger::Op::kGreaterEqual,
                                      trigger::Op::kLess,   trigger::Op::kLessEqual, trigger::Op::kAnd,
                                      trigger::Op::kOr};

Status read_quantile(const v1::PacketQuantile& message, trigger::Instruction* read) {
  read->op = trigger::Op::kMeasure;
  read->constant = message.share();
  switch (message.measure()) {
    case v1::ConditionStep::BYTES:
      read->measure = Measure::kBytesQuantile;
      return {};
    case v1::ConditionStep::PAYLOAD_BYTES:
      read->measure = Measure::kPayloadBytesQuantile;
      return {};
    case v1::ConditionStep::RTT_NS:
      read->measure = Measure::kRttQuantile;
      return {};
    default:
      return Status::invalid(
          "its condition uses a quantile of a measure that has none: use bytes, payload_bytes or rtt");
  }
}

Status read_when(const v1::PacketTrigger& message, trigger::Trigger* read) {
  if (message.when().empty()) return Status::invalid("it has no condition");
  if (Status status = read_steps(message.when(), 0, &read->when); !status.ok()) return status;
  return read_steps(message.clear(), 0, &read->clear);
}

Status read_every(const v1::PacketTrigger& message, int64_t* every_ns) {
  *every_ns = ns_of(message.every());
  if (*every_ns <= 0 || *every_ns % kNsPerMs != 0) return Status::invalid("its windows must be whole milliseconds");
  return {};
}

Status read(const v1::PacketTrigger& message, trigger::Trigger* read) {
  read->id = message.processor();
  if (Status status = read_group(message, &read->group); !status.ok()) return status;
  if (Status status = read_networks(message, &read->group); !status.ok()) return status;
  if (Status status = read_filter(message, &read->filter); !status.ok()) return status;
  if (Status status = read_when(message, read); !status.ok()) return status;
  read->after = std::max(message.after(), 1u);
  read->cooldown_ns = ns_of(message.cooldown());
  read->burst_ns = ns_of(message.burst());
  read->window_ns = ns_of(message.window());
  read->partial = message.partial();
  return read_every(message, &read->every_ns);
}

}  // namespace

Status read_steps(const google::protobuf::RepeatedPtrField<v1::ConditionStep>& steps, uint32_t operands,
                  trigger::Expression* expression) {
  for (const v1::ConditionStep& step : steps) {
    trigger::Instruction& read = expression->emplace_back();
    if (step.has_operand()) {
      if (step.operand() >= operands) return Status::invalid("its condition names an unknown value");
      read.op = trigger::Op::kOperand;
      read.operand = step.operand();
    } else if (operands > 0 && (step.has_measure() || step.has_quantile())) {
      return Status::invalid("a condition on tuples names a measure of packets");
    } else if (step.has_measure()) {
      if (!v1::ConditionStep::Measure_IsValid(step.measure()))
        return Status::invalid("unknown measure " + std::to_string(step.measure()));
      read = {trigger::Op::kMeasure, kMeasures[step.measure()], 0};
    } else if (step.has_quantile()) {
      if (Status status = read_quantile(step.quantile(), &read); !status.ok()) return status;
    } else if (step.has_constant()) {
      if (!std::isfinite(step.constant())) return Status::invalid("a constant is not a finite number");
      read = {trigger::Op::kConstant, Measure::kPackets, step.constant()};
    } else if (step.has_operator_()) {
      if (!v1::ConditionStep::Operator_IsValid(step.operator_()))
        return Status::invalid("unknown operator " + std::to_string(step.operator_()));
      read.op = kOperators[step.operator_()];
    } else {
      return Status::invalid("its condition has an empty step");
    }
  }
  return {};
}

Status read_trigger(const v1::PacketTrigger& message, trigger::Trigger* trigger) {
  const Status status = read(message, trigger);
  if (status.ok()) return status;
  return Status::invalid("trigger " + std::to_string(message.processor()) + ": " + status.sentence());
}

Status read_triggers(const v1::Plan& plan, QuerySpec* spec) {
  if (plan.triggers().empty()) return {};
  if (std::find(spec->parsers.begin(), spec->parsers.end(), kParser) == spec->parsers.end()) {
    return Status::invalid("it has triggers, but its parsers do not include 'trigger'");
  }
  if (spec->sampling_rate < 1 || spec->rate_may_fall) {
    return Status::invalid("its triggers need every packet, but packets are sampled");
  }
  std::vector<trigger::Trigger> triggers;
  for (const v1::PacketTrigger& message : plan.triggers()) {
    if (Status status = read_trigger(message, &triggers.emplace_back()); !status.ok()) return status;
  }
  if (plan.trigger_groups() > trigger::Program::kMaxGroups) {
    return Status::invalid("its triggers count more than " + std::to_string(trigger::Program::kMaxGroups) +
                           " groups of a window separately");
  }
  const uint32_t max_groups = plan.trigger_groups() == 0 ? trigger::Program::kMaxGroups : plan.trigger_groups();
  std::string error;
  spec->triggers = trigger::Program::make(std::move(triggers), &error, max_groups);
  if (spec->triggers == nullptr) return Status::invalid(error);
  if (plan.monitors_size() > 1 && !spec->triggers->partial()) {
    return Status::invalid("its triggers count the packets of one monitor, but it has several");
  }
  return {};
}

Status check_triggers(const QuerySpec& spec, const ThreadLayout& layout) {
  if (spec.triggers == nullptr) return {};
  const bool shared = std::any_of(layout.workers.begin(), layout.workers.end(), [](const WorkerLayout& group) {
    return group.threads > 1 && std::find(group.parsers.begin(), group.parsers.end(), kParser) != group.parsers.end();
  });
  if (!shared) return {};
  return Status::invalid("query '" + spec.name +
                         "' has triggers, whose packets several workers would share; run its monitor with --lanes, or "
                         "with one worker for the parser 'trigger'");
}

void share_triggers(uint32_t lanes, QuerySpec* spec) {
  spec->shared_triggers = nullptr;
  // Lanes emit partial values like monitors, each its own.
  if (spec->triggers == nullptr || spec->triggers->partial()) return;
  spec->shared_triggers = std::make_shared<trigger::SharedTriggers>(spec->triggers, lanes);
}

}  // namespace tapline
