#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parsers/trigger/event.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/running_program.h"

namespace tapline::trigger {

struct TriggerOptions {
  GatherOptions gather = {};
  SweepOptions sweep = {};
  // Steps of sweeping after each burst: see Sweep::run(). At 64 packets per burst and 14.88 million packets per second,
  // a window of 10 ms has 2,325 bursts, so 48 steps per burst are enough to test and clear 85,000 groups. After half of
  // the shortest window, the engine takes four times as many steps.
  uint32_t steps_per_burst = 48;
  // True if process() sweeps after each burst. Otherwise, the caller does so: sweep_between_bursts().
  bool sweeps_bursts = true;
  // Memory of each array that prepare() touches, so that the lane does not wait for new pages. The default covers the
  // cache, and the counters of about 65,000 cells or 32,000 groups.
  size_t populated_bytes = 4 << 20;
};

struct TriggerStats {
  uint64_t packets = 0;
  uint64_t match_sets = 0;
  uint64_t renewals = 0;  // replacements of all match sets, when they were nearly full
  uint64_t cache_misses = 0;
  uint64_t counted_singly = 0;     // packets whose match set had no room
  uint64_t late_sweeps = 0;        // windows whose sweep had to be finished at once because the next one ended first
  uint64_t unwatched_windows = 0;  // windows without packets that were skipped after a jump of packet time
  uint64_t swaps = 0;              // replaced programs
};

// Evaluates a program on all packets of one lane, which sweeps its windows itself. The program can be replaced while
// packets are counted:
//
//   prepare() ──▶ offer() ──▶ inbox ──▶ at a boundary of all windows of both programs, the lane switches
//   another thread                        ├── new: counts after the boundary, and is swept when
//                                         └── old: its last windows are swept, its alert states are handed over
//
// Each packet counts in exactly one program, each window belongs to one program, and alerts of triggers that both
// programs contain continue. The time to switch does not depend on the sizes of the programs.
//
// Conditions that more packets can't make false are also tested in the open window, each millisecond, and whenever the
// lane calls look().
//
// Thread safety: prepare(), offer() and pending() are for any one thread, all other functions are for the lane. The
// inbox publishes a program (release), and the outbox returns replaced programs. The next offer() frees them, which
// also takes milliseconds.
class TriggerEngine {
 public:
  // REQUIRES: the sink outlives the engine.
  TriggerEngine(std::shared_ptr<const Program> program, const TriggerOptions& options, EventSink* sink);
  ~TriggerEngine();
  TriggerEngine(const TriggerEngine&) = delete;
  TriggerEngine& operator=(const TriggerEngine&) = delete;

  // Creates everything that the lane needs to run a program. Takes milliseconds.
  std::unique_ptr<RunningProgram> prepare(std::shared_ptr<const Program> program) const;
  // Replaces the lane's program at the next boundary of all windows of both programs. Also replaces an earlier offer
  // that the lane has not taken. REQUIRES: common_pane_ns() of both programs is not 0; an ID names the same trigger in
  // both; the lane supplies TcpFacts if either program needs them.
  void offer(std::unique_ptr<RunningProgram> next);
  // Returns true if the lane has not taken the last offer.
  bool pending() const { return inbox_.load(std::memory_order_acquire) != nullptr; }

  // Counts the samples, in order, and does a bounded part of the sweep. `tcp` has the facts of each sample, or is empty
  // if the program doesn't need them.
  void process(std::span<const Sample> samples, std::span<const TcpFacts> tcp);
  // Advances packet time without packets. Closes the windows that end by this time, without sweeping them.
  void close(int64_t time_ns);
  // Also sweeps them, and returns when no work is left.
  void advance(int64_t time_ns);
  // Returns true if there may be something to sweep.
  bool has_work() const { return has_work_; }
  // Lets the next sweeps look at the open windows as of this time, for a lane with time to spare.
  void look(int64_t time_ns);
  // Sweeps for up to this many steps, between bursts. Returns false if no work is left.
  bool sweep(uint32_t steps);
  // Does the bounded part of the sweep that follows a burst.
  void sweep_between_bursts() { sweep(steps_at(current_->gather().clock_ns())); }
  // Counts packets that were lost before they reached the engine, in all windows that contain one of their possible
  // times. Report a loss before the samples or times that close such a window.
  void lose(const LostPackets& lost) { current_->gather().lose(lost); }

  // Returns the program in which packets are counted.
  const Program& program() const { return current_->program(); }
  TriggerStats stats() const;

 private:
  void pass(int64_t time_ns);
  void pass_window(int64_t time_ns);
  void finish_ended(int64_t time_ns);
  void swap_at(int64_t time_ns);
  uint32_t leave(uint32_t steps);
  uint32_t steps_at(int64_t time_ns) const { return time_ns < hurry_ns_ ? steps_per_burst_ : 4 * steps_per_burst_; }
  static void add(const RunningProgram& program, TriggerStats* stats);

  GroupHasher hasher_;
  TriggerOptions options_;
  EventSink* sink_;
  std::unique_ptr<RunningProgram> current_;
  std::unique_ptr<RunningProgram> next_;     // the program that waits for a boundary
  std::unique_ptr<RunningProgram> leaving_;  // the replaced program, whose last windows are being swept
  int64_t swapped_ns_ = 0;                   // the boundary from which current_ counts
  uint32_t steps_per_burst_;
  bool has_work_ = false;         // windows have passed since a sweep found no work
  int64_t hurry_ns_ = INT64_MAX;  // the time when half of the shortest window has passed
  int64_t next_look_ns_ = INT64_MIN;
  TriggerStats past_;  // sums over earlier programs
  uint64_t packets_ = 0;
  uint64_t late_sweeps_ = 0;
  std::atomic<RunningProgram*> inbox_{nullptr};
  std::atomic<RunningProgram*> outbox_{nullptr};
};

}  // namespace tapline::trigger
