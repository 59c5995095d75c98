#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "parsers/engine/zeroed_array.h"
#include "parsers/trigger/exemplars.h"
#include "parsers/trigger/group_table.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/window_sketches.h"

namespace tapline::trigger {

class MatchSets;

// The counts of one lane for one channel in one window, or in one of its panes if windows overlap. Only touched cells
// and groups are swept and cleared.
class Window {
 public:
  Window(const Channel& channel, uint32_t max_cells, uint32_t max_groups, size_t sketch_bytes)
      : words_(static_cast<size_t>(channel.lines) * kLineWords),
        counters_(max_cells * words_ * sizeof(uint64_t)),
        touched_memory_(max_cells * sizeof(uint32_t)),
        cell_exemplars_(max_cells) {
    if (channel.grouped) {
      groups_.emplace(max_groups, channel.lines);
      group_exemplars_.emplace(channel.by.is_whole_flow() ? 0 : size_t{max_groups} + 1);
    }
    if (channel.grouped && !channel.early.empty()) reached.reserve(kMaxReached);
    if (channel.sketches != 0) {
      sketches_.emplace(channel.sketches, max_cells, channel.grouped ? max_groups + 1 : 0, sketch_bytes);
    }
  }

  const MatchSets* sets = nullptr;  // the match sets that own the cells
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool blind = false;              // true if nothing was counted because no window was free; may span several windows
  uint64_t packets = 0;            // counted packets
  uint64_t uncounted_packets = 0;  // packets of a blind window
  uint64_t lost_packets = 0;       // the maximum number of packets lost within it, before they reached the lane
  int64_t latest_ns = 0;           // time of its latest packet
  // Groups with counts that reach a limit of the channel and have not been looked at since.
  std::vector<uint32_t> reached;

  // Returns the counter of a cell's packets or, if the channel has groups, of those that had no room in groups(). If
  // the packet is the cell's first one, lists the cell as touched, and stores the packet's flow as an exemplar.
  uint64_t* counter(uint32_t cell, const Sample& sample) {
    uint64_t* counter = counters() + cell * words_;
    if (counter[kTouched] == 0) {
      counter[kTouched] = 1;
      cell_exemplars_.set_first(touched_count_, sample);
      if (sketches_) sketches_->begin(sketches_->of_cell(cell));
      touched()[touched_count_++] = cell;
    }
    return counter;
  }
  void prefetch_counter(uint32_t cell) const { __builtin_prefetch(counters() + cell * words_, 1); }
  const uint64_t* counter_of(uint32_t cell) const { return counters() + cell * words_; }
  std::span<const uint32_t> touched_cells() const { return {touched(), touched_count_}; }

  // Marks the first counter of a group that is in `reached`, or that need not be tested again in this window.
  static constexpr uint64_t kListed = UINT64_MAX;
  // Adds the group to `reached`. If there is no room, a later packet of the group tries again.
  void list(GroupTable::Entry* first) {
    if (reached.size() == kMaxReached) return;
    reached.push_back(groups_->number_of(*first));
    first->counter()[kTouched] = kListed;
  }

  std::optional<GroupTable>& groups() { return groups_; }
  const std::optional<GroupTable>& groups() const { return groups_; }

  // Returns the exemplars. First flows are stored by index in touched_cells(), sampled flows with the number of their
  // cell.
  const Exemplars& cell_exemplars() const { return cell_exemplars_; }
  Exemplars& cell_exemplars() { return cell_exemplars_; }
  // Returns the exemplars, if the channel has groups, by number of the counter in groups(). If groups are whole flows,
  // no first flows are stored.
  const std::optional<Exemplars>& group_exemplars() const { return group_exemplars_; }
  std::optional<Exemplars>& group_exemplars() { return group_exemplars_; }

  // Returns the sketches, if triggers of the channel use any. Those of a cell are valid once counter() was called for
  // it; those of a group are found by the number of its counter.
  std::optional<WindowSketches>& sketches() { return sketches_; }
  const std::optional<WindowSketches>& sketches() const { return sketches_; }

  // Calls ZeroedArray::populate() for each of its arrays.
  void populate(size_t bytes) const {
    counters_.populate(bytes);
    touched_memory_.populate(bytes);
    cell_exemplars_.populate(bytes);
    if (sketches_) sketches_->populate(bytes);
    if (!groups_) return;
    groups_->populate(bytes);
    group_exemplars_->populate(bytes);
  }

  // Clears up to `work` counters. Returns true when the window is completely cleared.
  bool clear(uint32_t* work) {
    for (; *work > 0 && touched_count_ > 0; --*work) {
      std::memset(counters() + touched()[--touched_count_] * words_, 0, words_ * sizeof(uint64_t));
    }
    if (groups_) {
      const uint32_t before = groups_->size();
      groups_->forget(*work);
      *work -= before - groups_->size();
    }
    if (touched_count_ > 0 || (groups_ && groups_->size() > 0)) return false;
    packets = uncounted_packets = lost_packets = 0;
    reached.clear();
    cell_exemplars_.clear();
    if (sketches_) sketches_->clear();
    if (group_exemplars_) group_exemplars_->clear();
    return true;
  }

 private:
  static constexpr size_t kMaxReached = 4096;

  uint64_t* counters() const { return reinterpret_cast<uint64_t*>(counters_.data()); }
  uint32_t* touched() const { return reinterpret_cast<uint32_t*>(touched_memory_.data()); }

  size_t words_;
  ZeroedArray counters_;
  ZeroedArray touched_memory_;
  uint32_t touched_count_ = 0;
  std::optional<GroupTable> groups_;
  Exemplars cell_exemplars_;
  std::optional<Exemplars> group_exemplars_;
  std::optional<WindowSketches> sketches_;
};

// A lane's windows of one channel (its panes, if windows overlap): one that is open, and closed ones that a sweep still
// needs. One thread counts and closes windows; it or another one sweeps and releases them.
//
// close() publishes all counts (release, read by acquire); release() returns the memory in the same way.
class WindowRing {
 public:
  static constexpr int64_t kNever = INT64_MIN;

  WindowRing(const Channel& channel, uint32_t windows, uint32_t max_cells, uint32_t max_groups, size_t sketch_bytes) {
    for (uint32_t i = 0; i < windows; ++i) {
      windows_.push_back(std::make_unique<Window>(channel, max_cells, max_groups, sketch_bytes));
    }
  }

  void populate(size_t bytes) const {
    for (const auto& window : windows_) window->populate(bytes);
  }

  // Functions for the thread that counts.

  // Returns the next window, which is cleared, or null while all are in use.
  Window* free_window() const {
    const uint64_t closed = closed_.load(std::memory_order_relaxed);
    return closed - released_.load(std::memory_order_acquire) < windows_.size() ? at(closed) : nullptr;
  }
  // Returns true if another window can follow the open one.
  bool has_next() const {
    const uint64_t used = closed_.load(std::memory_order_relaxed) + 1 - released_.load(std::memory_order_acquire);
    return used < windows_.size();
  }
  uint64_t closed() const { return closed_.load(std::memory_order_relaxed); }
  // Returns the number of windows released so far, to which nothing refers any more.
  uint64_t released() const { return released_.load(std::memory_order_acquire); }
  // Closes the window that free_window() returned.
  void close() { closed_.store(closed_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // Sets the time when counting began. Call it before set_passed().
  void set_started(int64_t time_ns) { started_ns_.store(time_ns, std::memory_order_relaxed); }
  // Declares that all windows that end at or before this time, and had packets, are closed.
  void set_passed(int64_t time_ns) { passed_ns_.store(time_ns, std::memory_order_release); }

  // Functions for the thread that sweeps, which must read passed_ns() first: a window is closed before it is passed.

  // Returns kNever if counting has not begun.
  int64_t passed_ns() const { return passed_ns_.load(std::memory_order_acquire); }
  int64_t started_ns() const { return started_ns_.load(std::memory_order_relaxed); }
  // Returns the closed window that follows the `skipped` oldest ones, or null.
  Window* closed_window(uint64_t skipped) const {
    const uint64_t number = released_.load(std::memory_order_relaxed) + skipped;
    return number < closed_.load(std::memory_order_acquire) ? at(number) : nullptr;
  }
  // Returns null if no window is closed.
  Window* oldest_closed() const { return closed_window(0); }
  Window* newest_closed() const {
    const uint64_t closed = closed_.load(std::memory_order_acquire);
    return released_.load(std::memory_order_relaxed) < closed ? at(closed - 1) : nullptr;
  }
  // REQUIRES: the oldest closed window was cleared.
  void release() { released_.store(released_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  Window* at(uint64_t number) const { return windows_[number % windows_.size()].get(); }

  std::vector<std::unique_ptr<Window>> windows_;
  alignas(64) std::atomic<uint64_t> closed_{0};
  std::atomic<int64_t> passed_ns_{kNever};
  std::atomic<int64_t> started_ns_{kNever};
  alignas(64) std::atomic<uint64_t> released_{0};
};

}  // namespace tapline::trigger
