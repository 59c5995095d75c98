#include "monitors/plan/trigger_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/api/time.h"
#include "parsers/trigger/filter_reader.h"
#include "parsers/trigger/program.h"

namespace tapline {
namespace {

using trigger::Filter;
using trigger::GroupBy;
using trigger::Measure;

constexpr std::string_view kParser = "trigger";
constexpr uint8_t kV4Bits = 32, kV6Bits = 128;

Status read_group(const v1::PacketTrigger& given, GroupBy* group) {
  for (const std::string& field : given.group()) {
    if (field == "src_ip") {
      group->src_v4_bits = kV4Bits, group->src_v6_bits = kV6Bits;
    } else if (field == "dst_ip") {
      group->dst_v4_bits = kV4Bits, group->dst_v6_bits = kV6Bits;
    } else if (field == "src_port") {
      group->src_port = true;
    } else if (field == "dst_port") {
      group->dst_port = true;
    } else {
      return Status::invalid("packets have no groups by '" + field + "'");
    }
  }
  return {};
}

// Shortens the addresses of a group. REQUIRES: read_group() has set it.
Status read_networks(const v1::PacketTrigger& given, GroupBy* group) {
  for (const v1::NetworkLength& network : given.networks()) {
    const bool source = network.field() == "src_ip";
    if (!source && network.field() != "dst_ip") {
      return Status::invalid("'" + network.field() + "' is no address, and has no networks");
    }
    uint8_t* v4_bits = source ? &group->src_v4_bits : &group->dst_v4_bits;
    uint8_t* v6_bits = source ? &group->src_v6_bits : &group->dst_v6_bits;
    if (*v4_bits != kV4Bits || *v6_bits != kV6Bits) {
      return Status::invalid("networks of '" + network.field() + "' are given twice, or it is not in the group");
    }
    if (network.ipv4() < 1 || network.ipv4() > kV4Bits || network.ipv6() < 1 || network.ipv6() > kV6Bits) {
      return Status::invalid("a network of '" + network.field() + "' has 1 to 32 bits of IPv4 and 1 to 128 of IPv6");
    }
    *v4_bits = static_cast<uint8_t>(network.ipv4());
    *v6_bits = static_cast<uint8_t>(network.ipv6());
  }
  return {};
}

Status read_filter(const v1::PacketTrigger& given, Filter* filter) {
  std::string error;
  auto read = trigger::read_filter(given.filter(), &error);
  if (!read) return Status::invalid(error);
  *filter = *std::move(read);
  if (given.parser() == "tcp_pkt_size") {
    filter->protocol = protocol::kTcp;
  } else if (given.parser() == "udp_flow") {
    filter->protocol = protocol::kUdp;
  } else {
    return Status::invalid("the packets of '" + given.parser() + "' can't be counted");
  }
  return {};
}

Status read_when(const v1::PacketTrigger& given, trigger::Expression* when) {
  if (!v1::PacketTrigger::Measure_IsValid(given.measure())) return Status::invalid("its measure is not known");
  const Measure measure = given.measure() == v1::PacketTrigger::PACKETS ? Measure::kPackets : Measure::kBytes;
  const auto comparison = given.condition().comparison();
  if (comparison != v1::Condition::ABOVE && comparison != v1::Condition::AT_LEAST) {
    return Status::invalid("its condition must be > or >=: groups without packets can't be listed");
  }
  const double threshold = given.condition().threshold();
  if (!(threshold >= 0) || (threshold == 0 && comparison == v1::Condition::AT_LEAST)) {
    return Status::invalid("its condition is true without packets");
  }
  const trigger::Op op = comparison == v1::Condition::ABOVE ? trigger::Op::kGreater : trigger::Op::kGreaterEqual;
  *when = trigger::apply(op, trigger::value_of(measure), trigger::number(threshold));
  return {};
}

Status read_every(const v1::PacketTrigger& given, int64_t* every_ns) {
  *every_ns = given.every().seconds() * kNsPerSecond + given.every().nanos();
  if (*every_ns <= 0 || *every_ns % kNsPerMs != 0) return Status::invalid("its windows must be whole milliseconds");
  return {};
}

Status read(const v1::PacketTrigger& given, trigger::Trigger* read) {
  read->id = given.processor();
  if (Status status = read_group(given, &read->group); !status.ok()) return status;
  if (Status status = read_networks(given, &read->group); !status.ok()) return status;
  if (Status status = read_filter(given, &read->filter); !status.ok()) return status;
  if (Status status = read_when(given, &read->when); !status.ok()) return status;
  return read_every(given, &read->every_ns);
}

}  // namespace

Status read_triggers(const v1::Plan& plan, QuerySpec* spec) {
  if (plan.triggers().empty()) return {};
  if (std::find(spec->parsers.begin(), spec->parsers.end(), kParser) == spec->parsers.end()) {
    return Status::invalid("it has triggers, and its parsers do not include 'trigger'");
  }
  if (plan.monitors_size() > 1) {
    return Status::invalid("its triggers count the packets of one monitor, and it has several");
  }
  if (spec->sampling_rate < 1 || spec->rate_may_fall) {
    return Status::invalid("its triggers count every packet, and it is sampled");
  }
  std::vector<trigger::Trigger> triggers;
  for (const v1::PacketTrigger& given : plan.triggers()) {
    if (Status status = read(given, &triggers.emplace_back()); !status.ok()) {
      return Status::invalid("trigger " + std::to_string(given.processor()) + ": " + status.sentence());
    }
  }
  std::string error;
  spec->triggers = trigger::Program::make(std::move(triggers), &error);
  return spec->triggers == nullptr ? Status::invalid(error) : Status();
}

Status check_triggers(const QuerySpec& spec, const ThreadLayout& layout) {
  if (spec.triggers == nullptr) return {};
  const bool shared = std::any_of(layout.workers.begin(), layout.workers.end(), [](const WorkerLayout& group) {
    return group.threads > 1 && std::find(group.parsers.begin(), group.parsers.end(), kParser) != group.parsers.end();
  });
  if (layout.lanes == 1 && !shared) return {};
  return Status::invalid("query '" + spec.name +
                         "' has triggers that count all packets in one thread; run its monitor with one lane, or one "
                         "worker for the parser 'trigger'");
}

}  // namespace tapline
