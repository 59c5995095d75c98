#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "parsers/trigger/group_table.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// The groups whose silence a channel's triggers test: groups with packets in one of the last kWindows windows, and
// groups named by a trigger's filter. Groups are stored only for triggers with a condition that is true without
// packets. Their number is bounded. Not thread-safe.
class SilentGroups {
 public:
  // A group is removed after this many windows without packets.
  static constexpr int64_t kWindows = 1000;

  struct Key {
    uint32_t bit = 0;
    GroupKey group;
    friend bool operator==(const Key&, const Key&) = default;
  };

  // REQUIRES: the hasher outlives this object.
  SilentGroups(const GroupHasher& hasher, size_t capacity) : capacity_(capacity), groups_(0, Hash{&hasher}) {
    next_ = groups_.end();
  }

  // Adds a group that the filter names, which is never removed.
  void name(const Key& key) {
    if (has_room(key)) groups_[key].named = true;
  }
  // Records that the group had packets in the window that ended at this time.
  void see(const Key& key, int64_t end_ns) {
    if (!has_room(key)) return;
    groups_[key].seen_ns = end_ns;
    latest_ns_ = std::max(latest_ns_, end_ns);
  }

  // Calls `test` with the key of each group that had no packets in the window that ended at this time, in up to *work
  // steps, and removes those that have been silent for too long. Call begin() once, then test() until it returns true.
  // `test` returns false if it has used up the work, and is called again for the same group.
  void begin() { next_ = groups_.begin(); }
  template <typename Test>
  bool test(uint32_t* work, int64_t end_ns, int64_t every_ns, Test test) {
    while (next_ != groups_.end()) {
      if (*work == 0) return false;
      const auto& [key, state] = *next_;
      const bool remembered = state.named || state.seen_ns >= end_ns - kWindows * every_ns;
      if (remembered && state.seen_ns != end_ns && !test(key)) return false;
      *work -= std::min(*work, 1u);
      const bool needed = state.named || state.seen_ns > end_ns - kWindows * every_ns;
      next_ = needed ? std::next(next_) : groups_.erase(next_);
    }
    return true;
  }

  // Moves groups to those of another program, in up to *work steps. `place` changes a key to the other program's key,
  // and returns the object to move the group to, or null to drop it. Returns true when all are moved.
  template <typename Place>
  bool hand_over(uint32_t* work, Place place) {
    for (; !groups_.empty(); --*work) {
      if (*work == 0) return false;
      auto group = groups_.extract(groups_.begin());
      SilentGroups* to = place(&group.key());
      if (to != nullptr && group.mapped().seen_ns != kNever) to->see(group.key(), group.mapped().seen_ns);
    }
    next_ = groups_.end();
    return true;
  }

  bool empty() const { return groups_.empty(); }
  size_t size() const { return groups_.size(); }
  // Returns true if a group that no filter names may have to be tested in the window that ends at this time.
  bool remembers(int64_t end_ns, int64_t every_ns) const {
    return latest_ns_ != kNever && end_ns - kWindows * every_ns <= latest_ns_;
  }
  // Returns how often a group was not stored because memory was full: when a filter named it, or in a window in which
  // it had packets.
  uint64_t untracked() const { return untracked_; }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  struct State {
    int64_t seen_ns = kNever;  // end of the last window with packets
    bool named = false;
  };
  struct Hash {
    const GroupHasher* hasher;
    size_t operator()(const Key& key) const {
      GroupKey mixed = key.group;
      mixed.words[0] ^= uint64_t{key.bit} << 32;
      return (*hasher)(mixed);
    }
  };
  using Groups = std::unordered_map<Key, State, Hash>;

  bool has_room(const Key& key) {
    if (groups_.size() < capacity_ || groups_.contains(key)) return true;
    ++untracked_;
    return false;
  }

  size_t capacity_;
  Groups groups_;
  Groups::iterator next_;  // the next group to test
  int64_t latest_ns_ = kNever;
  uint64_t untracked_ = 0;
};

}  // namespace tapline::trigger
