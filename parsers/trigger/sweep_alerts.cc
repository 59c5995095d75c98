#include <algorithm>

#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

// Returns true if the event must be reported, and sets its value and verdict. REQUIRES: its scope and group are set.
bool Sweep::is_alert(uint32_t bit, const Counts& counts, Event* event) {
  const Program::Compiled& trigger = program_.compiled(bit);
  const AlertStates::Key key = {bit, event->scope, event->group};
  const Condition& condition = condition_of(trigger, key);
  event->verdict = condition.test(counts, &event->value);
  if (trigger.partial) return true;
  if (&condition != &trigger.condition) trigger.condition.test(counts, &event->value);
  if (event->verdict == Verdict::kFalse || (report_.partial && !condition.rises())) return false;
  if (!channel_.early.empty() && alerts_.has_met(key, end_ns())) return false;  // it was reported before
  if (missing_packets_ > 0 && !condition.rises()) event->verdict = Verdict::kPossible;
  return !trigger.has_state() || alerts_.meet(key, trigger, last_end_ns(), end_ns());
}

const Condition& Sweep::condition_of(const Program::Compiled& trigger, const AlertStates::Key& key) const {
  const bool clears = trigger.clear && alerts_.was_in_force(key, last_end_ns());
  return clears ? *trigger.clear : trigger.condition;
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
  event->ready_ns = is_looking() ? std::max(looked_ns_, parts_[0].window->latest_ns) : end_ns();
  event->partial = report_.partial;
  event->lost_packets = missing_packets_;
  name_exemplars(bit, event);
  sink_->on_event(*event);
}

}  // namespace tapline::trigger
