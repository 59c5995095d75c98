#include "monitors/output/query_tuple_triggers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapline {
namespace {

// An infinite bound means that there is no bound.
Value bound(double value) { return std::isfinite(value) ? Value::f64(value) : Value::absent(FieldType::kF64); }

Value text(std::string_view text) { return text.empty() ? Value::absent(FieldType::kString) : Value::string(text); }

}  // namespace

bool meets(const std::vector<const TupleCondition*>& conditions, const TupleHeader& header,
           std::span<const Value> values) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const TupleCondition* condition) { return condition->holds(header, values); });
}

// Converts events to tuples, and adds the time at which the output receives them.
class QueryTupleTriggers::Events final : public TupleTriggers::Sink {
 public:
  Events(QueryTupleTriggers* triggers, Output* output, int64_t now_ns)
      : triggers_(triggers), output_(output), now_ns_(now_ns) {}

  void on_event(const TupleTriggerEvent& event) override {
    TupleHeader header = event.ends;
    header.time_ns = now_ns_;
    header.queries = uint64_t{1} << triggers_->query_;
    // Another comparison of the condition is true.
    const bool is_absent = event.value.presence == trigger::Presence::kAbsent;
    const Value values[] = {
        Value::u64(event.processor),
        Value::string(event.grouped ? "group" : "all"),
        event.grouped ? Value::string(event.group) : Value::absent(FieldType::kString),
        !is_absent && event.value.low == event.value.high ? Value::f64(event.value.low)
                                                          : Value::absent(FieldType::kF64),
        is_absent ? Value::absent(FieldType::kF64) : bound(event.value.low),
        is_absent || event.at_least ? Value::absent(FieldType::kF64) : bound(event.value.high),
        Value::i64(event.window_start_ns),
        Value::i64(event.window_end_ns),
        Value::boolean(event.certain),
        Value::boolean(event.partial),
        Value::absent(FieldType::kU64),
        Value::i64(event.ready_ns),
        text(event.exemplars),
        text(event.tuple),
    };
    triggers_->too_long_ += event.omission == TupleOmission::kTooLong;
    triggers_->no_room_ += event.omission == TupleOmission::kNoRoom;
    output_->put_event(triggers_->query_, triggers_->trigger_parser_, header, values);
  }
  void on_uncounted(uint64_t tuples) override { output_->lose_tuples(triggers_->query_, tuples); }

 private:
  QueryTupleTriggers* triggers_;
  Output* output_;
  int64_t now_ns_;
};

std::unique_ptr<QueryTupleTriggers> QueryTupleTriggers::make(uint32_t query, const QuerySpec& spec,
                                                             std::span<const Schema* const> schemas) {
  if (spec.tuple_triggers.empty() || spec.lanes > 1) return nullptr;
  for (uint32_t parser = 0; parser < schemas.size(); ++parser) {
    const bool is_named = std::find(spec.parsers.begin(), spec.parsers.end(), "trigger") != spec.parsers.end();
    if (schemas[parser]->name != "trigger" || !is_named) continue;
    return std::unique_ptr<QueryTupleTriggers>(new QueryTupleTriggers(query, parser, spec, schemas));
  }
  return nullptr;
}

QueryTupleTriggers::QueryTupleTriggers(uint32_t query, uint32_t trigger_parser, const QuerySpec& spec,
                                       std::span<const Schema* const> schemas)
    : query_(query),
      trigger_parser_(trigger_parser),
      triggers_(spec.tuple_triggers, schemas),
      filters_(schemas.size()) {
  for (size_t parser = 0; parser < schemas.size(); ++parser) {
    for (const ParserFilter& filter : spec.filters) {
      if (filter.parser == schemas[parser]->name) filters_[parser].push_back(&filter.condition);
    }
  }
}

void QueryTupleTriggers::add(uint32_t parser, const TupleHeader& header, std::span<const Value> values,
                             Output* output) {
  Events events(this, output, header.time_ns);
  triggers_.advance(header.time_ns, watched_since_ns_, losses_, &events);
  if (meets(filters_[parser], header, values)) triggers_.add(parser, header, values, losses_, &events);
}

void QueryTupleTriggers::advance(int64_t time_ns, const Accounting& account, Output* output) {
  losses_ = std::accumulate(account.dropped.begin(), account.dropped.end(), uint64_t{0});
  Events events(this, output, time_ns);
  triggers_.advance(time_ns, watched_since_ns_, losses_, &events);
}

void QueryTupleTriggers::finish(int64_t time_ns, Output* output) {
  Events events(this, output, time_ns);
  triggers_.finish(time_ns, watched_since_ns_, losses_, &events);
}

}  // namespace tapline
