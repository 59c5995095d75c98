#pragma once

#include <cstdint>
#include <string>

#include "parsers/trigger/program.h"

namespace tapline::trigger {

// The expected load of a lane.
struct ExpectedTraffic {
  double packets_per_second = 0;
  // Match sets and groups in a pane of each channel. In a pane with fewer packets, each packet is taken to have its
  // own.
  double match_sets = 0;
  double triggers_per_set = 0;
  double groups = 0;
};

// The costs of the engine's steps on a machine, in nanoseconds of one core. The defaults are fitted to the rates that
// `bench_triggers --part feasible` measures and compares with the model (bench/triggers/README.md). The costs of
// distinct values and percentiles are fitted to `--part values`, with packets of a thousand sizes.
//
// TriggerCost.java has the same costs under the same names; a test reads this struct and compares them.
struct CostModel {
  double receive = 15;          // a packet, before it reaches the engine
  double match = 14;            // finding a packet's classes and set, and counting it in one channel without groups
  double match_root = 0.35;     // the same, times the square root of the number of match sets (cache misses)
  double tcp = 40;              // a packet's TcpFacts
  double count_group = 17;      // a packet in a channel with groups
  double miss_group = 64;       // the same, times the share of groups that leave the inner caches
  double cached_groups = 7700;  // number of groups that fit in the inner caches
  double sweep_set = 64;        // a touched cell in a window
  double sweep_trigger = 15;    // each of its triggers
  double test_trigger = 23;     // each trigger of the channel
  double sweep_group = 50;      // a group in a pane of a window: added, tested and cleared
  double find_group = 20;       // a group in an earlier pane
  double add_distinct = 43;     // a packet, for each kind of distinct values in a channel
  double add_percentile = 170;  // a packet, for each kind of percentiles, if values differ
  double merge_values = 600;    // each kind of sketch of a group or a touched cell, in a pane of a window
  double test_values = 55;      // each trigger of a group or a touched cell that compares sketch values
  double look_set = 30;         // a touched cell, each time its open window is tested
  double look_trigger = 2;      // each of its triggers
  double test_limit = 1;        // each trigger of the channel, each time
  double look_interval = 1000000;
  double max_looks = 0.1;  // maximum share of a core for such tests
  double max_busy = 0.8;   // maximum share of a core; the rest is a reserve
};

// The expected share of a core that a program takes, by part.
struct ExpectedCost {
  double receive = 0;
  double match = 0;
  double tcp = 0;
  double groups = 0;  // counting in groups
  double values = 0;  // adding values to sketches of distinct values and percentiles
  double sweep = 0;

  double sum() const { return receive + match + tcp + groups + values + sweep; }
};

ExpectedCost expected_cost(const Program& program, const ExpectedTraffic& traffic, const CostModel& model);

// Returns an empty string if a lane can sustain the program, else a user-facing message with the figures.
std::string refusal(const Program& program, const ExpectedTraffic& traffic, const CostModel& model);

}  // namespace tapline::trigger
