#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parsers/api/bits.h"
#include "parsers/trigger/alert_states.h"
#include "parsers/trigger/cell_lists.h"
#include "parsers/trigger/event.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/silent_groups.h"
#include "parsers/trigger/sketch_sums.h"

namespace tapline::trigger {

struct SweepOptions {
  // Maximum number of events per trigger and window; further events are only counted.
  uint32_t max_events = 1000;
  // Maximum number of windows without packets that are tested one by one after a jump of packet time.
  uint32_t max_empty_windows = 1000;
  // Maximum number of groups per channel whose alerts depend on earlier windows (AlertStates).
  uint32_t max_alert_states = 1 << 16;
  // Maximum number of groups per channel whose silence is tested, counted once per trigger (SilentGroups).
  uint32_t max_silent_groups = 1 << 16;
  // Maximum number of cells listed for a channel's triggers with sketches, counted once per trigger. If a window has
  // more, each trigger's cells are searched among all cells.
  uint32_t max_sketched_cells = 1 << 18;
};

// Tests the triggers of one channel on each window that all lanes have passed. It works in small steps, so that it can
// run between a lane's bursts:
//
//   wait ──▶ links: groups of the latest pane are found in earlier ones ──▶ cells: counters are added to their triggers
//    ▲                                                                                                            │
//    │      triggers: each is tested ◀── silent: groups without packets ◀── groups: each is tested ◀──────────────┘
//    │                 └──▶ clear: touched memory is zeroed ──▶ forget: alerts that have ended ───┐
//    └────────────────────────────────────────────────────────────────────────────────────────────┘
//
// The work is proportional to the state that the window's packets touched: cells, groups, and the triggers of both. The
// lanes' counts are summed, so a condition applies to the packets of all lanes, and a group's counters are looked up in
// the tables of all lanes.
//
// While it waits, it can look at the open window, if that window is long and no other thread counts in it. Sums and
// maxima only grow, so a condition with a threshold for one of them fires as soon as the threshold is reached:
//
//   wait ──▶ look at cells ──▶ at triggers ──▶ wait        without groups: all counters that were touched
//   wait ──▶ look at groups ──▶ wait                       only groups that have reached a limit (Gather::watch())
//
// Windows that overlap are divided into panes, each counted once and kept until no window needs it. A window's counts
// are the sums over its panes. Each pane's groups refer to the same groups in the lane's earlier panes:
//
//   pane 1   pane 2   pane 3 (latest)
//     a ◀──────────────── a           a group is tested where it has no newer counter, with all its older ones
//     b ◀────── b
class Sweep {
 public:
  // REQUIRES: all lanes run the program; the lanes and the program outlive this object.
  Sweep(const Program& program, const GroupHasher& hasher, uint32_t channel, std::span<Gather* const> lanes,
        const SweepOptions& options, EventSink* sink);

  // Runs up to about `work` steps: a step adds a cell to 2 triggers, or tests a group or a trigger, or clears 4
  // counters, or visits 16 values of sketches; an event takes 8. Returns the number of steps left, which is 0 if there
  // may be more to do.
  uint32_t run(uint32_t work);
  // Returns true if a window is ready or is being swept.
  bool has_work() const;
  // Sets packet time to `time_ns`, and the open window, which may be null. When no closed window is ready, run() looks
  // at the open one, and reports the conditions that are already true. After a look of n steps, the next one begins at
  // least n * kLookNsPerStep of packet time later, so looks take at most about a tenth of the time. REQUIRES: it is
  // called on the lane's thread, and there is no other lane.
  static constexpr int64_t kLookNsPerStep = 300;
  void look(Window* open_window, int64_t time_ns);

  AlertStates& alerts() { return alerts_; }
  SilentGroups& silent_groups() { return silent_; }
  uint64_t unwatched_windows() const { return unwatched_windows_; }
  // Returns SketchSums::visited(), or 0 without sketches.
  uint64_t visited_in_sketches() const { return sketches_ == nullptr ? 0 : sketches_->visited(); }

 private:
  enum class Phase : uint8_t {
    kWait,
    kLinks,
    kCells,
    kGroups,
    kSilent,
    kTriggers,
    kClear,
    kForget,
    kLookAtCells,
    kLookAtTriggers,
    kLookAtGroups
  };
  // A lane's pane of the window.
  struct Part {
    size_t lane;
    size_t earlier;  // number of earlier parts of the same lane
    Window* window;
    const MatchSets* sets;
  };
  // A group's counter, and its cell.
  struct Counted {
    const MatchSets* sets;
    const Cell* cell;
    const uint64_t* counter;
    const uint64_t* rest;  // the cell's packets that were counted without a group, in the same lane
    const Window* window;
    const GroupTable::Entry* entry;  // in window->groups()
  };
  using Place = CellPlace;
  // A trigger without groups whose condition is tested in the open window.
  struct Limit {
    uint32_t word;  // index of a counter's word
    uint64_t min;   // the count at which to look at it again; kNever: not in this window
  };
  static constexpr uint64_t kNever = Window::kListed;
  static constexpr uint32_t kNoPart = UINT32_MAX;

  static uint32_t less(uint32_t work, uint32_t steps) { return work - std::min(work, steps); }

  void make_sketch_sums();
  bool begin();
  bool find_next(int64_t passed_ns);
  void start(int64_t latest_pane_ns);
  void start_lane(size_t lane);
  bool step(uint32_t* work);
  void end_phase();
  bool begin_look();
  bool is_looking() const { return phase_ >= Phase::kLookAtCells; }
  void make_limits();
  void restore_limits();
  bool evaluate_cells(uint32_t* work);
  bool look_at_triggers(uint32_t* work);
  bool evaluate_groups(uint32_t* work);
  void evaluate_group_once(GroupTable::Entry* group, uint32_t* work);
  uint64_t look_at_trigger(uint32_t bit, Counts* counts, EventScope scope, const GroupKey& key);
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
  template <typename Visit>
  void visit_triggers(size_t counted, Visit visit) const;
  Counts count_of_group(uint32_t bit) const;
  void clear_counted() {
    counted_.clear();
    summed_ = {};
  }
  void collect(size_t part, const GroupTable::Entry* first);
  bool test_group_trigger(uint32_t bit, const GroupKey& key, uint32_t* work);
  bool test_waiting(const GroupKey& key, uint32_t* work);
  bool test_silent_group(const SilentGroups::Key& key, uint32_t* work);
  bool tests_empty_windows() const { return channel_.grouped ? !silent_.empty() : !true_when_empty_.empty(); }
  bool test_triggers(uint32_t* work);
  bool test_trigger(uint32_t bit, uint32_t* work);
  bool may_meet(uint32_t bit, const uint64_t* high) const;
  bool sum_sketches(uint32_t bit, bool has_rest, uint32_t* work);
  bool add_group_sketches(uint32_t bit, uint32_t* work);
  bool add_cell_sketches(uint32_t bit, uint32_t* work);
  bool add_cell_sketch(const Place& place, uint32_t bit, uint32_t* work);
  void begin_pass(uint32_t bit);
  bool has_same_sums(uint32_t bit, bool has_rest, uint32_t* work) const;
  bool has_group_in(const Part& part, uint32_t cell) const;
  bool clear(uint32_t* work);
  void finish();
  bool judge(uint32_t bit, Counts* counts, EventScope scope, const GroupKey& key, uint32_t* work);
  bool is_alert(uint32_t bit, const Counts& counts, Event* event);
  const Condition& condition_of(const Program::Compiled& trigger, const AlertStates::Key& key) const;
  void report(uint32_t bit, Event* event);
  void name_exemplars(uint32_t bit, Event* event) const;
  void name_group_exemplars(uint32_t bit, ExemplarFlows* exemplars) const;
  void name_cell_exemplars(uint32_t bit, ExemplarFlows* exemplars) const;

  uint64_t event_count() const { return report_.events + report_.suppressed_events; }
  uint64_t* total(uint32_t bit) { return totals_.data() + (bit - channel_.first_bit()) * words_; }
  int64_t end_ns() const { return start_ns_ + channel_.window_ns; }
  int64_t latest_pane_ns() const { return end_ns() - channel_.every_ns; }
  // Returns the end of the previous window.
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
  std::vector<uint32_t> true_when_empty_;  // bits, without groups

  Phase phase_ = Phase::kWait;
  int64_t swept_until_ns_ = WindowRing::kNever;
  int64_t start_ns_ = 0;
  uint64_t missing_packets_ = 0;  // packets of the window that were lost or not counted
  Window* open_ = nullptr;        // the open window to test, or null
  int64_t look_ns_ = 0;
  int64_t looked_ns_ = 0;  // start of the current look
  int64_t next_look_ns_ = INT64_MIN;
  uint32_t look_steps_ = 0;  // steps of the current look
  size_t look_until_ = 0;    // number of cells that were touched when the look began
  size_t part_ = 0;          // position within the phase
  uint32_t place_ = 0;
  WindowReport report_;
  // Limits and sums of the current look, by bit. Used if there are no groups and a trigger fires early.
  std::vector<Limit> limits_;
  std::vector<uint64_t> sums_;
  std::vector<uint32_t> changed_limits_;
  // Without groups: each trigger's counts. With groups: its counts of the packets that had no room in the group table.
  std::vector<uint64_t> totals_;
  std::vector<uint32_t> touched_;  // bits of triggers with counts in totals_
  std::vector<Place> first_;       // the first cell of each trigger that is in totals_ or sums_
  bool has_rest_ = false;
  uint64_t rest_[kWords] = {};    // summed over all cells
  std::vector<Counted> counted_;  // the current group's counters
  // If triggers use sketches: the triggers of the current group that are not tested yet; the sums for one of them; and
  // the counter that is added next.
  std::vector<uint32_t> waiting_;
  std::unique_ptr<SketchSums> sketches_;
  struct SketchPlace {
    size_t counted = 0;  // in counted_
    uint32_t link = 0;   // in sketched_cells_
    Place cell = {};     // if sketched_cells_ is full
  } sketch_place_;
  CellLists sketched_cells_;  // cells of each trigger in this window
  bool is_summing_ = false;
  // The trigger to which the sums in sketches_ belong; valid while counted_, or the window's cells, stay the same.
  struct Summed {
    bool is_valid = false;
    uint32_t bit = 0;
    uint32_t first_cell = 0;  // in sketched_cells_
  } summed_;
  std::vector<uint32_t> events_;    // by bit, in this window
  std::vector<uint32_t> reported_;  // bits with events
  AlertStates alerts_;
  SilentGroups silent_;
  // alerts_.untracked() and silent_.untracked() at the end of the last window.
  uint64_t untracked_ = 0, untracked_groups_ = 0;
  uint64_t unwatched_windows_ = 0;
};

// Visits the triggers of one of the group's cells that no earlier cell of the group contains.
template <typename Visit>
void Sweep::visit_triggers(size_t counted, Visit visit) const {
  for (const Program::Word& word : counted_[counted].sets->words_of(*counted_[counted].cell)) {
    for (const uint32_t bit : SetBits(word.bits)) {
      if (!is_in_earlier(counted, word.index * 64 + bit)) visit(word.index * 64 + bit);
    }
  }
}

}  // namespace tapline::trigger
