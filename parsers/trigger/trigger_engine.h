#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parsers/trigger/event.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

struct TriggerOptions {
  GatherOptions gather = {};
  SweepOptions sweep = {};
  // Steps of sweeping after each burst: see Sweep::run(). At 64 packets a burst and 14.88 million packets per second, a
  // window of 10 ms has 2,325 bursts, so 48 steps each are enough to test and clear 85,000 groups.
  // After half of the shortest window it takes four times as many.
  uint32_t steps_per_burst = 48;
};

struct TriggerStats {
  uint64_t packets = 0;
  uint64_t match_sets = 0;
  uint64_t renewals = 0;  // replacements of all match sets, when they were nearly full
  uint64_t cache_misses = 0;
  uint64_t counted_singly = 0;     // packets whose match set found no room
  uint64_t late_sweeps = 0;        // windows that were not swept when the next one ended, and so were swept at once
  uint64_t unwatched_windows = 0;  // windows without packets that were skipped after a jump of packet time
};

// Evaluates a program on all packets of one lane, which sweeps its windows itself. Not thread-safe.
class TriggerEngine {
 public:
  // REQUIRES: the sink outlives the engine.
  TriggerEngine(std::shared_ptr<const Program> program, const TriggerOptions& options, EventSink* sink);

  // Counts the samples, in order, and does a bounded part of the sweep. `tcp` has the facts of each sample, or is empty
  // if the program doesn't need them.
  void process(std::span<const Sample> samples, std::span<const TcpFacts> tcp);
  // Advances packet time without packets. Closes and sweeps the windows that end by then.
  void advance(int64_t time_ns);
  // For an idle lane: sweeps for up to this many steps. Returns false if no work is left.
  bool sweep(uint32_t steps);
  // Counts packets that were lost before the engine, in the open windows.
  void lose(uint64_t packets) { gather_.lose(packets); }
  // The same in the windows of `time_ns`, for a lane that knows when they were lost.
  void lose(uint64_t packets, int64_t time_ns) {
    if (time_ns >= gather_.border_ns()) pass(time_ns);
    gather_.lose(packets);
  }

  const Program& program() const { return *program_; }
  TriggerStats stats() const;

 private:
  void pass(int64_t time_ns);
  uint32_t steps_at(int64_t time_ns) const { return time_ns < hurry_ns_ ? steps_per_burst_ : 4 * steps_per_burst_; }

  std::shared_ptr<const Program> program_;
  GroupHasher hasher_;
  Gather gather_;
  std::vector<Sweep> sweeps_;
  uint32_t steps_per_burst_;
  int64_t shortest_window_ns_ = INT64_MAX;
  int64_t hurry_ns_ = INT64_MAX;  // half of the shortest window has passed
  uint64_t packets_ = 0;
  uint64_t late_sweeps_ = 0;
};

}  // namespace tapline::trigger
