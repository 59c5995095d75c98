#include "multilog/node/node_messages.h"

namespace tapline::multilog {
namespace {

void fill(const std::vector<uint64_t>& words, v1::AggregateState* state) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    state->add_index(static_cast<uint32_t>(i));
    state->add_word(words[i]);
  }
}

}  // namespace

grpc::Status to_grpc(const Status& status) {
  using grpc::StatusCode;
  const auto code = [&] {
    switch (status.code()) {
      case Code::kOk:
        return StatusCode::OK;
      case Code::kUsage:
      case Code::kInvalid:
        return StatusCode::INVALID_ARGUMENT;
      case Code::kNotFound:
        return StatusCode::NOT_FOUND;
      case Code::kExists:
        return StatusCode::ALREADY_EXISTS;
      case Code::kInUse:
      case Code::kFrozen:
        return StatusCode::FAILED_PRECONDITION;
      case Code::kResources:
      case Code::kMemoryFull:
      case Code::kDiskFull:
        return StatusCode::RESOURCE_EXHAUSTED;
      case Code::kIoError:
      case Code::kCorrupt:
      case Code::kInternal:
        return StatusCode::INTERNAL;
      case Code::kStopped:
        return StatusCode::UNAVAILABLE;
    }
    return StatusCode::INTERNAL;
  }();
  std::string message = status.message();
  if (status.position()) message += " (at byte " + std::to_string(*status.position()) + " of the expression)";
  return {code, message};
}

void fill(const Number& number, v1::NodeNumber* out) {
  if (!number.present) return;
  constexpr __int128 kMax = INT64_MAX, kMin = INT64_MIN;
  // Sums are kept in 128 bits and may exceed an int64.
  if (number.is_float || number.whole > kMax || number.whole < kMin) {
    out->set_real(number.as_double());
  } else {
    out->set_whole(static_cast<int64_t>(number.whole));
  }
}

FunctionSpec spec_of(const v1::AggregateFunction& function) {
  FunctionSpec spec;
  spec.function = function.function();
  spec.field = function.field();
  if (function.quantiles_size() > 0) spec.quantiles.assign(function.quantiles().begin(), function.quantiles().end());
  spec.group_by.assign(function.group_by().begin(), function.group_by().end());
  if (function.max_groups() > 0) spec.max_groups = function.max_groups();
  return spec;
}

QuerySpec spec_of(const v1::QueryRequest& request) {
  QuerySpec spec;
  if (has_trees(request)) {
    spec.condition = request.condition();
    spec.scope = request.scope();
  } else {
    spec.expression = request.expression();
  }
  spec.filter = request.filter();
  spec.within.assign(request.within().begin(), request.within().end());
  spec.time_low = request.time_low_ns();
  if (request.time_high_ns() > 0) spec.time_high = request.time_high_ns();
  return spec;
}

void fill(const AggregateValue& value, const Schema& schema, const std::vector<std::string>& group_by,
          v1::AggregateReply* reply) {
  for (const std::string& name : value.names) reply->add_names(name);
  for (const Number& number : value.values) fill(number, reply->add_values());
  if (!value.state.empty()) fill(value.state, reply->mutable_state());
  for (const Group& group : value.groups) {
    auto* out = reply->add_groups();
    out->set_rest(group.is_rest);
    for (const std::string& text : format_keys(schema, group_by, group.keys)) out->add_keys(text);
    for (const Number& number : group.outputs) fill(number, out->add_values());
    if (!group.state.empty()) fill(group.state, out->mutable_state());
  }
  reply->set_unreadable_segments(value.unreadable);
}

AggregateSpec spec_of(const v1::Definition::StoredAggregate& message) {
  AggregateSpec spec;
  spec.name = message.name();
  spec.filter = message.filter();
  spec.function = spec_of(message.function());
  if (message.bucket_ns() > 0) spec.bucket_ns = message.bucket_ns();
  if (message.buckets() > 0) spec.buckets = message.buckets();
  return spec;
}

Result<TriggerSpec> spec_of(const v1::Definition::Trigger& message) {
  TriggerSpec spec;
  spec.name = message.name();
  spec.aggregate = message.aggregate();
  spec.condition = message.condition();
  spec.window_ns = message.window_ns();
  if (message.period_ns() > 0) spec.period_ns = message.period_ns();
  spec.cooldown_ns = message.cooldown_ns();
  if (message.severity() == "info") {
    spec.severity = Severity::kInfo;
  } else if (message.severity() == "critical") {
    spec.severity = Severity::kCritical;
  } else if (!message.severity().empty() && message.severity() != "warning") {
    return Status(Code::kInvalid, "severity '" + message.severity() + "' is not one of info, warning, critical");
  }
  return spec;
}

std::vector<v1::Definition> definitions_of(const MultiLog::Definitions& definitions) {
  std::vector<v1::Definition> out;
  for (const auto& [name, expression] : definitions.filters) {
    auto* filter = out.emplace_back().mutable_filter();
    filter->set_name(name);
    filter->set_expression(expression);
  }
  for (const AggregateSpec& spec : definitions.aggregates) {
    auto* aggregate = out.emplace_back().mutable_aggregate();
    aggregate->set_name(spec.name);
    aggregate->set_filter(spec.filter);
    aggregate->set_bucket_ns(spec.bucket_ns);
    aggregate->set_buckets(spec.buckets);
    auto* function = aggregate->mutable_function();
    function->set_function(spec.function.function);
    function->set_field(spec.function.field);
    for (const double quantile : spec.function.quantiles) function->add_quantiles(quantile);
    for (const std::string& field : spec.function.group_by) function->add_group_by(field);
    function->set_max_groups(spec.function.max_groups);
  }
  for (const TriggerSpec& spec : definitions.triggers) {
    auto* trigger = out.emplace_back().mutable_trigger();
    trigger->set_name(spec.name);
    trigger->set_aggregate(spec.aggregate);
    trigger->set_condition(spec.condition);
    trigger->set_window_ns(spec.window_ns);
    trigger->set_period_ns(spec.period_ns);
    trigger->set_cooldown_ns(spec.cooldown_ns);
    trigger->set_severity(std::string(name_of(spec.severity)));
  }
  return out;
}

}  // namespace tapline::multilog
