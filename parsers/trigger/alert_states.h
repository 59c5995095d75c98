#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "parsers/trigger/event.h"
#include "parsers/trigger/group_table.h"
#include "parsers/trigger/program.h"

namespace tapline::trigger {

// The state that a channel's alerts keep across windows, for `after`, `clear` and `cooldown`.
//
//   quiet ── met ──▶ meeting ── `after` windows in a row, cooldown over ──▶ in force ── not met, no packets ──▶ quiet
//
// Only groups that met a condition in the last window, or whose cooldown is not over, take memory. Their number is
// bounded. Not thread-safe.
class AlertStates {
 public:
  struct Key {
    uint32_t bit = 0;
    EventScope scope = EventScope::kAll;
    GroupKey group;
    friend bool operator==(const Key&, const Key&) = default;
  };

  // REQUIRES: the hasher outlives this object.
  AlertStates(const GroupHasher& hasher, size_t capacity) : capacity_(capacity), states_(0, Hash{&hasher}) {
    // Reserves memory, so that no lane waits while the table grows.
    states_.reserve(std::min(capacity, kReserved));
    next_ = states_.end();
  }

  // Returns true if the alert was in force in the window that ended at this time.
  bool was_in_force(const Key& key, int64_t end_ns) const;
  // Returns true if meet() has stored the key for the window that ends at this time.
  bool has_met(const Key& key, int64_t end_ns) const;
  // Returns true if meet() can store the key for a report before the window's end. Such keys take at most half of the
  // memory, so the rest stays free for triggers with states.
  bool has_room(const Key& key) const { return states_.size() < capacity_ / 2 || states_.contains(key); }
  // Records that the condition is met in this window: `when`, or `clear` for an alert that was in force in the previous
  // one. Returns true if the alert is in force in this window. `last_end_ns` is the end of the previous window.
  // REQUIRES: windows come in order, each at most once.
  bool meet(const Key& key, const Program::Compiled& trigger, int64_t last_end_ns, int64_t end_ns);

  // Removes states that no longer matter after the window that ended at this time. Call begin_forgetting() once, then
  // forget() until it returns true; each call takes up to *work steps.
  void begin_forgetting() { next_ = states_.begin(); }
  bool forget(uint32_t* work, const Program& program, int64_t end_ns);

  // Moves states to those of another program, in up to *work steps. `place` changes a key to the other program's key,
  // and returns the object to move the state to, or null to drop the state. Returns true when all are moved.
  template <typename Place>
  bool hand_over(uint32_t* work, Place place) {
    for (; !states_.empty(); --*work) {
      if (*work == 0) return false;
      auto state = states_.extract(states_.begin());
      AlertStates* target = place(&state.key());
      if (target != nullptr) target->take(std::move(state));
    }
    next_ = states_.end();
    return true;
  }

  size_t size() const { return states_.size(); }
  // Returns the number of states that were not stored because memory was full: those of groups that met a condition in
  // a window, and those moved from another program. The alert of such a group began immediately if its trigger
  // requires only one window, and otherwise never.
  uint64_t untracked() const { return untracked_; }

 private:
  struct State {
    int64_t met_until_ns = INT64_MIN;  // end of the last window that met the condition
    int64_t began_ns = INT64_MIN;      // end of the first window of the last alert
    uint32_t in_a_row = 0;
    bool in_force = false;
  };
  struct Hash {
    const GroupHasher* hasher;
    size_t operator()(const Key& key) const {
      GroupKey mixed = key.group;
      mixed.words[0] ^= uint64_t{key.bit} << 32 | static_cast<uint64_t>(key.scope);
      return (*hasher)(mixed);
    }
  };
  using States = std::unordered_map<Key, State, Hash>;
  static constexpr size_t kReserved = 1 << 16;

  void take(States::node_type state) {
    if (states_.size() < capacity_) {
      states_.insert(std::move(state));
    } else {
      ++untracked_;
    }
  }

  size_t capacity_;
  States states_;
  States::iterator next_;  // the next state that forget() checks
  uint64_t untracked_ = 0;
};

}  // namespace tapline::trigger
