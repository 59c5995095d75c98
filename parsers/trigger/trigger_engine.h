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
  // window of 10 ms has 2,325 bursts, so 128 steps each are enough to test and clear 100,000 groups.
  uint32_t steps_per_burst = 128;
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
  // Counts packets that were lost before the engine.
  void lose(uint64_t packets) { gather_.lose(packets); }

  const Program& program() const { return *program_; }
  TriggerStats stats() const;

 private:
  void pass(int64_t time_ns);

  std::shared_ptr<const Program> program_;
  GroupHasher hasher_;
  Gather gather_;
  std::vector<Sweep> sweeps_;
  uint32_t steps_per_burst_;
  uint64_t packets_ = 0;
  uint64_t late_sweeps_ = 0;
};

}  // namespace tapline::trigger
