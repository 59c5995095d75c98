#include "parsers/trigger/sweep.h"

#include <algorithm>

#include "parsers/api/bits.h"

namespace tapline::trigger {
namespace {

constexpr uint32_t kTriggersPerStep = 16;

uint32_t less(uint32_t work, uint32_t steps) { return work - std::min(work, steps); }

}  // namespace

Sweep::Sweep(const Program& program, const GroupHasher& hasher, uint32_t channel, std::span<Gather* const> lanes,
             const SweepOptions& options, EventSink* sink)
    : program_(program),
      hasher_(hasher),
      channel_(program.channels()[channel]),
      channel_number_(channel),
      options_(options),
      sink_(sink),
      words_(static_cast<size_t>(channel_.lines) * kLineWords),
      totals_(channel_.bits() * words_),
      events_(channel_.bits()),
      alerts_(hasher, options.max_alert_states) {
  for (Gather* lane : lanes) parts_.push_back({nullptr, &lane->ring(channel), nullptr});
  touched_.reserve(channel_.bits());
  reported_.reserve(channel_.bits());
  for (uint32_t bit = channel_.first_bit(); bit < channel_.first_bit() + channel_.bits(); ++bit) {
    if (program.has_trigger(bit) && program.compiled(bit).holds_when_empty()) true_when_empty_.push_back(bit);
  }
}

bool Sweep::has_work() const {
  if (phase_ != Phase::kWait) return true;
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.ring->oldest_closed() != nullptr; });
}

uint32_t Sweep::run(uint32_t work) {
  while (work > 0) {
    if (phase_ == Phase::kWait && !begin()) return work;
    if (!step(&work)) continue;
    part_ = place_ = 0;
    if (phase_ == Phase::kForget) {
      finish();
    } else {
      phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
      if (phase_ == Phase::kForget) alerts_.begin_forgetting();
    }
  }
  return 0;
}

// Returns true if the phase is done.
bool Sweep::step(uint32_t* work) {
  switch (phase_) {
    case Phase::kCells:
      return add_cells(work);
    case Phase::kGroups:
      return !channel_.grouped || test_groups(work);
    case Phase::kTriggers:
      return test_triggers(work);
    case Phase::kClear:
      return clear(work);
    default:
      return alerts_.forget(work, program_, end_ns());
  }
}

bool Sweep::begin() {
  int64_t passed_ns = INT64_MAX;
  for (const Part& part : parts_) passed_ns = std::min(passed_ns, part.ring->passed_ns());
  if (passed_ns == WindowRing::kNever) return false;
  if (swept_until_ns_ == WindowRing::kNever) {
    int64_t started_ns = INT64_MAX;
    for (const Part& part : parts_) started_ns = std::min(started_ns, part.ring->started_ns());
    swept_until_ns_ = started_ns - started_ns % channel_.window_ns;
  }
  return find_next(passed_ns);
}

// Windows without packets matter only to triggers that are true for them.
bool Sweep::find_next(int64_t passed_ns) {
  int64_t next_ns = passed_ns;
  for (const Part& part : parts_) {
    const Window* oldest = part.ring->oldest_closed();
    if (oldest == nullptr) continue;
    const int64_t span_ns = options_.max_empty_windows * channel_.window_ns;
    const int64_t from_ns = oldest->end_ns - std::min(oldest->end_ns - oldest->start_ns, span_ns);
    next_ns = std::min(next_ns, std::max(from_ns, swept_until_ns_));
  }
  const int64_t empty = (next_ns - swept_until_ns_) / channel_.window_ns;
  if (empty > 0 && !true_when_empty_.empty()) {
    const int64_t skipped = std::max<int64_t>(0, empty - options_.max_empty_windows);
    unwatched_windows_ += static_cast<uint64_t>(skipped);
    next_ns = swept_until_ns_ + skipped * channel_.window_ns;
  }
  if (next_ns >= passed_ns) {
    swept_until_ns_ = std::max(swept_until_ns_, passed_ns);
    return false;
  }
  start(next_ns);
  return true;
}

void Sweep::start(int64_t start_ns) {
  start_ns_ = start_ns;
  report_ = {.channel = channel_number_, .start_ns = start_ns, .end_ns = end_ns()};
  for (Part& part : parts_) {
    Window* oldest = part.ring->oldest_closed();
    part.window = oldest != nullptr && oldest->start_ns <= start_ns ? oldest : nullptr;
    report_.partial = report_.partial || part.ring->started_ns() > start_ns;
    if (part.window == nullptr) continue;
    part.sets = part.window->sets;
    report_.partial = report_.partial || part.window->blind;
    report_.packets += part.window->packets;
    if (part.window->end_ns <= end_ns()) report_.lost_packets += part.window->lost_packets;
    if (channel_.grouped) report_.groups += part.window->groups()->size();
  }
  part_ = place_ = 0;
  has_rest_ = false;
  std::fill(std::begin(rest_), std::end(rest_), 0);
  phase_ = Phase::kCells;
}

bool Sweep::add_cells(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_, place_ = 0) {
    const Part& part = parts_[part_];
    if (part.window == nullptr) continue;
    const auto cells = part.window->touched_cells();
    for (; place_ < cells.size(); ++place_) {
      if (*work == 0) return false;
      const Cell& cell = part.sets->cell(channel_number_, cells[place_]);
      add_cell(*part.sets, cell, part.window->counter_of(cells[place_]));
      *work = less(*work, 1 + cell.trigger_count / kTriggersPerStep);
    }
  }
  // Triggers that are true without packets are tested in each window.
  for (const uint32_t bit : true_when_empty_) {
    if (total(bit)[kTouched] == 0) touched_.push_back(bit);
    total(bit)[kTouched] = 1;
  }
  return true;
}

void Sweep::add_cell(const MatchSets& sets, const Cell& cell, const uint64_t* counter) {
  if (channel_.grouped) {
    has_rest_ = true;
    merge(rest_, counter, channel_.lines);
    report_.rest_packets += counter[word_of(Measure::kPackets)];
  }
  for (const Program::Word& word : sets.words_of(cell)) {
    for (const uint32_t bit : SetBits(word.bits)) {
      uint64_t* into = total(word.index * 64 + bit);
      if (into[kTouched] == 0) touched_.push_back(word.index * 64 + bit);
      merge(into, counter, channel_.lines);
    }
  }
}

bool Sweep::test_groups(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_, place_ = 0) {
    if (parts_[part_].window == nullptr) continue;
    const GroupTable& groups = *parts_[part_].window->groups();
    for (; place_ < groups.size(); ++place_) {
      if (*work == 0) return false;
      --*work;
      const GroupTable::Entry& entry = groups.entry(place_ + 1);
      if (entry.is_first()) test_group(part_, entry, work);
    }
  }
  return true;
}

void Sweep::collect(const Part& part, const GroupTable::Entry* entry) {
  const GroupTable& groups = *part.window->groups();
  for (; entry != nullptr; entry = entry->next == 0 ? nullptr : &groups.entry(entry->next)) {
    counted_.push_back({part.sets, &part.sets->cell(channel_number_, entry->cell), entry->counter(),
                        part.window->counter_of(entry->cell)});
  }
}

void Sweep::test_group(size_t first_part, const GroupTable::Entry& first, uint32_t* work) {
  counted_.clear();
  collect(parts_[first_part], &first);
  if (parts_.size() > 1) {
    const uint64_t hash = hasher_(first.key);
    for (size_t part = 0; part < parts_.size(); ++part) {
      if (part == first_part || parts_[part].window == nullptr) continue;
      const GroupTable::Entry* other = parts_[part].window->groups()->find(first.key, hash);
      if (other != nullptr && part < first_part) return;  // tested with that part
      collect(parts_[part], other);
    }
  }
  // No trigger of the group counts more than the sum of all its counters.
  Counts all;
  const uint64_t* bound = counted_[0].counter;
  if (counted_.size() > 1 || has_rest_) {
    for (const Counted& counted : counted_) merge(all.low.data(), counted.counter, channel_.lines);
    add_rest(
        rest_, [](const Counted&) { return true; }, &all);
    bound = all.high.data();
  }
  for (size_t i = 0; i < counted_.size(); ++i) {
    if (!counted_[i].cell->may_hold(bound)) continue;
    for (const Program::Word& word : counted_[i].sets->words_of(*counted_[i].cell)) {
      for (const uint32_t bit : SetBits(word.bits)) {
        if (!is_in_earlier(i, word.index * 64 + bit)) test_group_trigger(word.index * 64 + bit, first.key);
      }
    }
    *work = less(*work, counted_[i].cell->trigger_count);
  }
}

// A trigger that several of the group's cells contain is tested with the first of them. (If no trigger of that cell can
// be true, then neither can this one.)
bool Sweep::is_in_earlier(size_t counted, uint32_t bit) const {
  return std::any_of(counted_.begin(), counted_.begin() + static_cast<ptrdiff_t>(counted),
                     [bit](const Counted& earlier) { return earlier.sets->contains(*earlier.cell, bit); });
}

void Sweep::test_group_trigger(uint32_t bit, const GroupKey& key) {
  Counts counts;
  const auto has_trigger = [bit](const Counted& counted) { return counted.sets->contains(*counted.cell, bit); };
  for (const Counted& counted : counted_) {
    if (has_trigger(counted)) merge(counts.low.data(), counted.counter, channel_.lines);
  }
  add_rest(total(bit), has_trigger, &counts);
  judge(bit, counts, EventScope::kGroup, key);
}

// Sets counts->high, which includes packets counted without their group. A cell that has a counter for the group has
// had it since the group's first packet, so the rest of such a cell does not belong to the group.
template <typename IsPart>
void Sweep::add_rest(const uint64_t* rest, IsPart is_part, Counts* counts) const {
  counts->high = counts->low;
  if (!has_rest_ || rest[kTouched] == 0) return;
  uint64_t left[kWords] = {};
  std::copy(rest, rest + words_, left);
  for (const Counted& counted : counted_) {
    if (!is_part(counted) || counted.rest[kTouched] == 0) continue;
    for (size_t word = 0; word < std::min(words_, size_t{16}); ++word) left[word] -= counted.rest[word];
    if (channel_.lines > 3) left[kBurstHigh] -= counted.rest[kBurstHigh];
  }
  if (left[kTouched] > 0) merge(counts->high.data(), left, channel_.lines);
}

bool Sweep::test_triggers(uint32_t* work) {
  for (; place_ < touched_.size(); ++place_) {
    if (*work == 0) return false;
    --*work;
    test_trigger(touched_[place_]);
  }
  touched_.clear();
  return true;
}

void Sweep::test_trigger(uint32_t bit) {
  Counts counts;
  uint64_t* of = total(bit);
  std::copy(of, of + words_, counts.high.begin());
  std::fill(of, of + words_, 0);
  if (!channel_.grouped) counts.low = counts.high;
  judge(bit, counts, channel_.grouped ? EventScope::kRest : EventScope::kAll, {});
}

void Sweep::judge(uint32_t bit, const Counts& counts, EventScope scope, const GroupKey& key) {
  const auto& threshold = program_.compiled(bit).threshold;
  if (threshold) {
    const auto word =
        static_cast<size_t>(threshold->measure == Measure::kBurst ? kBurstHigh : word_of(threshold->measure));
    if (static_cast<double>(counts.high[word]) < threshold->least) return;
  }
  Event event;
  event.scope = scope;
  event.group = key;
  if (is_alert(bit, counts, &event)) report(bit, &event);
}

// Sets the event's value and verdict. REQUIRES: its scope and group are set.
bool Sweep::is_alert(uint32_t bit, const Counts& counts, Event* event) {
  const Program::Compiled& trigger = program_.compiled(bit);
  const AlertStates::Key key = {bit, event->scope, event->group};
  const bool clears = trigger.clear && alerts_.was_in_force(key, start_ns_);
  const Condition& condition = clears ? *trigger.clear : trigger.condition;
  event->verdict = condition.test(counts, &event->value);
  if (event->verdict == Verdict::kFalse || (report_.partial && !condition.rises())) return false;
  if (report_.lost_packets > 0 && !condition.rises()) event->verdict = Verdict::kPossible;
  return !trigger.has_state() || alerts_.meet(key, trigger, start_ns_, end_ns());
}

void Sweep::report(uint32_t bit, Event* event) {
  uint32_t& events = events_[bit - channel_.first_bit()];
  if (events == 0) reported_.push_back(bit);
  if (++events > options_.max_events) {
    ++report_.suppressed_events;
    return;
  }
  ++report_.events;
  event->trigger = program_.compiled(bit).id;
  event->channel = channel_number_;
  event->window_start_ns = start_ns_;
  event->window_end_ns = end_ns();
  event->partial = report_.partial;
  event->lost_packets = report_.lost_packets;
  sink_->on_event(*event);
}

bool Sweep::clear(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_) {
    Part& part = parts_[part_];
    if (part.window == nullptr) continue;
    if (part.window->end_ns <= end_ns()) {
      if (!part.window->clear(work)) return false;
      part.ring->release();
    }
    part.window = nullptr;
  }
  return true;
}

void Sweep::finish() {
  for (const uint32_t bit : reported_) events_[bit - channel_.first_bit()] = 0;
  reported_.clear();
  swept_until_ns_ = end_ns();
  phase_ = Phase::kWait;
  report_.untracked_alerts = alerts_.untracked() - untracked_;
  untracked_ = alerts_.untracked();
  sink_->on_window(report_);
}

}  // namespace tapline::trigger
