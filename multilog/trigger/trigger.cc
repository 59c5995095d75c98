#include "multilog/trigger/trigger.h"

#include <algorithm>

namespace tapline::multilog {
namespace {

// Maximum number of evicted buckets per evaluation whose windows are computed from the log; the others must wait.
constexpr int kOldWindows = 32;
constexpr size_t kRememberedAlerts = 64;

Schema empty_schema() { return *Schema::make({{.name = "time_of_no_row", .type = FieldType::kTime}}); }

// A condition that compares one output with a constant. Nearly all conditions do, and testing them this way avoids
// walking the tree.
struct SimpleCondition {
  bool simple = false;
  uint32_t output = 0;
  Compare compare = Compare::kGreater;
  Number against;
};

SimpleCondition simplified(const Expression& condition) {
  if (condition.root().kind != Node::Kind::kLeaf) return {};
  const Leaf& leaf = condition.leaves()[0];
  if (leaf.kind != Leaf::Kind::kLinear || leaf.negated || leaf.terms.size() != 1 || leaf.terms[0].sign != 1) return {};
  const Number negative =
      leaf.constant.is_float ? Number::of_real(-leaf.constant.real) : Number::of_whole(-leaf.constant.whole);
  return {true, leaf.terms[0].aggregate->output, leaf.compare, negative};
}

int order_of(const Number& a, const Number& b) {
  if (!a.is_float && !b.is_float) return (a.whole > b.whole) - (a.whole < b.whole);
  const double x = a.as_double(), y = b.as_double();
  return (x > y) - (x < y);
}

bool holds_simply(const SimpleCondition& condition, const std::vector<Number>& outputs) {
  const Number& value = outputs[condition.output];
  if (!value.present) return false;
  return is_true(condition.compare, order_of(value, condition.against));
}

bool only_grows(const Expression& condition) {
  return std::all_of(condition.leaves().begin(), condition.leaves().end(), [](const Leaf& leaf) {
    return leaf.kind == Leaf::Kind::kLinear && !leaf.negated &&
           (leaf.compare == Compare::kGreater || leaf.compare == Compare::kGreaterEqual) &&
           std::all_of(leaf.terms.begin(), leaf.terms.end(), [](const Term& term) { return term.sign > 0; });
  });
}

}  // namespace

std::string_view name_of(Severity severity) {
  constexpr std::string_view kNames[] = {"info", "warning", "critical"};
  return kNames[static_cast<size_t>(severity)];
}

struct TriggerEngine::Trigger {
  TriggerSpec spec;
  Expression condition;
  uint64_t cooldown_ns = 0;
  struct Remembered {
    uint64_t end;
    std::vector<uint64_t> keys;
  };
  std::vector<Remembered> alerted;
  size_t next_alerted = 0;
};

// Triggers on one aggregate that agree in window, period and `early`. The windows to evaluate are computed once for the
// whole group. A test of a simple condition reads only the contiguous `conditions`, since reading a thousand triggers
// from the heap would cost a thousand cache misses every millisecond.
struct TriggerEngine::Group {
  uint32_t buckets = 1;
  bool early = false;
  uint64_t period_ns = 0, due_ns = 0;
  // Touched buckets that have not been evaluated yet: those in the ring, and those evicted from it.
  Pending pending, old;
  uint64_t completed = 0;  // windows that end in buckets below this one were tested after their end; 0: none so far
  std::vector<SimpleCondition> conditions;
  std::vector<std::unique_ptr<Trigger>> triggers;  // in the order of `conditions`
};

struct TriggerEngine::Window {
  uint64_t end = 0;  // the window's last bucket
  uint32_t buckets = 0;
  bool known = false;  // false if a writer is ahead of the snapshot, so the window must be evaluated later
  std::vector<Number> outputs;
  std::vector<tapline::multilog::Group> groups;
};

struct TriggerEngine::Watch {
  std::shared_ptr<Aggregate> aggregate;
  std::vector<Group> groups;
  std::vector<Window> cache;  // valid for one evaluation
  uint64_t newest = 0;        // 1 + the bucket of the latest time that any of the snapshot's writers has seen
};

TriggerEngine::TriggerEngine(Log log, std::function<void(const Alert&)> push)
    : log_(std::move(log)), push_(std::move(push)) {}
TriggerEngine::~TriggerEngine() = default;

Status TriggerEngine::add(const TriggerSpec& spec, std::shared_ptr<Aggregate> aggregate) {
  auto trigger = std::make_unique<Trigger>();
  const auto resolve = [&](std::string_view name) -> std::optional<AggregateRef> {
    for (uint32_t i = 0; i < aggregate->outputs.size(); ++i) {
      if (aggregate->outputs[i] == name || (i == 0 && (name == aggregate->name || name == "value")))
        return AggregateRef{0, i};
    }
    return std::nullopt;
  };
  Result<Expression> condition = Expression::compile(spec.condition, empty_schema(), resolve);
  if (!condition.ok()) return condition.status();
  if (condition->leaves().empty()) return {Code::kInvalid, "a trigger needs a condition", 0};
  if (spec.period_ns == 0) return {Code::kInvalid, "a trigger's period must be at least 1 ns"};
  const uint64_t buckets = spec.window_ns == 0 ? 1 : (spec.window_ns + aggregate->bucket_ns - 1) / aggregate->bucket_ns;
  if (buckets > aggregate->slots)
    return {Code::kInvalid, "the window has " + std::to_string(buckets) + " buckets, the aggregate keeps " +
                                std::to_string(aggregate->slots)};
  trigger->spec = spec;
  trigger->cooldown_ns = spec.cooldown_ns != 0 ? spec.cooldown_ns : buckets * aggregate->bucket_ns;
  trigger->condition = std::move(*condition);
  const SimpleCondition simple = simplified(trigger->condition);
  const bool is_early = only_grows(trigger->condition);
  const std::lock_guard lock(mutex_);
  Watch* watch = nullptr;
  for (const auto& present : watches_) {
    if (present->aggregate == aggregate) watch = present.get();
    for (const Group& group : present->groups) {
      for (const auto& other_trigger : group.triggers) {
        if (other_trigger->spec.name == spec.name) return {Code::kExists, "there is already a trigger " + spec.name};
      }
    }
  }
  if (watch == nullptr) {
    watches_.push_back(std::make_unique<Watch>());
    watch = watches_.back().get();
    watch->aggregate = std::move(aggregate);
  }
  next_due_ = 0;
  auto group = std::find_if(watch->groups.begin(), watch->groups.end(), [&](const Group& g) {
    return g.buckets == buckets && g.early == is_early && g.period_ns == spec.period_ns;
  });
  if (group == watch->groups.end()) {
    watch->groups.emplace_back();
    group = std::prev(watch->groups.end());
    group->buckets = static_cast<uint32_t>(buckets);
    group->early = is_early;
    group->period_ns = spec.period_ns;
  }
  group->conditions.push_back(simple);
  group->triggers.push_back(std::move(trigger));
  return {};
}

Status TriggerEngine::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (auto& watch : watches_) {
    for (Group& group : watch->groups) {
      for (size_t i = 0; i < group.triggers.size(); ++i) {
        if (group.triggers[i]->spec.name != name) continue;
        group.triggers.erase(group.triggers.begin() + static_cast<ptrdiff_t>(i));
        group.conditions.erase(group.conditions.begin() + static_cast<ptrdiff_t>(i));
        std::erase_if(watch->groups, [](const Group& g) { return g.triggers.empty(); });
        std::erase_if(watches_, [](const auto& w) { return w->groups.empty(); });
        return {};
      }
    }
  }
  return {Code::kNotFound, "no trigger " + name};
}

bool TriggerEngine::uses(const std::string& aggregate) {
  const std::lock_guard lock(mutex_);
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const auto& watch) { return watch->aggregate->name == aggregate; });
}

std::vector<TriggerSpec> TriggerEngine::list() {
  const std::lock_guard lock(mutex_);
  std::vector<TriggerSpec> specs;
  for (const auto& watch : watches_) {
    for (const Group& group : watch->groups) {
      for (const auto& trigger : group.triggers) specs.push_back(trigger->spec);
    }
  }
  return specs;
}

TriggerStatistics TriggerEngine::statistics() {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

uint64_t TriggerEngine::evaluate(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (now_ns < next_due_ || watches_.empty()) return next_due_ = watches_.empty() ? ~uint64_t{0} : next_due_;
  // Touched buckets are collected before the snapshot is taken, so the next evaluation includes those touched later.
  for (auto& watch : watches_) collect(watch.get());
  const Snapshot snapshot = log_.snapshot();
  uint64_t newest_time = 0;
  for (const Snapshot::View& view : snapshot.views())
    newest_time = std::max(newest_time, view.tail > 0 ? view.log->newest_time() : 0);
  next_due_ = ~uint64_t{0};
  for (auto& watch : watches_) {
    watch->cache.clear();
    watch->newest = newest_time / watch->aggregate->bucket_ns + (newest_time > 0);
    for (Group& group : watch->groups) {
      if (now_ns >= group.due_ns) {
        evaluate_group(snapshot, watch.get(), &group);
        // Evaluations are aligned to multiples of the period, so that a late evaluation does not delay the next one.
        group.due_ns = (now_ns / group.period_ns + 1) * group.period_ns;
      }
      next_due_ = std::min(next_due_, group.due_ns);
    }
  }
  return next_due_;
}

void TriggerEngine::collect(Watch* watch) {
  for (const auto& writer : watch->aggregate->per_writer) {
    const Aggregate::PerWriter* own_writer = writer.load(std::memory_order_acquire);
    uint64_t low, high;
    if (own_writer == nullptr || !own_writer->buckets->take_touched(&low, &high)) continue;
    // Evicted buckets are recomputed from the log.
    const uint64_t newest = own_writer->buckets->newest(), slots = own_writer->buckets->slots();
    const uint64_t kept = newest > slots ? newest - slots : 0;
    for (Group& group : watch->groups) {
      if (low < kept) group.old.add(low, std::min(high, kept - 1));
      if (high >= kept) group.pending.add(std::max(low, kept), high);
    }
  }
}

void TriggerEngine::evaluate_group(const Snapshot& snapshot, Watch* watch, Group* group) {
  statistics_.evaluations += group->triggers.size();
  if (watch->newest > 0) evaluate_recent(snapshot, watch, group, watch->newest - 1);
  if (!group->old.empty()) evaluate_old(snapshot, watch, group);
}

// Evaluates the pending windows, from the buckets in the ring. `frontier` is the bucket that event time has reached.
void TriggerEngine::evaluate_recent(const Snapshot& snapshot, Watch* watch, Group* group, uint64_t frontier) {
  Pending todo = group->pending;
  group->pending = {};
  if (!todo.empty()) todo.high = std::min(todo.high + group->buckets - 1, frontier);
  if (!group->early) {
    if (frontier == 0) return;
    const uint64_t slots = watch->aggregate->slots, kept = frontier > slots ? frontier - slots : 0;
    const uint64_t begin = group->completed != 0 ? std::max(group->completed, kept)
                           : todo.empty()        ? frontier
                                                 : todo.low;
    if (begin < frontier) todo.add(begin, frontier - 1);
    todo.high = std::min(todo.high, frontier - 1);
    group->completed = frontier;
  }
  for (uint64_t end = todo.low; !todo.empty() && end <= todo.high; ++end) {
    const Window* window = value(snapshot, watch, end, group->buckets, false);
    if (window->known)
      test(*watch, group, *window);
    else
      group->pending.add(end, end);
  }
}

void TriggerEngine::evaluate_old(const Snapshot& snapshot, Watch* watch, Group* group) {
  const uint64_t width = watch->aggregate->bucket_ns;
  uint64_t bucket = group->old.low;
  for (int i = 0; i < kOldWindows && bucket <= group->old.high; ++i) {
    bucket = std::max(bucket, log_.next_time(snapshot, bucket * width) / width);
    if (bucket > group->old.high) break;
    for (uint64_t end = bucket; end < bucket + group->buckets; ++end)
      test(*watch, group, *value(snapshot, watch, end, group->buckets, true));
    ++bucket;
  }
  group->old.low = bucket;
  if (group->old.low > group->old.high) group->old = {};
}

// Merges all writers' buckets. Returns false if a writer is ahead of the snapshot; sets `is_gone` if a bucket has been
// evicted from the ring.
bool TriggerEngine::merge_buckets(const Snapshot& snapshot, const Watch& watch, uint64_t begin, uint64_t end,
                                  Window* window, bool* is_gone) {
  const Aggregate& aggregate = *watch.aggregate;
  std::vector<uint64_t> state(aggregate.function->words());
  Buckets::Copy copy;
  for (const Snapshot::View& view : snapshot.views()) {
    const Aggregate::PerWriter* own_writer = aggregate.per_writer[view.log->number()].load(std::memory_order_acquire);
    if (own_writer == nullptr) continue;
    for (uint64_t bucket = begin; bucket <= end; ++bucket) {
      if (!own_writer->buckets->read(own_writer->buckets->slot_of(bucket), &copy)) return false;
      if (!copy.used || copy.bucket < bucket) continue;
      if (copy.bucket > bucket) return *is_gone = true, true;
      if (copy.version > view.tail) return false;
      aggregate.function->merge(Cells(state.data()), Cells(copy.state.data()));
    }
  }
  window->outputs = aggregate.function->outputs(Cells(state.data()));
  if (aggregate.grouped != nullptr) window->groups = aggregate.grouped->groups(Cells(state.data()));
  return true;
}

const TriggerEngine::Window* TriggerEngine::value(const Snapshot& snapshot, Watch* watch, uint64_t end,
                                                  uint32_t buckets, bool fold) {
  for (const Window& window : watch->cache) {
    // A window that is not known has no value, so with `fold`, it is computed again from the log.
    if (window.end == end && window.buckets == buckets && (window.known || !fold)) return &window;
  }
  ++statistics_.windows;
  Window window{end, buckets, true, {}, {}};
  const uint64_t begin = end + 1 >= buckets ? end + 1 - buckets : 0;
  bool is_gone = fold;
  if (!fold) window.known = merge_buckets(snapshot, *watch, begin, end, &window, &is_gone);
  if (is_gone) {
    const Aggregate& aggregate = *watch->aggregate;
    std::vector<uint64_t> state =
        log_.fold(snapshot, aggregate, begin * aggregate.bucket_ns, (end + 1) * aggregate.bucket_ns);
    window.outputs = aggregate.function->outputs(Cells(state.data()));
    if (aggregate.grouped != nullptr) window.groups = aggregate.grouped->groups(Cells(state.data()));
  }
  watch->cache.push_back(std::move(window));
  return &watch->cache.back();
}

void TriggerEngine::test(const Watch& watch, Group* group, const Window& window) {
  static const Schema schema = empty_schema();
  auto holds = [&](size_t i, const std::vector<Number>& outputs) {
    if (group->conditions[i].simple) return holds_simply(group->conditions[i], outputs);
    const uint8_t no_row[8] = {};
    return group->triggers[i]->condition.matches(
        no_row, schema, [&](const AggregateRef& reference) { return outputs[reference.output]; });
  };
  for (size_t i = 0; i < group->triggers.size(); ++i) {
    if (watch.aggregate->grouped == nullptr) {
      if (holds(i, window.outputs)) raise(watch, group->triggers[i].get(), window, window.outputs, {});
      continue;
    }
    for (const auto& part : window.groups) {
      if (!part.is_rest && holds(i, part.outputs))
        raise(watch, group->triggers[i].get(), window, part.outputs, part.keys);
    }
  }
}

void TriggerEngine::raise(const Watch& watch, Trigger* trigger, const Window& window, const std::vector<Number>& values,
                          const std::vector<uint64_t>& keys) {
  const uint64_t width = watch.aggregate->bucket_ns, end_ns = (window.end + 1) * width;
  for (const auto& remembered : trigger->alerted) {
    const uint64_t distance = remembered.end > end_ns ? remembered.end - end_ns : end_ns - remembered.end;
    if (remembered.keys == keys && distance < trigger->cooldown_ns) {
      ++statistics_.suppressed;
      return;
    }
  }
  if (trigger->alerted.size() < kRememberedAlerts)
    trigger->alerted.push_back({end_ns, keys});
  else
    trigger->alerted[trigger->next_alerted++ % kRememberedAlerts] = {end_ns, keys};
  ++statistics_.alerts;
  const uint64_t length_ns = window.buckets * width;
  Alert alert{trigger->spec.name,
              trigger->spec.severity,
              end_ns > length_ns ? end_ns - length_ns : 0,
              end_ns,
              values,
              keys,
              watch.newest > window.end + 1 + window.buckets};
  push_(alert);
}

}  // namespace tapline::multilog
