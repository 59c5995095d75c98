// Tests the triggers of one query on its tuples, in windows of packet time, as the stream job does, but before the
// tuples leave the monitor.
//
// For each tuple, every trigger of its parser looks up the tuple's group once. A window is tested when packet time
// passes its end, at a cost proportional to the number of groups with tuples in it or in cooldown. If more tuples can't
// undo the condition, an alert may also begin with the tuple that meets it. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "monitors/output/kept_tuples.h"
#include "monitors/output/kept_values.h"
#include "monitors/output/latest_flows.h"
#include "monitors/plan/tuple_trigger.h"
#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"

namespace tapline {

// A window in which an alert is in force.
struct TupleTriggerEvent {
  uint32_t processor = 0;
  bool grouped = false;
  std::string_view group = {};   // names and values of the group's fields: "switch=leaf1 port=2"; valid during the call
  TupleHeader ends = {};         // addresses and ports of the group's latest tuple, if the trigger groups by them
  trigger::Interval value = {};  // the bounds differ if the value is estimated or the memory for values was full
  bool at_least = false;         // true if the window has not ended, so the value may still grow
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;
  int64_t ready_ns = 0;  // time of the tuple that met the condition early, or the window's end
  bool certain = true;   // false if some value between the bounds would not meet the condition, or if tuples that were
                         // lost or not watched might have changed the outcome
  bool partial = false;  // true if the window was not watched from its beginning to its end
  // JSON of the tuple that decided the event. For a maximum or minimum, this is the tuple with that value; otherwise,
  // the one that met the condition before the window's end. Empty if there is no such tuple, or if it was omitted for
  // the reason in `omission`; valid during the call.
  std::string_view tuple = {};
  TupleOmission omission = TupleOmission::kNone;
  // Up to LatestFlows::kMax flows of the group's tuples in the window, in the format of LatestFlows::append_since();
  // valid during the call.
  std::string_view exemplars = {};
};

class TupleTriggers {
 public:
  // Maximum number of groups of one trigger. It is lower if windows have more than 16 panes, to bound the memory of all
  // panes.
  static constexpr size_t kMaxGroups = 65'536;
  // Maximum memory for the distinct values and percentiles of all groups. Once it is full, further values only widen
  // the bounds.
  static constexpr size_t kMaxValueBytes = 32 << 20;

  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void on_event(const TupleTriggerEvent& event) = 0;
    // Reports tuples that were not counted because there was no room for their group or value.
    virtual void on_uncounted(uint64_t tuples) = 0;
  };

  // `triggers` and `schemas` (of all parsers, indexed by the numbers that add() receives) must outlive this object.
  TupleTriggers(std::span<const TupleTrigger> triggers, std::span<const Schema* const> schemas,
                size_t max_groups = kMaxGroups, size_t max_value_bytes = kMaxValueBytes);

  // Counts a tuple of this parser. `losses` is the query's total number of losses so far, in any unit, since only
  // changes matter. REQUIRES: advance(header.time_ns) has been called.
  void add(uint32_t parser, const TupleHeader& header, std::span<const Value> values, uint64_t losses, Sink* sink);
  // Tests the windows that end by `time_ns`. `watched_since_ns` is the time since which the monitor has seen all of the
  // query's packets. REQUIRES: no tuple from before `time_ns` is added later.
  void advance(int64_t time_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink);
  // Advances to this time, then tests the open windows, which are partial.
  void finish(int64_t time_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink);
  // Returns the size of the tuples that windows keep, at most KeptTuples::kMaxBytes.
  size_t kept_bytes() const { return kept_.bytes(); }

 private:
  // One pane of a value.
  struct Cell {
    int64_t end_ns = INT64_MIN;
    uint64_t count = 0;
    double sum = 0, min = 0, max = 0;
    std::unique_ptr<KeptValues> values = {};  // set if distinct values or percentiles are compared
    KeptTuple extreme = {};  // set if the pane's maximum or minimum, whichever is compared, meets the condition
  };
  // The combined values of a window's panes.
  struct Window {
    uint64_t count = 0;
    double sum = 0, min = 0, max = 0;
    std::string_view extreme = {};  // a view into the cells
    TupleOmission omission = TupleOmission::kNone;
  };
  struct Group {
    std::vector<Cell> cells;  // a ring of panes for each value that the condition compares
    TupleHeader ends = {};
    LatestFlows flows = {};
    int64_t began_ns = INT64_MIN;  // end of the first window in the group's latest alert
    uint32_t in_a_row = 0;
    bool in_force = false;
    bool reported = false;  // true if the open window's event was reported
  };
  struct Watch {
    const TupleTrigger* trigger = nullptr;
    const Schema* schema = nullptr;
    uint32_t parser = 0;
    size_t max_groups = 0;
    int64_t end_ns = INT64_MIN;  // end of the open pane
    std::unordered_map<std::string, Group> groups = {};
    std::map<int64_t, uint64_t> losses = {};  // number of losses at each start time of the window's panes
  };

  void advance(Watch& watch, int64_t time_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink);
  void close(Watch& watch, int64_t ended_ns, int64_t watched_since_ns, uint64_t losses, Sink* sink);
  void report(const Watch& watch, const std::string& key, const Group& group, TupleTriggerEvent event, Sink* sink);
  std::string_view key_of(const Watch& watch, const TupleHeader& header, std::span<const Value> values);
  // Counts a value of a tuple in the cell of the open pane.
  void add_value(const Watch& watch, const TupleTrigger& value, const TupleHeader& header,
                 std::span<const Value> values, Cell* cell, Sink* sink);
  Group* group_of(Watch& watch, const TupleHeader& header, std::span<const Value> values, Sink* sink);
  void cross(const Watch& watch, const std::string& key, Group* group, const Cell& cell, const TupleHeader& header,
             std::span<const Value> values, Sink* sink);
  // Counts a value in its pane, and keeps the tuple if an event may need it.
  void count(const Watch& watch, const TupleTrigger& of, double value, const TupleHeader& header,
             std::span<const Value> values, Cell* cell);
  // Returns the tuple's JSON, which is valid until the next call.
  std::string_view json_of(const Schema& schema, const TupleHeader& header, std::span<const Value> values);
  void keep_value(const Watch& watch, const TupleTrigger& of, double value, const TupleHeader& header,
                  std::span<const Value> values, Cell* cell);
  static Window window_of(const Watch& watch, const TupleTrigger& of, std::span<const Cell> cells);
  trigger::Interval compared_value(const Watch& watch, const TupleTrigger& of, std::span<const Cell> cells,
                                   const Window& window);
  trigger::Verdict verdict_of(const Watch& watch, const Group& group, Window* window, trigger::Interval* value);
  template <typename Values>
  static double value_of(const TupleTrigger& trigger, TupleTrigger::Aggregate aggregate, const Values& values);
  // Returns true if the group's next alert may begin in the open window.
  static bool cooled(const Watch& watch, const Group& group);

  KeptTuples kept_;
  // Memory for distinct values and percentiles, and for merging those of a window's panes; null if no trigger compares
  // either.
  std::unique_ptr<trigger::SketchMemory> value_memory_, merge_memory_;
  std::vector<Watch> watches_;
  std::string key_;        // group of the current tuple
  std::string json_;       // the current tuple
  std::string text_;       // the current value of a distinct count
  std::string exemplars_;  // the current event's flows, as text
};

}  // namespace tapline
