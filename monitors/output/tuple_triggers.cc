#include "monitors/output/tuple_triggers.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "monitors/output/dictionary.h"
#include "monitors/output/tuple_json.h"
#include "parsers/trigger/condition.h"

namespace tapline {
namespace {

using Aggregate = TupleTrigger::Aggregate;
using Comparison = TupleTrigger::Comparison;

// Maximum number of cells in all groups of a trigger. They take up to 64 MB; KeptTuples and kMaxValueBytes limit the
// memory for their tuples and values.
constexpr size_t kMaxCells = 1 << 20;

constexpr int64_t kNotEnded = INT64_MAX;

// Enough for the largest result of a merge, and for the smaller blocks that it has outgrown.
constexpr size_t kMergeBytes = 256 << 10;

bool keeps_values(const TupleTrigger& value) { return value.aggregate >= Aggregate::kDistinct; }
bool keeps_any_values(const TupleTrigger& trigger) {
  return keeps_values(trigger) || std::any_of(trigger.operands.begin(), trigger.operands.end(), keeps_values);
}

// Returns the number of values that the trigger's condition compares.
size_t values_of(const TupleTrigger& trigger) { return 1 + trigger.operands.size(); }
// Returns a value by its number.
const TupleTrigger& value_at(const TupleTrigger& trigger, size_t number) {
  return number == 0 ? trigger : trigger.operands[number - 1];
}

bool meets(Comparison comparison, double value, double threshold) {
  switch (comparison) {
    case Comparison::kAbove:
      return value > threshold;
    case Comparison::kAtLeast:
      return value >= threshold;
    case Comparison::kBelow:
      return value < threshold;
    default:
      return value <= threshold;
  }
}

trigger::Verdict meets(Comparison comparison, const trigger::Interval& value, double threshold) {
  using trigger::Verdict;
  if (value.presence == trigger::Presence::kAbsent) return Verdict::kFalse;
  const bool low = meets(comparison, value.low, threshold), high = meets(comparison, value.high, threshold);
  return low && high ? Verdict::kTrue : low || high ? Verdict::kPossible : Verdict::kFalse;
}

double number_of(const Value& value) {
  switch (value.type()) {
    case FieldType::kF64:
      return value.as_f64();
    case FieldType::kI64:
      return static_cast<double>(value.as_i64());
    default:
      return static_cast<double>(value.as_u64());
  }
}

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.is_v4() ? AF_INET : AF_INET6, address.bytes().data(), text, sizeof text);
  return text;
}

// Appends "name=value" to a group's key. Events show the key as it is. A more compact one would save little, since most
// triggers have few groups.
void append(std::string_view name, std::string_view value, std::string* key) {
  if (!key->empty()) *key += ' ';
  key->append(name).append("=").append(value);
}

void append(const Field& field, const Value& value, std::string* key) {
  if (!value.present()) return append(field.name, "-", key);
  switch (value.type()) {
    case FieldType::kString:
      return append(field.name, value.as_string(), key);
    case FieldType::kBool:
      return append(field.name, value.as_bool() ? "true" : "false", key);
    case FieldType::kF64:
      return append(field.name, std::to_string(value.as_f64()), key);
    case FieldType::kI64:
      return append(field.name, std::to_string(value.as_i64()), key);
    default:
      return append(field.name, std::to_string(value.as_u64()), key);
  }
}

void append_common(const Field& field, uint32_t index, const TupleHeader& header, std::string* key) {
  switch (index) {
    case 0:
      return append(field.name, std::to_string(header.time_ns), key);
    case 1:
      return append(field.name, std::to_string(header.flow_hash), key);
    case 2:
      return append(field.name, std::to_string(header.flow_incarnation), key);
    case 3:
      return append(field.name, name_of(header.client_known_by), key);
    case 4:
      return append(field.name, text_of(header.src_ip), key);
    case 5:
      return append(field.name, std::to_string(header.src_port), key);
    case 6:
      return append(field.name, text_of(header.dst_ip), key);
    default:
      return append(field.name, std::to_string(header.dst_port), key);
  }
}

// Appends a field, given as an index into common_fields() followed by the schema's own fields.
void append_field(const Schema& schema, uint32_t index, const TupleHeader& header, std::span<const Value> values,
                  std::string* key) {
  const auto common = common_fields();
  if (index < common.size()) return append_common(common[index], index, header, key);
  append(schema.fields[index - common.size()], values[index - common.size()], key);
}

// Returns true if the tuple has the value that is aggregated, and meets the value's condition.
bool has_value(const TupleTrigger& trigger, const TupleHeader& header, std::span<const Value> values) {
  if (trigger.only && !trigger.only->holds(header, values)) return false;
  const size_t common = common_fields().size();
  if (trigger.distinct_field && *trigger.distinct_field >= common) {
    return values[*trigger.distinct_field - common].present();
  }
  return !trigger.field || values[*trigger.field].present();
}

// Returns a header that contains only the addresses and ports that the trigger groups by.
TupleHeader ends_of(const TupleTrigger& trigger, const TupleHeader& header) {
  TupleHeader ends;
  for (const uint32_t index : trigger.group) {
    if (index == 4) ends.src_ip = header.src_ip;
    if (index == 5) ends.src_port = header.src_port;
    if (index == 6) ends.dst_ip = header.dst_ip;
    if (index == 7) ends.dst_port = header.dst_port;
  }
  return ends;
}

}  // namespace

TupleTriggers::TupleTriggers(std::span<const TupleTrigger> triggers, std::span<const Schema* const> schemas,
                             size_t max_groups, size_t max_value_bytes) {
  if (std::any_of(triggers.begin(), triggers.end(), keeps_any_values)) {
    value_memory_ = std::make_unique<trigger::SketchMemory>(max_value_bytes);
    merge_memory_ = std::make_unique<trigger::SketchMemory>(kMergeBytes);
  }
  for (const TupleTrigger& trigger : triggers) {
    for (uint32_t parser = 0; parser < schemas.size(); ++parser) {
      if (schemas[parser]->name != trigger.parser) continue;
      watches_.push_back({.trigger = &trigger,
                          .schema = schemas[parser],
                          .parser = parser,
                          .max_groups = std::min(max_groups, kMaxCells / trigger.panes / values_of(trigger))});
    }
  }
}

std::string_view TupleTriggers::key_of(const Watch& watch, const TupleHeader& header, std::span<const Value> values) {
  key_.clear();
  for (const uint32_t index : watch.trigger->group) append_field(*watch.schema, index, header, values, &key_);
  return key_;
}

void TupleTriggers::add(uint32_t parser, const TupleHeader& header, std::span<const Value> values, uint64_t losses,
                        Sink* sink) {
  for (Watch& watch : watches_) {
    const TupleTrigger& trigger = *watch.trigger;
    if (watch.parser != parser) continue;
    const int64_t start_ns = header.time_ns - header.time_ns % trigger.every_ns;
    Group* group = nullptr;
    for (size_t number = 0; number < values_of(trigger); ++number) {
      const TupleTrigger& value = value_at(trigger, number);
      if (!has_value(value, header, values)) continue;
      if (start_ns + trigger.every_ns != watch.end_ns) {
        watch.end_ns = start_ns + trigger.every_ns;
        watch.losses.emplace(start_ns, losses);
      }
      if (group == nullptr) group = group_of(watch, header, values, sink);
      if (group == nullptr) break;
      const size_t pane = static_cast<size_t>(start_ns / trigger.every_ns) % trigger.panes;
      add_value(watch, value, header, values, &group->cells[number * trigger.panes + pane], sink);
    }
    if (group == nullptr) continue;
    group->ends = ends_of(trigger, header);
    group->flows.add(header);
    // Estimating a number of distinct values takes microseconds, so it is done only once, at the window's end.
    if (trigger.panes == 1 && trigger.monotone && trigger.after == 1 && !keeps_values(trigger))
      cross(watch, key_, group, group->cells[0], header, values, sink);
  }
}

// Returns the tuple's group, which is created if necessary; null if there is no room.
TupleTriggers::Group* TupleTriggers::group_of(Watch& watch, const TupleHeader& header, std::span<const Value> values,
                                              Sink* sink) {
  key_of(watch, header, values);
  auto it = watch.groups.find(key_);
  if (it == watch.groups.end()) {
    if (watch.groups.size() >= watch.max_groups) {
      sink->on_uncounted(1);
      return nullptr;
    }
    const size_t cells = watch.trigger->panes * values_of(*watch.trigger);
    it = watch.groups.emplace(key_, Group{.cells = std::vector<Cell>(cells)}).first;
  }
  return &it->second;
}

void TupleTriggers::add_value(const Watch& watch, const TupleTrigger& value, const TupleHeader& header,
                              std::span<const Value> values, Cell* cell, Sink* sink) {
  if (cell->end_ns != watch.end_ns) *cell = {.end_ns = watch.end_ns};
  double number = 1;
  if (value.field) number = number_of(values[*value.field]);
  if (value.condition) number = value.condition->holds(header, values) ? 1 : 0;
  const uint64_t missed_before = value_memory_ == nullptr ? 0 : value_memory_->missed();
  count(watch, value, number, header, values, cell);
  if (value_memory_ != nullptr && value_memory_->missed() > missed_before) sink->on_uncounted(1);
}

void TupleTriggers::count(const Watch& watch, const TupleTrigger& of, double value, const TupleHeader& header,
                          std::span<const Value> values, Cell* cell) {
  const bool is_first = cell->count == 0;
  const bool highest = is_first || value > cell->max, lowest = is_first || value < cell->min;
  if (highest) cell->max = value;
  if (lowest) cell->min = value;
  ++cell->count;
  cell->sum += value;
  if (keeps_values(of)) keep_value(watch, of, value, header, values, cell);
  const TupleTrigger& trigger = *watch.trigger;
  const bool extreme = trigger.aggregate == Aggregate::kMax ? highest : trigger.aggregate == Aggregate::kMin && lowest;
  if (!extreme || trigger.when) return;  // a condition on several values has no deciding tuple
  if (meets(trigger.comparison, value, trigger.threshold) || meets(trigger.comparison, value, trigger.clear)) {
    kept_.keep(json_of(*watch.schema, header, values), &cell->extreme);
  } else {
    cell->extreme.reset();
  }
}

void TupleTriggers::keep_value(const Watch& watch, const TupleTrigger& of, double value, const TupleHeader& header,
                               std::span<const Value> values, Cell* cell) {
  if (cell->values == nullptr) cell->values = std::make_unique<KeptValues>(value_memory_.get());
  if (of.aggregate == Aggregate::kPercentile) return cell->values->add_number(value);
  text_.clear();
  append_field(*watch.schema, *of.distinct_field, header, values, &text_);
  cell->values->add_hash(Dictionary::hash_of(text_));
}

std::string_view TupleTriggers::json_of(const Schema& schema, const TupleHeader& header,
                                        std::span<const Value> values) {
  json_.assign(1, '{');
  append_tuple_json(schema, header, values, &json_);
  json_ += '}';
  return json_;
}

// Reports the beginning of an alert if the open window now meets the condition.
void TupleTriggers::cross(const Watch& watch, const std::string& key, Group* group, const Cell& cell,
                          const TupleHeader& header, std::span<const Value> values, Sink* sink) {
  const TupleTrigger& trigger = *watch.trigger;
  const double reached = value_of(trigger, trigger.aggregate, cell);
  if (group->in_force || group->reported || !cooled(watch, *group) ||
      !meets(trigger.comparison, reached, trigger.threshold)) {
    return;
  }
  group->reported = true;
  const std::string_view tuple = json_of(*watch.schema, header, values);
  const bool is_long = tuple.size() > KeptTuples::kMaxText;
  report(watch, key, *group,
         {.value = {reached, reached},
          .at_least = true,
          .window_start_ns = watch.end_ns - trigger.every_ns,
          .window_end_ns = watch.end_ns,
          .ready_ns = header.time_ns,
          .tuple = is_long ? std::string_view() : tuple,
          .omission = is_long ? TupleOmission::kTooLong : TupleOmission::kNone},
         sink);
}

bool TupleTriggers::cooled(const Watch& watch, const Group& group) {
  return group.began_ns == INT64_MIN || watch.end_ns - group.began_ns >= watch.trigger->cooldown_ns;
}

template <typename Values>
double TupleTriggers::value_of(const TupleTrigger& trigger, Aggregate aggregate, const Values& values) {
  switch (aggregate) {
    case Aggregate::kRate:
      return values.sum * 1e9 / static_cast<double>(trigger.every_ns * trigger.panes);
    case Aggregate::kSum:
      return values.sum;
    case Aggregate::kMax:
      return values.max;
    case Aggregate::kMin:
      return values.min;
    case Aggregate::kMean:
      return values.sum / static_cast<double>(std::max<uint64_t>(values.count, 1));
    default:
      return static_cast<double>(values.count);
  }
}

void TupleTriggers::advance(int64_t time_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink) {
  for (Watch& watch : watches_) advance(watch, time_ns, watched_since_ns, losses, sink);
}

void TupleTriggers::finish(int64_t time_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink) {
  for (Watch& watch : watches_) {
    advance(watch, time_ns, watched_since_ns, losses, sink);
    if (watch.end_ns != INT64_MIN) close(watch, time_ns, watched_since_ns, losses, sink);
  }
}

void TupleTriggers::advance(Watch& watch, int64_t time_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink) {
  while (watch.end_ns <= time_ns && watch.end_ns != INT64_MIN) {
    close(watch, kNotEnded, watched_since_ns, losses, sink);
    if (watch.groups.empty()) {
      // There is nothing to test until the next tuple.
      watch.end_ns = INT64_MIN;
      watch.losses.clear();
      return;
    }
    watch.losses.emplace(watch.end_ns, losses);
    watch.end_ns += watch.trigger->every_ns;
  }
}

TupleTriggers::Window TupleTriggers::window_of(const Watch& watch, const TupleTrigger& of,
                                               std::span<const Cell> cells) {
  const int64_t start_ns = watch.end_ns - watch.trigger->every_ns * watch.trigger->panes;
  const bool lowest = of.aggregate == Aggregate::kMin;
  Window window;
  for (const Cell& cell : cells) {
    if (cell.count == 0 || cell.end_ns <= start_ns) continue;
    if (window.count == 0 || (lowest ? cell.min < window.min : cell.max > window.max)) {
      window.extreme = cell.extreme.text();
      window.omission = cell.extreme.omission();
    }
    window.min = window.count == 0 ? cell.min : std::min(window.min, cell.min);
    window.max = window.count == 0 ? cell.max : std::max(window.max, cell.max);
    window.count += cell.count;
    window.sum += cell.sum;
  }
  return window;
}

// Returns an aggregate of the window. REQUIRES: the window has tuples with the value.
trigger::Interval TupleTriggers::compared_value(const Watch& watch, const TupleTrigger& of, std::span<const Cell> cells,
                                                const Window& window) {
  if (!keeps_values(of)) {
    const double value = value_of(*watch.trigger, of.aggregate, window);
    return {value, value};
  }
  const int64_t start_ns = watch.end_ns - watch.trigger->every_ns * watch.trigger->panes;
  KeptValues merged(merge_memory_.get());
  for (const Cell& cell : cells) {
    if (cell.end_ns > start_ns && cell.values != nullptr) merged.merge(*cell.values);
  }
  return of.aggregate == Aggregate::kDistinct ? merged.count() : merged.quantile(of.share);
}

// Tests the condition of a group that has ended a window. Sets *window to that of the trigger's own value, or of the
// first other value that tuples have, and *value to the compared value.
trigger::Verdict TupleTriggers::verdict_of(const Watch& watch, const Group& group, Window* window,
                                           trigger::Interval* value) {
  const TupleTrigger& trigger = *watch.trigger;
  std::array<trigger::Interval, 1 + TupleTrigger::kMaxOperands> values;
  for (size_t number = 0; number < values_of(trigger); ++number) {
    const TupleTrigger& of = value_at(trigger, number);
    const auto cells = std::span(group.cells).subspan(number * trigger.panes, trigger.panes);
    const Window own = window_of(watch, of, cells);
    values[number] = own.count > 0 ? compared_value(watch, of, cells, own) : trigger::Interval::absent();
    if (window->count == 0) *window = own;
  }
  if (!trigger.when) {
    *value = values[0];
    return meets(trigger.comparison, *value, group.in_force ? trigger.clear : trigger.threshold);
  }
  const auto all = std::span(values).first(values_of(trigger));
  const trigger::Verdict begins = trigger.when->test(all, value);
  trigger::Interval ignored;
  return group.in_force && trigger.lasts ? trigger.lasts->test(all, &ignored) : begins;
}

void TupleTriggers::close(Watch& watch, int64_t ended_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink) {
  const TupleTrigger& trigger = *watch.trigger;
  const int64_t start_ns = watch.end_ns - trigger.every_ns * trigger.panes;
  const bool partial = ended_ns != kNotEnded || watched_since_ns > start_ns;
  watch.losses.erase(watch.losses.begin(), watch.losses.lower_bound(start_ns));
  const bool lossy = !watch.losses.empty() && losses != watch.losses.begin()->second;
  const bool wants_all = trigger.when ? trigger.when->wants_all() : trigger.comparison >= Comparison::kBelow;
  for (auto next = watch.groups.begin(); next != watch.groups.end();) {
    const auto current = next++;
    Group& group = current->second;
    Window window;
    trigger::Interval value = {};
    const trigger::Verdict verdict = verdict_of(watch, group, &window, &value);
    // The part that a partial window lacks might raise the value, so such a window never counts as below.
    const bool met = group.reported || (!(wants_all && partial) && verdict != trigger::Verdict::kFalse);
    group.in_a_row = met ? group.in_a_row + 1 : 0;
    if (!met) {
      group.in_force = false;
    } else if (!group.in_force && group.in_a_row >= trigger.after && cooled(watch, group)) {
      group.in_force = true;
      group.began_ns = watch.end_ns;
    }
    if (group.in_force && !group.reported) {
      report(watch, current->first, group,
             {.value = value,
              .window_start_ns = start_ns,
              .window_end_ns = watch.end_ns,
              .ready_ns = std::min(watch.end_ns, ended_ns),
              .certain = verdict == trigger::Verdict::kTrue && (trigger.monotone || !(lossy || partial)),
              .partial = partial,
              .tuple = window.extreme,
              .omission = window.omission},
             sink);
    }
    group.reported = false;
    if (window.count == 0 && cooled(watch, group)) watch.groups.erase(current);
  }
}

void TupleTriggers::report(const Watch& watch, const std::string& key, const Group& group, TupleTriggerEvent event,
                           Sink* sink) {
  event.processor = watch.trigger->processor;
  event.grouped = !watch.trigger->group.empty();
  event.group = key;
  event.ends = group.ends;
  exemplars_.clear();
  group.flows.append_since(event.window_start_ns, &exemplars_);
  event.exemplars = exemplars_;
  sink->on_event(event);
}

}  // namespace tapline
