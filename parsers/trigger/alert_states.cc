#include "parsers/trigger/alert_states.h"

namespace tapline::trigger {
namespace {

bool is_cooling(int64_t began_ns, int64_t end_ns, int64_t cooldown_ns) {
  return began_ns != INT64_MIN && end_ns - began_ns < cooldown_ns;
}

}  // namespace

bool AlertStates::was_in_force(const Key& key, int64_t end_ns) const {
  if (states_.empty()) return false;
  const auto it = states_.find(key);
  return it != states_.end() && it->second.in_force && it->second.met_until_ns == end_ns;
}

bool AlertStates::has_met(const Key& key, int64_t end_ns) const {
  if (states_.empty()) return false;
  const auto it = states_.find(key);
  return it != states_.end() && it->second.met_until_ns == end_ns;
}

bool AlertStates::meet(const Key& key, const Program::Compiled& trigger, int64_t last_end_ns, int64_t end_ns) {
  auto it = states_.find(key);
  if (it == states_.end()) {
    if (states_.size() == capacity_) {
      ++untracked_;
      return trigger.after <= 1;
    }
    it = states_.emplace(key, State{}).first;
  }
  State& state = it->second;
  if (state.met_until_ns != last_end_ns) {
    state.in_a_row = 0;
    state.in_force = false;
  }
  state.met_until_ns = end_ns;
  if (state.in_force) return true;
  if (state.in_a_row < UINT32_MAX) ++state.in_a_row;
  if (state.in_a_row < trigger.after || is_cooling(state.began_ns, end_ns, trigger.cooldown_ns)) return false;
  state.in_force = true;
  state.began_ns = end_ns;
  return true;
}

bool AlertStates::forget(uint32_t* work, const Program& program, int64_t end_ns) {
  for (; next_ != states_.end(); --*work) {
    if (*work == 0) return false;
    const auto& [key, state] = *next_;
    const bool matters =
        state.met_until_ns == end_ns || is_cooling(state.began_ns, end_ns, program.compiled(key.bit).cooldown_ns);
    next_ = matters ? std::next(next_) : states_.erase(next_);
  }
  return true;
}

}  // namespace tapline::trigger
