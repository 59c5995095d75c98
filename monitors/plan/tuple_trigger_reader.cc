#include "monitors/plan/tuple_trigger_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "monitors/plan/duration.h"
#include "monitors/plan/trigger_reader.h"
#include "monitors/plan/tuple_trigger.h"
#include "parsers/api/time.h"
#include "parsers/registry.h"

namespace tapline {
namespace {

using Aggregate = TupleTrigger::Aggregate;

constexpr std::string_view kEvents = "trigger";  // the parser whose tuples are the triggers' events
constexpr std::string_view kAggregates[] = {"COUNT", "SUM",  "MAX",      "MIN",
                                            "AVG",   "RATE", "DISTINCT", "PERCENTILE"};  // names of Aggregate's values

bool has_parser(const QuerySpec& spec, std::string_view parser) {
  return std::find(spec.parsers.begin(), spec.parsers.end(), parser) != spec.parsers.end();
}

// Returns the index of a field in common_fields() followed by the schema's own fields.
std::optional<uint32_t> field_index(std::string_view name, const Schema& schema) {
  uint32_t index = 0;
  for (const auto& fields : {common_fields(), std::span<const Field>(schema.fields)}) {
    for (const Field& field : fields) {
      if (field.name == name) return index;
      ++index;
    }
  }
  return std::nullopt;
}

Status read_group(const v1::Processor& message, const Schema& schema, TupleTrigger* read) {
  for (const std::string& name : message.key()) {
    const auto index = field_index(name, schema);
    if (!index) return Status::invalid("'" + schema.name + "' has no field '" + name + "' to group by");
    read->group.push_back(*index);
  }
  return {};
}

Status read_condition(const v1::ConditionTree& tree, const Schema& schema, std::optional<TupleCondition>* read) {
  if (tree.nodes().empty()) return {};
  auto condition = TupleCondition::make(tree, schema);
  if (!condition.ok()) return condition.status();
  read->emplace(std::move(*condition));
  return {};
}

Status read_value(const v1::Value& message, const Schema& schema, TupleTrigger* read) {
  if (Status status = read_condition(message.only(), schema, &read->only); !status.ok()) return status;
  if (message.has_count()) return {};
  if (message.has_condition()) return read_condition(message.condition(), schema, &read->condition);
  const auto index = field_index(message.field(), schema);
  if (read->aggregate == Aggregate::kDistinct && index) {
    read->distinct_field = index;
    return {};
  }
  if (!index || *index < common_fields().size()) {
    return Status::invalid("'" + schema.name + "' has no field '" + message.field() + "' to aggregate");
  }
  read->field = *index - static_cast<uint32_t>(common_fields().size());
  const FieldType type = schema.fields[*read->field].type;
  if (type == FieldType::kString || type == FieldType::kAddress) {
    return Status::invalid("'" + message.field() + "' is not a number");
  }
  return {};
}

Status read_aggregate(const v1::Operand& message, TupleTrigger* read) {
  const std::string& name = message.aggregate();
  const auto* it = std::find(std::begin(kAggregates), std::end(kAggregates), name.empty() ? "COUNT" : name);
  if (it == std::end(kAggregates)) return Status::invalid("the monitor can't aggregate by '" + name + "'");
  read->aggregate = static_cast<Aggregate>(it - std::begin(kAggregates));
  read->share = message.share();
  if (read->aggregate == Aggregate::kPercentile && !(read->share > 0 && read->share <= 1)) {
    return Status::invalid("the share of a percentile must be above 0 and at most 1");
  }
  return {};
}

Status check_aggregate(const v1::Operand& message, const TupleTrigger& read) {
  const bool counts = read.aggregate == Aggregate::kCount || read.aggregate == Aggregate::kRate;
  const bool has_value = read.aggregate == Aggregate::kDistinct ? read.distinct_field.has_value()
                                                                : read.field.has_value() || read.condition.has_value();
  if (counts || has_value) return {};
  return Status::invalid("the aggregate " + message.aggregate() + " needs a field or a condition");
}

Status read_window(const v1::Window& message, TupleTrigger* read) {
  read->every_ns = ns_of(message.slide());
  const int64_t size_ns = ns_of(message.size());
  if (read->every_ns < kNsPerMs || size_ns % read->every_ns != 0 || size_ns < read->every_ns ||
      size_ns / read->every_ns > TupleTrigger::kMaxPanes) {
    return Status::invalid(
        "its windows must be 1 to 100 times as long as the time between them, which is at least 1 ms");
  }
  read->panes = static_cast<uint32_t>(size_ns / read->every_ns);
  return {};
}

// Returns true if more tuples can only raise the aggregate, as is true of counts, maxima and sums of unsigned values.
bool grows(const TupleTrigger& trigger, const Schema& schema) {
  switch (trigger.aggregate) {
    case Aggregate::kCount:
    case Aggregate::kMax:
    case Aggregate::kDistinct:
      return true;
    case Aggregate::kSum:
    case Aggregate::kRate:
      return !trigger.field || schema.fields[*trigger.field].type == FieldType::kU64;
    default:
      return false;
  }
}

v1::Operand own_operand(const v1::Processor& message) {
  v1::Operand operand;
  *operand.mutable_value() = message.value();
  operand.set_aggregate(message.aggregate());
  operand.set_share(message.share());
  return operand;
}

Status read_operand(const v1::Operand& message, const Schema& schema, TupleTrigger* read) {
  if (Status status = read_aggregate(message, read); !status.ok()) return status;
  if (Status status = read_value(message.value(), schema, read); !status.ok()) return status;
  return check_aggregate(message, *read);
}

Status read_expression(const google::protobuf::RepeatedPtrField<v1::ConditionStep>& steps, uint32_t operands,
                       std::optional<trigger::Condition>* read) {
  trigger::Expression expression;
  if (steps.empty()) return {};
  if (Status status = read_steps(steps, operands, &expression); !status.ok()) return status;
  std::string error;
  *read = trigger::Condition::make(std::move(expression), &error);
  return read->has_value() ? Status() : Status::invalid(error);
}

// Reads a condition on several values.
Status read_condition_on_values(const v1::Processor& message, const Schema& schema, TupleTrigger* read) {
  if (message.operands_size() > TupleTrigger::kMaxOperands) return Status::invalid("it compares more than 4 values");
  for (const v1::Operand& operand : message.operands()) {
    if (Status status = read_operand(operand, schema, &read->operands.emplace_back()); !status.ok()) return status;
  }
  const auto operands = static_cast<uint32_t>(1 + read->operands.size());
  if (Status status = read_expression(message.when(), operands, &read->when); !status.ok()) return status;
  return read_expression(message.clear(), operands, &read->lasts);
}

Status read(const v1::Processor& message, const v1::Window& window, TupleTrigger* read) {
  const auto parser = make_parser(message.parser());
  const Schema& schema = parser->schema();
  read->parser = schema.name;
  if (message.has_join() || !message.has_trigger()) return Status::invalid("it has a join, or it is not a trigger");
  if (!v1::Condition::Comparison_IsValid(message.condition().comparison())) {
    return Status::invalid("unknown comparison");
  }
  if (Status status = read_group(message, schema, read); !status.ok()) return status;
  if (Status status = read_operand(own_operand(message), schema, read); !status.ok()) return status;
  if (Status status = read_condition_on_values(message, schema, read); !status.ok()) return status;
  read->comparison = static_cast<TupleTrigger::Comparison>(message.condition().comparison());
  read->threshold = message.condition().threshold();
  read->clear = message.trigger().clear();
  read->after = std::max(message.trigger().after(), 1u);
  read->cooldown_ns = ns_of(message.trigger().cooldown());
  const bool is_above = read->comparison <= TupleTrigger::Comparison::kAtLeast;
  read->monotone = !read->when && is_above && grows(*read, schema);
  return read_window(window, read);
}

}  // namespace

Status read_tuple_triggers(const v1::Plan& plan, QuerySpec* spec) {
  for (const v1::TupleTrigger& message : plan.tuple_triggers()) {
    const std::string which = "trigger " + std::to_string(message.processor()) + ": ";
    if (message.processor() >= static_cast<uint32_t>(plan.processors_size())) {
      return Status::invalid(which + "the plan has no such processor");
    }
    const v1::Processor& processor = plan.processors(static_cast<int>(message.processor()));
    if (!has_parser(*spec, kEvents) || !has_parser(*spec, processor.parser())) {
      return Status::invalid(which + "its parser, or 'trigger', is not among the plan's parsers");
    }
    TupleTrigger& trigger = spec->tuple_triggers.emplace_back();
    trigger.processor = message.processor();
    if (Status status = read(processor, message.window(), &trigger); !status.ok()) {
      return Status::invalid(which + status.sentence());
    }
  }
  return {};
}

}  // namespace tapline
