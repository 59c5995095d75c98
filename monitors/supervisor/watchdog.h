// Tells a lane that does not come back from a plug-in from one that only waits for its turn.
#pragma once

#include <array>
#include <cstdint>

#include "monitors/supervisor/monitor_page.h"

namespace tapline {

// How a thread of another process is doing, by /proc.
struct ThreadState {
  char state = 'R';  // as in /proc/PID/stat: R runs or waits for a processor, S and D sleep, T and t are stopped
  int64_t cpu_ns = 0;
};
ThreadState ReadThreadState(int process, int thread);

// One call that lasts. Stopped threads (a signal, a debugger) get all the time that they want; one that is ready to run
// and gets no processor is not hanging either.
class Watchdog {
 public:
  explicit Watchdog(int64_t patience_ns) : patience_ns_(patience_ns) {}

  // A new worker.
  void Reset() { lanes_ = {}; }
  // To be called often. Returns 1 + the index of the plug-in that a lane hangs in, or 0.
  uint32_t Look(const MonitorPage& page, int process, int64_t now_ns);

 private:
  struct Seen {
    uint64_t calls = 0;
    uint32_t plugin = 0;
    int64_t since_ns = 0;
    int64_t cpu_ns = 0;
  };
  bool Hangs(Seen* seen, const LanePage& lane, int process, int64_t now_ns) const;

  int64_t patience_ns_;
  std::array<Seen, kMostSupervisedLanes> lanes_ = {};
};

}  // namespace tapline
