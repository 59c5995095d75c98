#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parsers/trigger/event.h"
#include "parsers/trigger/gather.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/sweep.h"

namespace tapline::trigger {

// Evaluates a program on the packets of several lanes: a trigger's counts cover the host. Each lane counts, and another
// thread sweeps the windows that all lanes have passed; no lane ever waits. A lane whose windows are all unswept counts
// nothing until one is free, and reports these packets as lost.
//
// Thread safety: a lane's functions are for its thread, sweep() is for one other thread. WindowRing has their shared
// state.
class HostTriggers {
 public:
  // Enough for the sweeping thread to pause for two windows.
  static GatherOptions gather_options() { return {.windows = 4}; }

  // REQUIRES: the sink outlives this object.
  HostTriggers(std::shared_ptr<const Program> program, uint32_t lanes, const GatherOptions& gather,
               const SweepOptions& sweep, EventSink* sink);

  // On the lane's thread. As in TriggerEngine, but these never sweep. A lane without packets must call advance(), since
  // a window is swept only after all lanes have passed it.
  void process(uint32_t lane, std::span<const Sample> samples, std::span<const TcpFacts> tcp);
  void advance(uint32_t lane, int64_t time_ns);
  // A caller that replays a capture can wait until this is true before it passes the end of a window.
  bool has_room(uint32_t lane) const { return lanes_[lane]->has_room(); }
  void lose(uint32_t lane, uint64_t packets) { lanes_[lane]->lose(packets); }

  // On the sweeping thread. Returns false if nothing is left to do.
  bool sweep(uint32_t steps);

 private:
  std::shared_ptr<const Program> program_;
  GroupHasher hasher_;
  std::vector<std::unique_ptr<Gather>> lanes_;
  std::vector<Sweep> sweeps_;
};

}  // namespace tapline::trigger
