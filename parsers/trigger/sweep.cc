#include "parsers/trigger/sweep.h"

#include <algorithm>
#include <utility>

#include "parsers/api/bits.h"

namespace tapline::trigger {
namespace {

constexpr uint32_t kTriggersPerStep = 2;
constexpr uint32_t kStepsPerEvent = 8;
constexpr uint32_t kClearedPerStep = 4;
// Cells or groups that are prefetched ahead of the current one.
constexpr uint32_t kAhead = 8;

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
      first_(channel_.bits()),
      events_(channel_.bits()),
      alerts_(hasher, options.max_alert_states),
      silent_(hasher, options.max_silent_groups) {
  for (Gather* lane : lanes) lanes_.push_back(&lane->ring(channel));
  touched_.reserve(channel_.bits());
  reported_.reserve(channel_.bits());
  for (uint32_t bit = channel_.first_bit(); bit < channel_.first_bit() + channel_.bits(); ++bit) {
    if (!program.has_trigger(bit) || !program.compiled(bit).holds_when_empty()) continue;
    if (!channel_.grouped) true_when_empty_.push_back(bit);
    for (const GroupKey& group : program.compiled(bit).named_groups) silent_.name({bit, group});
  }
  if (!channel_.early.empty() && !channel_.grouped) make_limits();
  if (channel_.sketches != 0) make_sketch_sums();
}

bool Sweep::has_work() const {
  if (phase_ != Phase::kWait && !is_looking()) return true;
  return std::any_of(lanes_.begin(), lanes_.end(), [this](const WindowRing* lane) {
    const Window* newest = lane->newest_closed();
    return newest != nullptr && newest->end_ns > swept_until_ns_;
  });
}

uint32_t Sweep::run(uint32_t work) {
  while (work > 0) {
    if (phase_ == Phase::kWait && !begin() && !begin_look()) return work;
    const uint32_t before = work;
    const bool looking = is_looking();
    const bool done = step(&work);
    if (looking) look_steps_ += before - work;
    if (done) end_phase();
  }
  return 0;
}

void Sweep::end_phase() {
  part_ = place_ = 0;
  if (phase_ == Phase::kForget) return finish();
  if (phase_ == Phase::kLookAtTriggers || phase_ == Phase::kLookAtGroups) {
    next_look_ns_ = look_ns_ + std::exchange(look_steps_, 0) * kLookNsPerStep;
    phase_ = Phase::kWait;
    return;
  }
  phase_ = static_cast<Phase>(static_cast<int>(phase_) + 1);
  if (phase_ == Phase::kSilent) silent_.begin();
  if (phase_ == Phase::kForget) alerts_.begin_forgetting();
}

// Continues the current phase. Returns true if it is done.
bool Sweep::step(uint32_t* work) {
  switch (phase_) {
    case Phase::kLinks:
      return !channel_.grouped || channel_.panes() == 1 || link_groups(work);
    case Phase::kCells:
      return add_cells(work);
    case Phase::kGroups:
      return !channel_.grouped || test_groups(work);
    case Phase::kSilent:
      return silent_.test(work, end_ns(), channel_.every_ns,
                          [&](const SilentGroups::Key& key) { return test_silent_group(key, work); });
    case Phase::kTriggers:
      return test_triggers(work);
    case Phase::kClear:
      return clear(work);
    case Phase::kLookAtCells:
      return evaluate_cells(work);
    case Phase::kLookAtTriggers:
      return look_at_triggers(work);
    case Phase::kLookAtGroups:
      return evaluate_groups(work);
    default:
      return alerts_.forget(work, program_, end_ns());
  }
}

bool Sweep::begin() {
  int64_t passed_ns = INT64_MAX;
  for (const WindowRing* lane : lanes_) passed_ns = std::min(passed_ns, lane->passed_ns());
  if (passed_ns == WindowRing::kNever) return false;
  if (swept_until_ns_ == WindowRing::kNever) {
    int64_t started_ns = INT64_MAX;
    for (const WindowRing* lane : lanes_) started_ns = std::min(started_ns, lane->started_ns());
    swept_until_ns_ = started_ns - started_ns % channel_.every_ns;
  }
  return find_next(passed_ns);
}

// Starts the next window to sweep. Returns false if there is none. Windows without packets matter only if a trigger may
// be true without packets, or without packets of a group. A closed pane that has not been released belongs to the next
// window.
bool Sweep::find_next(int64_t passed_ns) {
  int64_t next_ns = passed_ns;
  for (const WindowRing* lane : lanes_) {
    const Window* oldest = lane->oldest_closed();
    if (oldest == nullptr) continue;
    const int64_t span_ns = options_.max_empty_windows * channel_.every_ns;
    const int64_t from_ns = oldest->end_ns - std::min(oldest->end_ns - oldest->start_ns, span_ns);
    next_ns = std::min(next_ns, std::max(from_ns, swept_until_ns_));
  }
  const int64_t empty = (next_ns - swept_until_ns_) / channel_.every_ns;
  if (empty > 0 && tests_empty_windows()) {
    // No window is skipped until groups that had packets are forgotten, after SilentGroups::kWindows windows.
    const bool may_skip = !silent_.remembers(swept_until_ns_ + channel_.every_ns, channel_.every_ns);
    const int64_t skipped = may_skip ? std::max<int64_t>(0, empty - options_.max_empty_windows) : 0;
    unwatched_windows_ += static_cast<uint64_t>(skipped);
    next_ns = swept_until_ns_ + skipped * channel_.every_ns;
  }
  if (next_ns >= passed_ns) {
    swept_until_ns_ = std::max(swept_until_ns_, passed_ns);
    return false;
  }
  start(next_ns);
  return true;
}

void Sweep::start(int64_t latest_pane_ns) {
  start_ns_ = latest_pane_ns + channel_.every_ns - channel_.window_ns;
  // Keeps the counts of events that were reported before the window's end.
  report_ = {.channel = channel_number_,
             .start_ns = start_ns_,
             .end_ns = end_ns(),
             .events = report_.events,
             .suppressed_events = report_.suppressed_events};
  missing_packets_ = 0;
  parts_.clear();
  for (size_t lane = 0; lane < lanes_.size(); ++lane) start_lane(lane);
  part_ = place_ = 0;
  has_rest_ = false;
  std::fill(std::begin(rest_), std::end(rest_), 0);
  phase_ = Phase::kLinks;
}

// Collects the lane's panes of the window. The packets of a blind window belong to the last pane that it overlaps.
void Sweep::start_lane(size_t lane) {
  report_.partial = report_.partial || lanes_[lane]->started_ns() > start_ns_;
  for (size_t pane = 0;; ++pane) {
    Window* window = lanes_[lane]->closed_window(pane);
    if (window == nullptr || window->start_ns >= end_ns()) return;
    parts_.push_back({lane, pane, window, window->sets});
    report_.partial = report_.partial || window->blind;
    const uint64_t uncounted = window->end_ns <= end_ns() ? window->uncounted_packets : 0;
    missing_packets_ += window->lost_packets + uncounted;
    if (window->end_ns > latest_pane_ns()) report_.uncounted_packets += uncounted;
    if (window->end_ns > latest_pane_ns()) report_.lost_packets += window->lost_packets;
    if (!is_latest(parts_.back())) continue;
    report_.packets += window->packets;
    if (channel_.grouped) report_.groups += window->groups()->size();
    if (sketches_) report_.missed_values += window->sketches()->missed();
  }
}

bool Sweep::link_groups(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_, place_ = 0) {
    const Part& part = parts_[part_];
    if (!is_latest(part) || part.earlier == 0) continue;
    const GroupTable& groups = *part.window->groups();
    for (; place_ < groups.size(); ++place_) {
      if (*work == 0) return false;
      GroupTable::Entry& entry = groups.entry(place_ + 1);
      *work = less(*work, 1 + (entry.is_first() ? link_group(part_, &entry) : 0));
    }
  }
  return true;
}

// Links the group to the latest earlier pane that contains it. Returns the number of panes that were searched.
uint32_t Sweep::link_group(size_t part, GroupTable::Entry* group) {
  const uint64_t hash = hasher_(group->key);
  const auto panes = static_cast<uint32_t>(parts_[part].earlier);
  for (uint32_t back = 1; back <= panes; ++back) {
    const GroupTable& groups = *parts_[part - back].window->groups();
    const uint32_t older = groups.find(group->key, hash);
    if (older == 0) continue;
    groups.entry(older).has_newer = true;
    group->panes_back = static_cast<uint8_t>(back & 0x7f);
    group->older = older & 0xffffff;
    return back;
  }
  return panes;
}

bool Sweep::add_cells(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_, place_ = 0) {
    const Part& part = parts_[part_];
    const auto cells = part.window->touched_cells();
    for (; place_ < cells.size(); ++place_) {
      if (*work == 0) return false;
      if (place_ + kAhead < cells.size()) part.window->prefetch_counter(cells[place_ + kAhead]);
      const Cell& cell = part.sets->cell(channel_number_, cells[place_]);
      const uint64_t* counter = part.window->counter_of(cells[place_]);
      add_cell(*part.sets, cell, counter);
      if (channel_.grouped && is_latest(part)) report_.rest_packets += counter[word_of(Measure::kPackets)];
      *work = less(*work, 1 + cell.trigger_count / kTriggersPerStep);
    }
  }
  // Triggers that are true without packets are tested in each window.
  for (const uint32_t bit : true_when_empty_) {
    if (total(bit)[kTouched] == 0) {
      touched_.push_back(bit);
      first_[bit - channel_.first_bit()].part = kNoPart;
    }
    total(bit)[kTouched] = 1;
  }
  return true;
}

void Sweep::add_cell(const MatchSets& sets, const Cell& cell, const uint64_t* counter) {
  if (channel_.grouped) {
    has_rest_ = true;
    merge(rest_, counter, channel_.lines);
  }
  for (const Program::Word& word : sets.words_of(cell)) {
    for (const uint32_t bit : SetBits(word.bits)) {
      uint64_t* counts = total(word.index * 64 + bit);
      const uint32_t index = word.index * 64 + bit - channel_.first_bit();
      const Place place = {static_cast<uint32_t>(part_), place_};
      if (counts[kTouched] == 0) {
        touched_.push_back(word.index * 64 + bit);
        first_[index] = place;
      }
      if (sketches_) sketched_cells_.add(index, place);
      merge(counts, counter, channel_.lines);
    }
  }
}

bool Sweep::test_groups(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_, place_ = 0) {
    const GroupTable& groups = *parts_[part_].window->groups();
    for (; place_ < groups.size(); ++place_) {
      if (*work == 0) return false;
      const GroupTable::Entry& entry = groups.entry(place_ + 1);
      if (waiting_.empty()) {
        --*work;
        if (place_ + kAhead < groups.size()) groups.prefetch_entry_number(place_ + 1 + kAhead);
        if (entry.is_first() && !entry.has_newer) test_group(part_, entry, work);
      }
      if (!test_waiting(entry.key, work)) return false;
    }
  }
  return true;
}

// Collects the group's counters in this part, and in earlier panes of its lane.
void Sweep::collect(size_t part, const GroupTable::Entry* first) {
  while (true) {
    const Part& window_part = parts_[part];
    const GroupTable& groups = *window_part.window->groups();
    for (const GroupTable::Entry* entry = first;; entry = &groups.entry(entry->next)) {
      counted_.push_back({window_part.sets, &window_part.sets->cell(channel_number_, entry->cell), entry->counter(),
                          window_part.window->counter_of(entry->cell), window_part.window, entry});
      if (entry->next == 0) break;
    }
    if (first->panes_back == 0 || first->panes_back > window_part.earlier) return;
    part -= first->panes_back;
    first = &parts_[part].window->groups()->entry(first->older);
  }
}

// Collects the group's counters in other lanes. Returns false if the group is tested with an earlier lane.
bool Sweep::collect_other_lanes(size_t lane, const GroupKey& key) {
  const uint64_t hash = hasher_(key);
  size_t found_in = lane;
  for (size_t part = parts_.size(); part-- > 0;) {
    if (parts_[part].lane == found_in || parts_[part].lane == lane) continue;
    const GroupTable& groups = *parts_[part].window->groups();
    const uint32_t number = groups.find(key, hash);
    if (number == 0) continue;
    found_in = parts_[part].lane;
    if (found_in < lane) return false;
    collect(part, &groups.entry(number));
  }
  return true;
}

// Tests all triggers of the group, or adds them to waiting_ if they use sketches.
void Sweep::test_group(size_t part, const GroupTable::Entry& first, uint32_t* work) {
  clear_counted();
  collect(part, &first);
  if (lanes_.size() > 1) {
    *work = less(*work, static_cast<uint32_t>(parts_.size()));
    if (!collect_other_lanes(parts_[part].lane, first.key)) return;
  }
  *work = less(*work, static_cast<uint32_t>(counted_.size()) - 1);
  // No trigger's count exceeds the sum of the group's counters and of the packets counted without a group.
  Counts all;
  const uint64_t* bound = counted_[0].counter;
  if (counted_.size() > 1 || has_rest_) {
    for (const Counted& counted : counted_) merge(all.low.data(), counted.counter, channel_.lines);
    add_rest(
        rest_, [](const Counted&) { return true; }, &all);
    bound = all.high.data();
  }
  for (size_t i = 0; i < counted_.size(); ++i) {
    const bool is_repeated = i > 0 && counted_[i].cell == counted_[i - 1].cell;
    if (is_repeated || !counted_[i].cell->may_hold(bound)) continue;
    visit_triggers(i, [&](uint32_t bit) {
      if (sketches_) {
        waiting_.push_back(bit);
      } else {
        test_group_trigger(bit, first.key, work);
      }
    });
    *work = less(*work, counted_[i].cell->trigger_count);
  }
}

// Returns true if an earlier cell of the group contains the trigger, which is then tested with that cell. (If no
// trigger of that cell can be true, then neither can this one.)
bool Sweep::is_in_earlier(size_t counted, uint32_t bit) const {
  return std::any_of(counted_.begin(), counted_.begin() + static_cast<ptrdiff_t>(counted),
                     [bit](const Counted& earlier) { return earlier.sets->contains(*earlier.cell, bit); });
}

// Tests a trigger for the current group. Returns false if the work was used up: call it again.
bool Sweep::test_group_trigger(uint32_t bit, const GroupKey& key, uint32_t* work) {
  Counts counts = count_of_group(bit);
  add_rest(
      total(bit), [bit](const Counted& counted) { return counted.sets->contains(*counted.cell, bit); }, &counts);
  if (!judge(bit, &counts, EventScope::kGroup, key, work)) return false;
  if (program_.compiled(bit).holds_when_empty()) silent_.see({bit, key}, end_ns());
  return true;
}

// Tests a group that has no counter. Packets counted without their group may belong to it.
bool Sweep::test_silent_group(const SilentGroups::Key& key, uint32_t* work) {
  if (!is_summing_) clear_counted();
  Counts counts;
  add_rest(
      total(key.bit), [](const Counted&) { return false; }, &counts);
  return judge(key.bit, &counts, EventScope::kGroup, key.group, work);
}

// Returns the lower bounds of the trigger's counts in the current group.
Counts Sweep::count_of_group(uint32_t bit) const {
  Counts counts;
  for (const Counted& counted : counted_) {
    if (counted.sets->contains(*counted.cell, bit)) merge(counts.low.data(), counted.counter, channel_.lines);
  }
  return counts;
}

// Sets counts->high, which includes packets counted without their group. A cell that has a counter for the group has
// had it since the group's first packet, so packets that such a cell counted without a group do not belong to this one.
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
  if (place_ == 0 && !is_summing_) clear_counted();
  for (; place_ < touched_.size(); ++place_) {
    if (*work == 0) return false;
    const uint64_t events = event_count();
    if (!test_trigger(touched_[place_], work)) return false;
    *work = less(*work, 1 + static_cast<uint32_t>(event_count() - events) * kStepsPerEvent);
  }
  touched_.clear();
  sketched_cells_.clear();
  return true;
}

// Tests a trigger on its totals. Returns false if the work was used up: call it again.
bool Sweep::test_trigger(uint32_t bit, uint32_t* work) {
  Counts counts;
  uint64_t* counter = total(bit);
  std::copy(counter, counter + words_, counts.high.begin());
  if (!channel_.grouped) counts.low = counts.high;
  if (!judge(bit, &counts, channel_.grouped ? EventScope::kRest : EventScope::kAll, {}, work)) return false;
  std::fill(counter, counter + words_, 0);
  if (sketches_) sketched_cells_.forget(bit - channel_.first_bit());
  return true;
}

// Returns false if counts with these upper bounds can't cause an event.
bool Sweep::may_meet(uint32_t bit, const uint64_t* high) const {
  const auto& threshold = program_.compiled(bit).threshold;
  if (!threshold) return true;
  const int word = threshold->measure == Measure::kBurst ? kBurstHigh : word_of(threshold->measure);
  return static_cast<double>(high[word]) >= threshold->min;
}

// Reports the trigger if it is true. Returns false if the work was used up: call it again.
bool Sweep::judge(uint32_t bit, Counts* counts, EventScope scope, const GroupKey& key, uint32_t* work) {
  if (!may_meet(bit, counts->high.data())) return true;
  if (sketches_) {
    if (!sum_sketches(bit, counts->high != counts->low, work)) return false;
    counts->sketches = sketches_.get();
  }
  Event event;
  event.scope = scope;
  event.group = key;
  if (is_alert(bit, *counts, &event)) report(bit, &event);
  return true;
}

// Clears and releases the panes that the next window does not need.
bool Sweep::clear(uint32_t* work) {
  for (; part_ < parts_.size(); ++part_) {
    const Part& part = parts_[part_];
    if (part.window->end_ns > start_ns_ + channel_.every_ns) continue;
    uint32_t counters = *work < UINT32_MAX / kClearedPerStep ? *work * kClearedPerStep : UINT32_MAX;
    const bool cleared = part.window->clear(&counters);
    *work = std::min(*work, counters / kClearedPerStep);
    if (!cleared) return false;
    lanes_[part.lane]->release();
  }
  return true;
}

void Sweep::finish() {
  restore_limits();
  for (const uint32_t bit : reported_) events_[bit - channel_.first_bit()] = 0;
  reported_.clear();
  swept_until_ns_ = end_ns();
  phase_ = Phase::kWait;
  report_.untracked_alerts = alerts_.untracked() - untracked_;
  untracked_ = alerts_.untracked();
  report_.untracked_groups = silent_.untracked() - untracked_groups_;
  untracked_groups_ = silent_.untracked();
  sink_->on_window(report_);
  report_ = {};
}

}  // namespace tapline::trigger
