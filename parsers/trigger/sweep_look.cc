// Tests open windows, to report conditions before their window ends.
#include <algorithm>
#include <utility>

#include "parsers/api/bits.h"
#include "parsers/trigger/sweep.h"

namespace tapline::trigger {
namespace {

// Higher than in a sweep, since only one word of a counter is added for each trigger.
constexpr uint32_t kSumsPerStep = 8;
constexpr uint32_t kLimitsPerStep = 32;

bool is_maximum(uint32_t word) { return word >= static_cast<uint32_t>(word_of(Measure::kMaxBytes)); }

}  // namespace

void Sweep::look(Window* open_window, int64_t time_ns) {
  if (channel_.early.empty()) return;
  open_ = open_window;
  look_ns_ = time_ns;
}

bool Sweep::begin_look() {
  Window* window = std::exchange(open_, nullptr);
  if (window == nullptr || window->start_ns != swept_until_ns_ || look_ns_ < next_look_ns_) return false;
  look_until_ = channel_.grouped ? window->reached.size() : window->touched_cells().size();
  if (look_until_ == 0) return false;
  start_ns_ = window->start_ns;
  report_.partial = lanes_[0]->started_ns() > start_ns_;
  missing_packets_ = window->lost_packets;
  looked_ns_ = look_ns_;
  parts_.assign({{0, 0, window, window->sets}});
  part_ = place_ = 0;
  phase_ = channel_.grouped ? Phase::kLookAtGroups : Phase::kLookAtCells;
  return true;
}

void Sweep::make_limits() {
  limits_.assign(channel_.bits(), {kTouched, kNever});
  sums_.assign(channel_.bits(), 0);
  changed_limits_.reserve(2 * channel_.bits());
  for (uint32_t index = 0; index < channel_.bits(); ++index) {
    if (!program_.has_trigger(channel_.first_bit() + index)) continue;
    const Program::Compiled& trigger = program_.compiled(channel_.first_bit() + index);
    if (!trigger.fires_early()) continue;
    limits_[index] = {static_cast<uint32_t>(word_of(trigger.threshold->measure)),
                      static_cast<uint64_t>(trigger.threshold->min)};
  }
}

void Sweep::restore_limits() {
  for (const uint32_t index : changed_limits_) {
    const Program::Compiled& trigger = program_.compiled(channel_.first_bit() + index);
    limits_[index].min = static_cast<uint64_t>(trigger.threshold->min);
  }
  changed_limits_.clear();
}

// Packets may be counted in the window between two steps. The sums may lack them, but never exceed the counts.
bool Sweep::evaluate_cells(uint32_t* work) {
  const Part& part = parts_[0];
  for (; place_ < look_until_; ++place_) {
    if (*work == 0) return false;
    const uint32_t number = part.window->touched_cells()[place_];
    const Cell& cell = part.sets->cell(channel_number_, number);
    *work = less(*work, 1 + cell.trigger_count / kSumsPerStep);
    if (cell.thresholds == 0) continue;
    const uint64_t* counter = part.window->counter_of(number);
    for (const Program::Word& word : part.sets->words_of(cell)) {
      for (const uint32_t bit : SetBits(word.bits)) {
        const uint32_t index = word.index * 64 + bit - channel_.first_bit();
        const uint32_t counted = limits_[index].word;
        uint64_t& sum = sums_[index];
        if (sum == 0) first_[index] = {0, place_};
        sum = is_maximum(counted) ? std::max(sum, counter[counted]) : sum + counter[counted];
      }
    }
  }
  return true;
}

bool Sweep::look_at_triggers(uint32_t* work) {
  while (place_ < limits_.size()) {
    if (*work == 0) return false;
    --*work;
    const size_t until = std::min<size_t>(limits_.size(), place_ + kLimitsPerStep);
    for (; place_ < until; ++place_) {
      Limit& limit = limits_[place_];
      const uint64_t sum = std::exchange(sums_[place_], 0);
      if (sum < limit.min || limit.min == kNever) continue;
      Counts counts;
      counts.low[limit.word] = sum;
      const uint64_t next = look_at_trigger(channel_.first_bit() + place_, &counts, EventScope::kAll, {});
      if (next == std::exchange(limit.min, next)) continue;
      changed_limits_.push_back(place_);
      *work = less(*work, 1);
    }
  }
  return true;
}

bool Sweep::evaluate_groups(uint32_t* work) {
  Window& window = *parts_[0].window;
  for (; place_ < look_until_; ++place_) {
    if (*work == 0) return false;
    evaluate_group_once(&window.groups()->entry(window.reached[place_]), work);
  }
  window.reached.erase(window.reached.begin(), window.reached.begin() + static_cast<ptrdiff_t>(look_until_));
  return true;
}

void Sweep::evaluate_group_once(GroupTable::Entry* group, uint32_t* work) {
  counted_.clear();
  collect(0, group);
  uint64_t next = kNever;
  for (size_t i = 0; i < counted_.size(); ++i) {
    visit_triggers(i, [&](uint32_t bit) {
      if (!program_.compiled(bit).fires_early()) return;
      Counts counts = count_of_group(bit);
      next = std::min(next, look_at_trigger(bit, &counts, EventScope::kGroup, group->key));
    });
    *work = less(*work, 1 + counted_[i].cell->trigger_count);
  }
  const bool needs_relisting = next != kNever && channel_.early.size() > 1;
  group->counter()[kTouched] = needs_relisting ? 0 : next;
}

// Reports the trigger if it is true, and sets the upper bounds of its counts. Returns the value at which it must be
// looked at again, or kNever if not in this window. REQUIRES: the trigger fires early.
uint64_t Sweep::look_at_trigger(uint32_t bit, Counts* counts, EventScope scope, const GroupKey& key) {
  const Program::Compiled& trigger = program_.compiled(bit);
  const AlertStates::Key alert = {bit, scope, key};
  if (alerts_.has_met(alert, end_ns())) return kNever;
  const Condition& condition = condition_of(trigger, alert);
  const auto min = static_cast<uint64_t>(condition.threshold()->min);
  if (counts->low[static_cast<size_t>(word_of(condition.threshold()->measure))] < min) return min;
  // If there is no room, the alert is reported at the window's end.
  if (!alerts_.has_room(alert)) return kNever;
  counts->high = counts->low;
  Event event;
  event.scope = scope;
  event.group = key;
  event.verdict = condition.test(*counts, &event.value);
  if (alerts_.meet(alert, trigger, last_end_ns(), end_ns())) report(bit, &event);
  return kNever;
}

}  // namespace tapline::trigger
