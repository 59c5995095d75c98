#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "parsers/trigger/event.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

// A program with all that one lane needs to run it: match sets, counters, sweeps, alert states. It is made on any
// thread, since that takes milliseconds, and is then used by its lane only.
class LaneProgram {
 public:
  // REQUIRES: the hasher and the sink outlive it; the programs of an engine share the hasher.
  LaneProgram(std::shared_ptr<const Program> program, const GroupHasher& hasher, const GatherOptions& gather,
              const SweepOptions& sweep, EventSink* sink);

  const Program& program() const { return *program_; }
  Gather& gather() { return gather_; }
  const Gather& gather() const { return gather_; }
  std::vector<Sweep>& sweeps() { return sweeps_; }
  const std::vector<Sweep>& sweeps() const { return sweeps_; }
  int64_t shortest_pane_ns() const { return shortest_pane_ns_; }

  // Counting has begun.
  bool has_begun() const { return !sweeps_.empty() && gather_.ring(0).started_ns() != WindowRing::kNever; }
  // All panes that have packets end at or before this time.
  bool ends(int64_t time_ns) const;
  // Sweeps for up to this many steps. Returns those that are left, so more than 0 if no work is left.
  uint32_t sweep(uint32_t steps);
  // Packet time is `time_ns`: sweep() also tests open windows, as in Sweep::look().
  void look(int64_t time_ns);
  // Moves alert states, and groups that may fall silent, to the triggers with the same IDs, in up to `steps` steps.
  // Returns those that are left, so more than 0 when all are moved. REQUIRES: no work is left to sweep.
  uint32_t hand_over(uint32_t steps, LaneProgram* next);
  // Keeps a program that left before it until both are freed.
  void keep(std::unique_ptr<LaneProgram> earlier) { earlier_ = std::move(earlier); }

 private:
  Sweep* sweep_of(uint64_t trigger, uint32_t* bit);

  std::shared_ptr<const Program> program_;
  Gather gather_;
  std::vector<Sweep> sweeps_;
  std::unordered_map<uint64_t, uint32_t> bits_;  // by ID
  int64_t shortest_pane_ns_ = INT64_MAX;
  std::unique_ptr<LaneProgram> earlier_;
};

// The length of time at whose multiples panes of all windows of both programs end. 0 if it exceeds a day.
int64_t common_pane_ns(const Program& a, const Program& b);

}  // namespace tapline::trigger
