// Triggers: conditions on the value of an aggregate over a window of event time.
//
// A window is a whole number of the aggregate's buckets and slides by one bucket. A trigger's evaluation period (in
// real time) is independent of the window. Conditions with only > and >=, which for sums and counts stay true while the
// window fills, are tested as rows arrive; others (< <= == !=) are tested once event time has passed the window's end.
// Rows that are late or replayed cause their windows to be tested again, regardless of age: from the buckets or, if
// these have been evicted, from the log.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "multilog/log/pipeline.h"
#include "multilog/query/snapshot.h"

namespace tapline::multilog {

enum class Severity : uint8_t { kInfo, kWarning, kCritical };
std::string_view name_of(Severity severity);

struct TriggerSpec {
  std::string name;
  std::string aggregate;
  // A condition over the aggregate's outputs: "SUM > 1GB", "P99 >= 10ms && COUNT > 5".
  std::string condition;
  // The window's length, rounded up to whole buckets; 0: one bucket.
  uint64_t window_ns = 0;
  uint64_t period_ns = 1000000;
  Severity severity = Severity::kWarning;
  // After an alert, the same group raises no alert for windows that end less than this before or after the alert's
  // window, in event time. 0: the window's length.
  uint64_t cooldown_ns = 0;
};

struct Alert {
  std::string trigger;
  Severity severity = Severity::kWarning;
  // The window in event time, [begin, end).
  uint64_t window_begin_ns = 0, window_end_ns = 0;
  // The aggregate's outputs, and the group's keys if the aggregate is grouped.
  std::vector<Number> values;
  std::vector<uint64_t> group;
  // True if event time was at least one window length past the window's end when the alert was raised.
  bool late = false;
};

struct TriggerStatistics {
  uint64_t evaluations = 0;  // number of times that a trigger was evaluated
  uint64_t windows = 0;
  uint64_t alerts = 0;
  uint64_t suppressed = 0;  // alerts suppressed by cooldown
};

// One thread evaluates; any thread may add and remove triggers and read statistics.
class TriggerEngine {
 public:
  struct Log {
    std::function<Snapshot()> snapshot;
    // Computes an aggregate's state over [begin, end) of event time, from the snapshot's rows.
    std::function<std::vector<uint64_t>(const Snapshot&, const Aggregate&, uint64_t begin, uint64_t end)> fold;
    // Returns the earliest time, at least `time`, that a row may have.
    std::function<uint64_t(const Snapshot&, uint64_t time)> next_time;
  };
  TriggerEngine(Log log, std::function<void(const Alert&)> push);
  ~TriggerEngine();

  Status add(const TriggerSpec& spec, std::shared_ptr<Aggregate> aggregate);
  Status remove(const std::string& name);
  bool uses(const std::string& aggregate);
  std::vector<TriggerSpec> list();
  // Evaluates every trigger that is due at `now_ns` (monotonic clock). Returns the time at which the next one is due.
  uint64_t evaluate(uint64_t now_ns);
  TriggerStatistics statistics();

 private:
  struct Trigger;
  struct Group;
  struct Watch;
  struct Window;
  struct Pending {
    uint64_t low = ~uint64_t{0}, high = 0;  // buckets; empty if low > high
    bool empty() const { return low > high; }
    void add(uint64_t begin, uint64_t end) {
      low = std::min(low, begin);
      high = std::max(high, end);
    }
  };
  static void collect(Watch* watch);
  void evaluate_group(const Snapshot& snapshot, Watch* watch, Group* group);
  void evaluate_recent(const Snapshot& snapshot, Watch* watch, Group* group, uint64_t frontier);
  void evaluate_old(const Snapshot& snapshot, Watch* watch, Group* group);
  const Window* value(const Snapshot& snapshot, Watch* watch, uint64_t end, uint32_t buckets, bool fold);
  bool merge_buckets(const Snapshot& snapshot, const Watch& watch, uint64_t begin, uint64_t end, Window* window,
                     bool* is_gone);
  void test(const Watch& watch, Group* group, const Window& window);
  void raise(const Watch& watch, Trigger* trigger, const Window& window, const std::vector<Number>& values,
             const std::vector<uint64_t>& keys);

  const Log log_;
  const std::function<void(const Alert&)> push_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Watch>> watches_;
  TriggerStatistics statistics_;
  uint64_t next_due_ = 0;
};

}  // namespace tapline::multilog
