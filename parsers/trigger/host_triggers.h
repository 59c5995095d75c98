#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parsers/trigger/event.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/running_program.h"
#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

// Evaluates a program on the packets of several lanes; a trigger's counts are the sums over all lanes. Each lane
// counts, and one thread sweeps the windows that all lanes have passed; no lane ever waits. While all of a lane's
// windows wait to be swept, the lane counts nothing, and reports its packets as lost.
//
// The program can be replaced while packets are counted. All lanes switch at the same boundary of all windows of both
// programs, each when its packets reach that boundary. Each lane proposes its next boundary, and the latest proposal is
// agreed once every lane has made one. Until then, a lane that reaches its boundary proposes the one after it:
//
//   lane 0 (at 13 ms)   proposes 20 ──────────────────────────────── 30 agreed ── counts in the old program until 30 ms
//   lane 1 (at 28 ms)   ─────────────── proposes 30, is the last ─── 30 agreed
//
// Once all lanes have switched, the old program's last windows are swept, and its alert states move to the new one.
//
// Thread safety: a lane's functions are for its thread, sweep() is for one thread, and prepare(), offer() and
// replacing() for another one. WindowRing holds the state that lanes and sweeps share. `offered_` publishes a program
// to the lanes and to the sweeping thread (release, acquire), and its reset returns `next_` and `retired_`.
class HostTriggers {
 public:
  // Returns options with enough windows for the sweeping thread to pause for two of them.
  static GatherOptions gather_options() { return {.windows = 4}; }
  static constexpr uint32_t kMaxLanes = 255;

  // REQUIRES: the sink outlives this object; at most kMaxLanes lanes.
  HostTriggers(std::shared_ptr<const Program> program, uint32_t lanes, const GatherOptions& gather,
               const SweepOptions& sweep, EventSink* sink);

  // Creates everything that the lanes need to run a program. Takes milliseconds. REQUIRES: `gather` has as many windows
  // as the program needs.
  std::unique_ptr<RunningProgram> prepare(std::shared_ptr<const Program> program, const GatherOptions& gather) const;
  // Replaces the program. EventSink::on_program() reports when the lanes have done so. REQUIRES: replacing() is false;
  // common_pane_ns() of both programs is not 0; an ID names the same trigger in both programs.
  void offer(std::unique_ptr<RunningProgram> next);
  // Returns true if a program was offered and the previous one has not been swept to its end.
  bool replacing() const { return offered_.load(std::memory_order_acquire) != nullptr; }

  // To be called on the lane's thread. These functions work as in TriggerEngine, but never sweep. A lane without
  // packets must call advance(), since a window is swept only after all lanes have passed it.
  void process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp);
  void advance(uint32_t lane, int64_t time_ns);
  // Returns true if there is room for the next windows. A caller that replays a capture can wait for room before it
  // passes the end of a window.
  bool has_room(uint32_t lane) const { return lanes_[lane].counting->gather(lane).has_room(); }
  void lose(uint32_t lane, const LostPackets& lost) { lanes_[lane].counting->gather(lane).lose(lost); }
  // Returns the program in which the lane counts.
  const Program& program(uint32_t lane) const { return lanes_[lane].counting->program(); }

  // Sweeps for up to this many steps. To be called on the sweeping thread. Returns false if nothing is left to do.
  bool sweep(uint32_t steps);

 private:
  struct alignas(64) Lane {
    RunningProgram* counting = nullptr;
    int64_t passed_ns = INT64_MIN;  // the last time given to pass()
    bool has_proposed = false;
  };
  static constexpr int64_t kNotAgreed = INT64_MAX;

  // Returns true if the lane's program has no triggers, and therefore no windows.
  bool counts_nothing(uint32_t lane) const { return lanes_[lane].counting->sweeps().empty(); }
  void pass(uint32_t lane, int64_t time_ns);
  void pass_window(uint32_t lane, int64_t time_ns);
  RunningProgram* offered_to(uint32_t lane) const;
  int64_t propose(uint32_t lane, int64_t time_ns);
  uint32_t leave(uint32_t steps);

  GroupHasher hasher_;
  SweepOptions sweep_options_;
  EventSink* sink_;
  std::vector<Lane> lanes_;
  std::unique_ptr<RunningProgram> current_;  // the program that is swept
  std::unique_ptr<RunningProgram> next_;     // waits until all lanes have switched and current_ is swept
  std::unique_ptr<RunningProgram> retired_;  // freed by the next offer
  int64_t common_pane_ns_ = 0;               // windows of both programs have boundaries at its multiples
  std::atomic<RunningProgram*> offered_{nullptr};
  // The latest proposed boundary, as a multiple of common_pane_ns_, times 256, plus the number of lanes that have
  // proposed.
  std::atomic<uint64_t> proposals_{0};
  std::atomic<uint32_t> switched_{0};  // lanes that count in next_
};

}  // namespace tapline::trigger
