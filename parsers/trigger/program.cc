#include "parsers/trigger/program.h"

#include <algorithm>
#include <map>
#include <optional>

#include "parsers/api/bits.h"
#include "parsers/trigger/named_groups.h"

namespace tapline::trigger {
namespace {

std::string error_in(const Trigger& trigger, const std::string& reason) {
  return "Trigger " + std::to_string(trigger.id) + ": " + reason;
}

bool has_wrong_prefix(const std::vector<Prefix>& list) {
  return std::any_of(list.begin(), list.end(), [](const Prefix& prefix) { return prefix.bits > 128; });
}

int64_t window_ns_of(const Trigger& trigger) { return trigger.window_ns == 0 ? trigger.every_ns : trigger.window_ns; }

// Returns the reason why the trigger's windows can't be divided into panes, or an empty string.
std::string fault_of_panes(const Trigger& trigger, const Program::Compiled& compiled) {
  const int64_t window_ns = window_ns_of(trigger);
  if (window_ns < trigger.every_ns || window_ns % trigger.every_ns != 0) {
    return "its window is not a multiple of its interval.";
  }
  if (window_ns / trigger.every_ns > Program::kMaxPanes) {
    return "its window is longer than " + std::to_string(Program::kMaxPanes) + " times its interval.";
  }
  if (window_ns > Program::kMaxWindowNs) return "its window is longer than a day.";
  if (window_ns == trigger.every_ns) return "";
  if (compiled.uses(Measure::kBurst)) return "bursts can't be counted in windows that overlap.";
  if (compiled.uses(Measure::kInFlightBytes) || compiled.uses(Measure::kUnackedBytes)) {
    return "bytes in flight can't be counted in windows that overlap.";
  }
  return "";
}

// Returns the reason why the trigger is invalid, or an empty string.
std::string fault_of(const Trigger& trigger, const Program::Compiled& compiled) {
  const GroupBy& group_by = trigger.group;
  if (has_wrong_prefix(trigger.filter.src) || has_wrong_prefix(trigger.filter.dst) || group_by.src_v6_bits > 128 ||
      group_by.dst_v6_bits > 128 || group_by.src_v4_bits > 32 || group_by.dst_v4_bits > 32) {
    return "a prefix is longer than an address.";
  }
  if (trigger.every_ns < Program::kMinWindowNs) return "its interval is shorter than a millisecond.";
  if (trigger.every_ns > Program::kMaxWindowNs) return "its interval is longer than a day.";
  if (const std::string fault = fault_of_panes(trigger, compiled); !fault.empty()) return fault;
  if (compiled.uses(Measure::kBurst) &&
      (trigger.burst_ns < 8 || trigger.burst_ns % 8 != 0 || trigger.burst_ns > trigger.every_ns)) {
    return "the span of a burst must be a multiple of 8 ns and must not exceed the window.";
  }
  if (trigger.cooldown_ns < 0 || trigger.cooldown_ns > Program::kMaxWindowNs)
    return "its cooldown is not between 0 and a day.";
  if (trigger.partial && compiled.has_state()) return "it is partial, so it can have no alerts.";
  return "";
}

// Returns the lower of the two conditions' thresholds; counts below it meet neither condition. Returns nullopt if there
// is none.
std::optional<Condition::Threshold> lower_threshold(const Condition& when, const std::optional<Condition>& clear) {
  if (!clear || !when.threshold()) return when.threshold();
  if (!clear->threshold() || clear->threshold()->measure != when.threshold()->measure) return std::nullopt;
  auto lower = clear->threshold()->min < when.threshold()->min ? clear->threshold() : when.threshold();
  lower->is_compared = clear->threshold()->is_compared && when.threshold()->is_compared;
  return lower;
}

std::vector<SketchTerm> terms_of(const Program::Compiled& trigger) {
  const auto own = trigger.condition.sketch_terms();
  std::vector<SketchTerm> terms(own.begin(), own.end());
  if (!trigger.clear) return terms;
  for (const SketchTerm& term : trigger.clear->sketch_terms()) {
    if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(term);
  }
  return terms;
}

// Compiles the trigger's conditions into *compiled. Returns the reason why they are invalid, or an empty string.
std::string compile(Trigger* trigger, Program::Compiled* compiled) {
  std::string fault;
  auto when = Condition::make(std::move(trigger->when), &fault);
  if (!when) return fault;
  compiled->id = trigger->id;
  compiled->condition = *std::move(when);
  if (!trigger->clear.empty()) {
    compiled->clear = Condition::make(std::move(trigger->clear), &fault);
    if (!compiled->clear) return fault;
  }
  compiled->after = trigger->after;
  compiled->cooldown_ns = trigger->cooldown_ns;
  compiled->sketch_terms = terms_of(*compiled);
  compiled->partial = trigger->partial;
  // All groups with packets are reported, and no others.
  if (trigger->partial) return "";
  if (compiled->holds_when_empty()) compiled->named_groups = named_groups(trigger->group, trigger->filter);
  compiled->threshold = lower_threshold(compiled->condition, compiled->clear);
  return "";
}

void limit(const Condition::Threshold& threshold, Channel* channel) {
  const auto word = static_cast<uint32_t>(word_of(threshold.measure));
  const auto min = static_cast<uint64_t>(threshold.min);
  for (Channel::Limit& known_limit : channel->early) {
    if (known_limit.word != word) continue;
    known_limit.min = std::min(known_limit.min, min);
    return;
  }
  channel->early.push_back({word, min});
}

bool has_too_many_values(const std::vector<Trigger>& triggers) {
  size_t values[6] = {};
  for (const Trigger& trigger : triggers) {
    const Filter& filter = trigger.filter;
    size_t field = 0;
    for (const size_t listed : {filter.src.size(), filter.dst.size(), filter.src_ports.size(), filter.dst_ports.size(),
                                filter.vlans.size(), filter.network_ids.size()}) {
      values[field++] += listed;
    }
  }
  return *std::max_element(std::begin(values), std::end(values)) > Program::kMaxValues;
}

}  // namespace

SketchKinds Program::Compiled::sketches() const {
  SketchKinds kinds = 0;
  for (const SketchTerm& term : sketch_terms) kinds |= kind_of(term.measure);
  return kinds;
}

std::shared_ptr<const Program> Program::make(std::vector<Trigger> triggers, std::string* error, uint32_t max_groups) {
  std::shared_ptr<Program> program(new Program);
  program->max_groups_ = max_groups;
  *error = program->add(&triggers);
  return error->empty() ? program : nullptr;
}

int64_t Program::shortest_every_ns() const {
  int64_t shortest_ns = INT64_MAX;
  for (const Channel& channel : channels_) shortest_ns = std::min(shortest_ns, channel.every_ns);
  return shortest_ns;
}

std::string Program::add(std::vector<Trigger>* triggers) {
  if (triggers->size() > kMaxTriggers)
    return "A program can have at most " + std::to_string(kMaxTriggers) + " triggers.";
  if (has_too_many_values(*triggers)) {
    return "The triggers' filters list more than " + std::to_string(kMaxValues) + " values of a field.";
  }
  std::vector<std::vector<std::pair<const Trigger*, Compiled>>> members;
  for (Trigger& trigger : *triggers) {
    Compiled compiled;
    std::string fault = compile(&trigger, &compiled);
    if (fault.empty()) fault = fault_of(trigger, compiled);
    if (fault.empty() && trigger.partial != triggers->front().partial) fault = "only some triggers are partial.";
    size_t channel = 0;
    if (fault.empty()) fault = place(trigger, compiled, &channel);
    if (!fault.empty()) return error_in(trigger, fault);
    members.resize(channels_.size());
    members[channel].emplace_back(&trigger, std::move(compiled));
  }
  trigger_count_ = triggers->size();
  partial_ = !triggers->empty() && triggers->front().partial;
  std::vector<const Filter*> filters;
  for (size_t channel = 0; channel < channels_.size(); ++channel) {
    channels_[channel].first_word = static_cast<uint32_t>(compiled_.size() / 64);
    for (auto& [trigger, compiled] : members[channel]) {
      compiled_.push_back(std::move(compiled));
      filters.push_back(&trigger->filter);
    }
    compiled_.resize((compiled_.size() + 63) / 64 * 64);
    filters.resize(compiled_.size());
    channels_[channel].words = static_cast<uint32_t>(compiled_.size() / 64) - channels_[channel].first_word;
  }
  return make_classes(filters);
}

std::string Program::place(const Trigger& trigger, const Compiled& compiled, size_t* channel) {
  const bool bursts = compiled.uses(Measure::kBurst);
  const int64_t bin_ns = bursts ? trigger.burst_ns / 8 : 0;
  const bool is_sketched = compiled.sketches() != 0;
  needs_tcp_ = needs_tcp_ || compiled.lines() > 1 || (compiled.sketches() & kind_of(Measure::kRttQuantile)) != 0;
  if (compiled.uses(Measure::kInFlightBytes) || compiled.uses(Measure::kUnackedBytes)) {
    if (in_flight_window_ns_ != 0 && in_flight_window_ns_ != trigger.every_ns) {
      return "all triggers on bytes in flight must have windows of the same length.";
    }
    in_flight_window_ns_ = trigger.every_ns;
  }
  const auto use = [&](Channel* used) {
    used->lines = std::max(used->lines, compiled.lines());
    used->sketches |= compiled.sketches();
    if (used->panes() > 1 || used->every_ns <= kLongWindowNs || !compiled.fires_early()) return;
    limit(*compiled.threshold, used);
  };
  for (*channel = 0; *channel < channels_.size(); ++*channel) {
    Channel& candidate = channels_[*channel];
    if (candidate.by != trigger.group || candidate.every_ns != trigger.every_ns || candidate.burst_bin_ns != bin_ns)
      continue;
    if (candidate.window_ns != window_ns_of(trigger) || (candidate.sketches != 0) != is_sketched) continue;
    use(&candidate);
    return "";
  }
  if (channels_.size() == kMaxChannels) {
    return "a program can have at most " + std::to_string(kMaxChannels) +
           " combinations of group, window, span of bursts, and use of distinct values or percentiles.";
  }
  Channel added_channel;
  added_channel.by = trigger.group;
  added_channel.keys = GroupKeys(trigger.group);
  added_channel.grouped = trigger.group != GroupBy{};
  added_channel.every_ns = trigger.every_ns;
  added_channel.window_ns = window_ns_of(trigger);
  added_channel.burst_bin_ns = bin_ns;
  added_channel.singly = bursts;
  use(&added_channel);
  channels_.push_back(added_channel);
  return "";
}

std::string Program::make_classes(const std::vector<const Filter*>& filters) {
  const size_t bits = filters.size();
  const auto lists = [&](auto member) {
    std::vector<decltype(&(filters[0]->*member))> result(bits);
    for (size_t bit = 0; bit < bits; ++bit) result[bit] = filters[bit] == nullptr ? nullptr : &(filters[bit]->*member);
    return result;
  };
  source_ = PrefixClasses(lists(&Filter::src), bits);
  destination_ = PrefixClasses(lists(&Filter::dst), bits);
  src_port_ = TableClasses::of_ranges(lists(&Filter::src_ports), bits);
  dst_port_ = TableClasses::of_ranges(lists(&Filter::dst_ports), bits);
  bool fits = true;
  protocol_ = TableClasses::of_protocols(filters, bits, &fits);
  if (!fits) return "The triggers distinguish too many combinations of protocol and TCP flags.";
  vlan_ = ListedClasses(lists(&Filter::vlans), bits);
  network_id_ = ListedClasses(lists(&Filter::network_ids), bits);
  return "";
}

size_t Program::match(const ClassKey& key, Word* words) const {
  const uint64_t* rows[7];
  const uint64_t* summaries[7];
  int fields = 0;
  const auto use = [&](const auto& classes, uint16_t class_number) {
    if (classes.trivial() && fields > 0) return;
    rows[fields] = classes.rows().words(class_number);
    summaries[fields++] = classes.rows().summary(class_number);
  };
  use(source_, key.source());  // always: the padding bits of words are in no row
  use(destination_, key.destination());
  use(src_port_, key.src_port());
  use(dst_port_, key.dst_port());
  use(protocol_, key.protocol());
  use(vlan_, key.vlan());
  use(network_id_, key.network_id());
  size_t count = 0;
  for (size_t summary_word = 0; summary_word < source_.rows().summary_words(); ++summary_word) {
    uint64_t summary = summaries[0][summary_word];
    for (int field = 1; field < fields; ++field) summary &= summaries[field][summary_word];
    for (const uint32_t bit : SetBits(summary)) {
      const auto index = static_cast<uint32_t>(summary_word * 64 + bit);
      uint64_t word = rows[0][index];
      for (int field = 1; field < fields; ++field) word &= rows[field][index];
      if (word != 0) words[count++] = {word, index};
    }
  }
  return count;
}

}  // namespace tapline::trigger
