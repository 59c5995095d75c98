#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parsers/trigger/alert_states.h"
#include "parsers/trigger/event.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/program.h"

namespace tapline::trigger {

struct SweepOptions {
  // Maximum events of a trigger in a window; more are only counted.
  uint32_t max_events = 1000;
  // Maximum windows without packets that are tested one by one after a jump of packet time.
  uint32_t max_empty_windows = 1000;
  // Maximum groups of a channel whose alerts depend on earlier windows (AlertStates).
  uint32_t max_alert_states = 1 << 16;
};

// Tests the triggers of one channel on each window that all lanes have passed. It works in small steps, so that it can
// run between a lane's bursts:
//
//   wait ──▶ links: groups of the latest pane are found in earlier ones ──▶ cells: counters are added to their triggers
//    ▲                                                                                                            │
//    │      triggers: each is tested ◀── groups: each is tested ◀─────────────────────────────────────────────────┘
//    │                 └──▶ clear: touched memory is zeroed ──▶ forget: alerts that have ended ───┐
//    └────────────────────────────────────────────────────────────────────────────────────────────┘
//
// The work is proportional to the data that the window's packets touched: cells, groups, and the triggers of both.
// Lanes' counts are summed, so a condition applies to the host's packets, and a group's counters are looked up in the
// tables of all lanes.
//
// Windows that overlap are divided into panes, each counted once and kept until no window needs it. A window's counts
// are the sums over its panes. Each pane's groups refer to the same groups in the lane's earlier panes:
//
//   pane 1   pane 2   pane 3 (latest)
//     a ◀──────────────── a           a group is tested where it has no newer counter, with all that follow
//     b ◀────── b
class Sweep {
 public:
  // REQUIRES: all lanes run the program, and outlive the sweep with it.
  Sweep(const Program& program, const GroupHasher& hasher, uint32_t channel, std::span<Gather* const> lanes,
        const SweepOptions& options, EventSink* sink);

  // Does up to about `work` steps: a step adds a cell to 2 triggers, or tests a group or a trigger, or clears 4
  // counters; an event takes 8. Returns the steps that are left, so 0 if there may be more to do.
  uint32_t run(uint32_t work);
  // A window is ready, or is being swept.
  bool has_work() const;

  AlertStates& alerts() { return alerts_; }
  uint64_t unwatched_windows() const { return unwatched_windows_; }

 private:
  enum class Phase : uint8_t { kWait, kLinks, kCells, kGroups, kTriggers, kClear, kForget };
  // A lane's pane of the window.
  struct Part {
    size_t lane;
    size_t earlier;  // parts before it of the same lane
    Window* window;
    const MatchSets* sets;
  };
  // A group's counter, and its cell.
  struct Counted {
    const MatchSets* sets;
    const Cell* cell;
    const uint64_t* counter;
    const uint64_t* rest;  // the cell's, in the same lane
  };

  bool begin();
  bool find_next(int64_t passed_ns);
  void start(int64_t latest_pane_ns);
  void start_lane(size_t lane);
  bool step(uint32_t* work);
  bool link_groups(uint32_t* work);
  uint32_t link_group(size_t part, GroupTable::Entry* group);
  bool add_cells(uint32_t* work);
  void add_cell(const MatchSets& sets, const Cell& cell, const uint64_t* counter);
  bool test_groups(uint32_t* work);
  void test_group(size_t part, const GroupTable::Entry& first, uint32_t* work);
  bool collect_other_lanes(size_t lane, const GroupKey& key);
  bool is_in_earlier(size_t counted, uint32_t bit) const;
  template <typename IsPart>
  void add_rest(const uint64_t* rest, IsPart is_part, Counts* counts) const;
  void collect(size_t part, const GroupTable::Entry* first);
  void test_group_trigger(uint32_t bit, const GroupKey& key);
  bool test_triggers(uint32_t* work);
  void test_trigger(uint32_t bit);
  bool clear(uint32_t* work);
  void finish();
  void judge(uint32_t bit, const Counts& counts, EventScope scope, const GroupKey& key);
  bool is_alert(uint32_t bit, const Counts& counts, Event* event);
  void report(uint32_t bit, Event* event);

  uint64_t events_so_far() const { return report_.events + report_.suppressed_events; }
  uint64_t* total(uint32_t bit) { return totals_.data() + (bit - channel_.first_bit()) * words_; }
  int64_t end_ns() const { return start_ns_ + channel_.window_ns; }
  int64_t latest_pane_ns() const { return end_ns() - channel_.every_ns; }
  // The end of the previous window.
  int64_t last_end_ns() const { return latest_pane_ns(); }
  bool is_latest(const Part& part) const { return part.window->start_ns >= latest_pane_ns(); }

  const Program& program_;
  const GroupHasher& hasher_;
  const Channel& channel_;
  uint32_t channel_number_;
  SweepOptions options_;
  EventSink* sink_;
  size_t words_;  // per counter
  std::vector<WindowRing*> lanes_;
  std::vector<Part> parts_;                // the current window, by lane and time
  std::vector<uint32_t> true_when_empty_;  // bits

  Phase phase_ = Phase::kWait;
  int64_t swept_until_ns_ = WindowRing::kNever;
  int64_t start_ns_ = 0;
  uint64_t lost_packets_ = 0;  // in the window
  size_t part_ = 0;            // position within the phase
  uint32_t place_ = 0;
  WindowReport report_;
  // Without groups: each trigger's counts. With groups: the packets counted without their group.
  std::vector<uint64_t> totals_;
  std::vector<uint32_t> touched_;  // bits of totals_
  bool has_rest_ = false;
  uint64_t rest_[kWords] = {};      // summed over all cells
  std::vector<Counted> counted_;    // the current group's counters
  std::vector<uint32_t> events_;    // by bit, in this window
  std::vector<uint32_t> reported_;  // bits with events
  AlertStates alerts_;
  uint64_t untracked_ = 0;  // alerts_.untracked() at the end of the last window
  uint64_t unwatched_windows_ = 0;
};

}  // namespace tapline::trigger
