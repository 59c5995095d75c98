// Distinguishes a lane that is stuck in a plug-in from one that only waits for a CPU.
#pragma once

#include <array>
#include <cstdint>

#include "monitors/supervisor/monitor_page.h"

namespace tapline {

// The state of another process's thread, from /proc.
struct ThreadState {
  char state = 'R';  // as in /proc/PID/stat: R runs or waits for a CPU, S and D sleep, T and t are stopped
  int64_t cpu_ns = 0;
};
ThreadState read_thread_state(int process, int thread);

// Detects a call to a plug-in that does not return. A thread that a signal or a debugger has stopped may take unlimited
// time; a runnable thread that gets no CPU does not count as hanging either.
class Watchdog {
 public:
  explicit Watchdog(int64_t timeout_ns) : timeout_ns_(timeout_ns) {}

  // Starts over for a new worker.
  void reset() { lanes_ = {}; }
  // Checks whether a lane hangs in a plug-in. Returns 1 + the plug-in's index, or 0. Must be called several times per
  // timeout, which starts when a call is first seen.
  uint32_t look(const MonitorPage& page, int process, int64_t now_ns);

 private:
  struct Seen {
    uint64_t calls = 0;
    uint32_t plugin = 0;
    int64_t since_ns = 0;
    int64_t cpu_ns = 0;
  };
  bool hangs(Seen* seen, const LanePage& lane, int process, int64_t now_ns) const;

  int64_t timeout_ns_;
  std::array<Seen, kMaxSupervisedLanes> lanes_ = {};
};

}  // namespace tapline
