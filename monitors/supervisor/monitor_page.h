// What outlives a worker: memory that the supervisor and its workers share, from which the next worker goes on.
//
//   supervisor ──fork──▶ worker 1 ✗   worker 2 ✗   worker 3 …
//        └───────────── one page, mapped by all ─────────────┘
//
// A worker writes as it goes (plain and relaxed stores, each place by one thread); the supervisor reads call marks
// while the worker lives, and everything else only once it is dead: SettleAfterDeath() turns what the worker had under
// way into losses, so that the next one begins with accounts that balance. Places that are never used cost no memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "packet_io/accounting/accounting.h"
#include "monitors/output/batch_ledger.h"
#include "monitors/plan/query_spec.h"
#include "parsers/plugin/call_mark.h"

namespace tapline {

inline constexpr size_t kMostPlugins = 16;
inline constexpr size_t kMostSupervisedLanes = 32;

// One polling thread.
struct LanePage {
  CallMark call;
  // Of the thread in the kernel; 0: none.
  std::atomic<int32_t> thread_id{0};
  // Packets taken from the source since the first worker began, and those of the last burst that were not looked at.
  uint64_t polled = 0;
  uint64_t burst_left = 0;
  // Queries that have ended in this lane and of which nothing is left: bits.
  uint64_t done = 0;
  LaneAccounting accounting;
};

// What parses a lane's packets and sends its tuples.
struct UnitPage {
  std::array<Accounting, kMostQueries> accounts;
  // accounts[q].packets_out when the parsers had last finished with a burst.
  std::array<uint64_t, kMostQueries> parsed;
  // Connections followed for each query.
  std::array<uint64_t, kMostQueries> live_flows;
  BatchLedger ledger;
};

struct PluginPage {
  uint32_t strikes = 0;
  bool left_out = false;
  // Its parsers' schemas, a line each (schema_text.h), once it was loaded.
  uint32_t schema_bytes = 0;
  std::array<char, 65536> schemas;

  void set_schemas(std::string_view text);
  std::string_view schema_text() const { return {schemas.data(), schema_bytes}; }
};

// The plan of the query in a place, as text: a worker keeps it up to date when queries come and go, and the next one
// begins with what is here, not with what the first was started with.
struct PlanPage {
  uint32_t bytes = 0;  // 0: no query, or one without a plan
  std::array<char, 262144> text;

  // False, and no change, if it is too long.
  bool Set(std::string_view plan);
  void Clear() { bytes = 0; }
  std::string_view plan() const { return {text.data(), bytes}; }
};

struct MonitorPage {
  enum class Phase : uint32_t { kStarting, kRunning, kFinished };

  std::atomic<Phase> phase{Phase::kStarting};
  // Which worker this is, from 1.
  uint32_t worker = 0;
  // 1 + the plug-in in which a signal met a thread; 0: none.
  std::atomic<uint32_t> culprit{0};
  // Monotonic time at which the last worker was found dead.
  int64_t died_at_ns = 0;
  // Packets that arrived while no worker listened, for the first lane to count.
  std::atomic<uint64_t> missed{0};
  // Where the durations of LIMIT count from; INT64_MIN: nowhere yet.
  int64_t clock_start_ns = INT64_MIN;
  std::array<PlanPage, kMostQueries> plans;
  // By place, of a limit that is leased: packets granted so far.
  std::array<uint64_t, kMostQueries> granted;
  // By place: what the pipeline could take when it was last said.
  std::array<double, kMostQueries> pipeline_limits;
  // By place: whether switches copy all of its packets, if they copy any.
  std::array<bool, kMostQueries> copies_confirmed;
  std::array<PluginPage, kMostPlugins> plugins;
  std::array<LanePage, kMostSupervisedLanes> lanes;
  std::array<UnitPage, kMostSupervisedLanes> units;

  bool restarted() const { return worker > 1; }
};

struct UnmapPage {
  void operator()(MonitorPage* page) const;
};
using MonitorPagePointer = std::unique_ptr<MonitorPage, UnmapPage>;

// Mapped for this process and those that it forks; null if there is no memory.
MonitorPagePointer MapMonitorPage();

// Turns what the dead worker had under way into losses by its restart, and everything it had not reported into batches
// that the next one is to report for it. REQUIRES: no worker lives.
void SettleAfterDeath(MonitorPage* page);

}  // namespace tapline
