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

// A program with everything that lanes need to run it: each lane's match sets and counters, the sweeps over their sums,
// and alert states. Any thread may create it, which takes milliseconds. Afterwards, each lane uses only its own match
// sets and counters, and one thread uses the rest.
class RunningProgram {
 public:
  // REQUIRES: the hasher and the sink outlive this object; programs that replace each other share the hasher.
  RunningProgram(std::shared_ptr<const Program> program, uint32_t lanes, const GroupHasher& hasher,
                 const GatherOptions& gather, const SweepOptions& sweep, EventSink* sink);

  const Program& program() const { return *program_; }
  Gather& gather(uint32_t lane = 0) { return *gathers_[lane]; }
  const Gather& gather(uint32_t lane = 0) const { return *gathers_[lane]; }
  std::vector<Sweep>& sweeps() { return sweeps_; }
  const std::vector<Sweep>& sweeps() const { return sweeps_; }
  int64_t shortest_pane_ns() const { return shortest_pane_ns_; }

  // Returns true if counting has begun in the first lane.
  bool has_begun() const { return !sweeps_.empty() && gather().ring(0).started_ns() != WindowRing::kNever; }
  // Returns true if all open panes of the first lane end at or before this time.
  bool ends(int64_t time_ns) const;
  // Sweeps for up to this many steps. Returns the number of unused steps, which is above 0 if no work is left.
  uint32_t sweep(uint32_t steps);
  // Makes sweep() also test open windows at packet time `time_ns`, as in Sweep::look(). REQUIRES: there is one lane.
  void look(int64_t time_ns);
  // Moves alert states, and groups that may fall silent, to the triggers of `next` with the same IDs, in up to `steps`
  // steps. Returns the number of unused steps, which is above 0 once all are moved. REQUIRES: no work is left to sweep.
  uint32_t hand_over(uint32_t steps, RunningProgram* next);
  // Keeps an earlier program alive until this one is freed.
  void keep(std::unique_ptr<RunningProgram> earlier) { earlier_ = std::move(earlier); }

 private:
  Sweep* sweep_of(uint64_t trigger, uint32_t* bit);

  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Gather>> gathers_;  // by lane
  std::vector<Sweep> sweeps_;
  std::unordered_map<uint64_t, uint32_t> bits_;  // by ID
  int64_t shortest_pane_ns_ = INT64_MAX;
  std::unique_ptr<RunningProgram> earlier_;
};

// Returns the least common multiple of all pane lengths of both programs, or 0 if it exceeds a day.
int64_t common_pane_ns(const Program& a, const Program& b);

}  // namespace tapline::trigger
