// State that outlives a worker, in memory that the supervisor and its workers share. The next worker resumes from it.
//
//   supervisor ──fork──▶ worker 1 ✗   worker 2 ✗   worker 3 …
//        └───────────── one page, mapped by all ─────────────┘
//
// A worker writes to the page as it runs (plain and relaxed stores, each location by one thread). While the worker is
// alive, the supervisor reads only the phase, thread IDs, call marks and numbers of received packets. Once it is dead,
// settle_after_exit() turns its unfinished work into losses, so that the next worker begins with balanced accounts.
// Slots that are never used cost no memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "monitors/output/batch_ledger.h"
#include "monitors/plan/query_spec.h"
#include "packet_io/accounting/accounting.h"
#include "packet_io/base/tap.h"
#include "parsers/plugin/call_mark.h"

namespace tapline {

inline constexpr size_t kMaxPlugins = 16;
inline constexpr size_t kMaxSupervisedLanes = 32;

// One polling thread's state.
struct LanePage {
  CallMark call;
  // The kernel's thread ID; 0: none.
  std::atomic<int32_t> thread_id{0};
  // The number of packets taken from the source since the first worker began.
  uint64_t polled = 0;
  // The bits of queries that have ended in this lane and have no data left there.
  uint64_t done = 0;
  LaneAccounting accounting;
  // By tap: the accounting, and the number of packets of the current burst that have not been processed.
  std::array<TapAccounting, kMaxTaps> taps;
  std::array<uint64_t, kMaxTaps> burst_left;

  uint64_t all_left() const { return std::accumulate(burst_left.begin(), burst_left.end(), uint64_t{0}); }
};

// The state of the unit that parses a lane's packets and sends its tuples.
struct UnitPage {
  std::array<Accounting, kMaxQueries> accounts;
  // The value of accounts[q].packets_out when the parsers last finished a burst.
  std::array<uint64_t, kMaxQueries> parsed;
  // The number of connections followed for each query.
  std::array<uint64_t, kMaxQueries> live_flows;
  BatchLedger ledger;
};

struct PluginPage {
  uint32_t strikes = 0;
  bool left_out = false;
  // The size of `schemas`: the schemas of the plug-in's parsers, one per line (schema_text.h). 0 until it has been
  // loaded.
  uint32_t schema_bytes = 0;
  std::array<char, 65536> schemas;

  void set_schemas(std::string_view text);
  std::string_view schema_text() const { return {schemas.data(), schema_bytes}; }
};

// The serialized plan of the query in a slot. A worker updates it when queries are added or removed, and the next
// worker reads it instead of the plan files.
struct PlanPage {
  uint32_t bytes = 0;  // 0: no query, or a query without a plan
  std::array<char, 262144> data;

  // Stores a plan. Returns false, and changes nothing, if the plan is too long.
  bool set(std::string_view plan);
  void clear() { bytes = 0; }
  std::string_view plan() const { return {data.data(), bytes}; }
};

struct MonitorPage {
  enum class Phase : uint32_t { kStarting, kRunning, kFinished };

  std::atomic<Phase> phase{Phase::kStarting};
  // The number of the current worker, counted from 1.
  uint32_t worker = 0;
  // 1 + the index of the plug-in in which a thread received a fatal signal; 0: none.
  std::atomic<uint32_t> culprit{0};
  // The monotonic time at which the last worker was found dead.
  int64_t died_at_ns = 0;
  // Packets that arrived while no worker was capturing; the first lane counts them as lost.
  std::atomic<uint64_t> missed{0};
  // The start of LIMIT durations; INT64_MIN: not set yet.
  int64_t clock_start_ns = INT64_MIN;
  std::array<PlanPage, kMaxQueries> plans;
  // By slot, for leased limits: the packets granted so far.
  std::array<uint64_t, kMaxQueries> granted;
  // By slot: the share of flows that the pipeline can sustain, as last reported.
  std::array<double, kMaxQueries> pipeline_limits;
  // By slot: true if switches have confirmed that they copy all of the query's packets.
  std::array<bool, kMaxQueries> copies_confirmed;
  std::array<PluginPage, kMaxPlugins> plugins;
  std::array<LanePage, kMaxSupervisedLanes> lanes;
  std::array<UnitPage, kMaxSupervisedLanes> units;

  bool restarted() const { return worker > 1; }
};

struct UnmapPage {
  void operator()(MonitorPage* page) const;
};
using MonitorPagePointer = std::unique_ptr<MonitorPage, UnmapPage>;

// Maps a page for this process and those that it forks. Returns null if there is not enough memory.
MonitorPagePointer map_monitor_page();

// Turns the dead worker's unfinished work into losses by restart, and all unreported counts into batches that the next
// worker reports on its behalf. REQUIRES: no worker is alive.
void settle_after_exit(MonitorPage* page);

}  // namespace tapline
