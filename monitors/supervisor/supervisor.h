// Runs the monitor in a process of its own and starts it anew when a plug-in takes it down.
//
// The supervisor keeps nothing but the page: no DPDK, no Kafka, no plug-in is ever loaded into it, so that nothing a
// plug-in does can reach it. A worker that dies, or does not come back from a plug-in within the watchdog's time, is
// replaced at once; the plug-in that it was in gets a strike, and is left out from its second one on. A worker that
// dies elsewhere is replaced, too, but after ever longer pauses, and not for ever. Single-threaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "packet_io/base/reporter.h"
#include "packet_io/base/status.h"
#include "monitors/supervisor/arrivals.h"
#include "monitors/supervisor/monitor_page.h"
#include "monitors/supervisor/watchdog.h"

namespace tapline {

struct SupervisorOptions {
  int64_t watchdog_ns = 500'000'000;
  // Names of the plug-ins, for messages, in the order of their pages.
  std::vector<std::string> plugins;
  // What the packets that nobody listened to are counted on; empty: they are not.
  std::string interface;
  bool live = false;  // packets come whether anybody listens or not
  // Deaths outside plug-ins within a minute that are too many.
  size_t most_deaths = 5;
};

class Supervisor {
 public:
  // All outlive it.
  Supervisor(SupervisorOptions options, Reporter* reporter, const std::atomic<bool>* stop);

  // Runs `work` in forked processes until one of them returns from it, which is told by the page's phase; `work` gives
  // the exit code. Fails if there can be no further worker. REQUIRES: this process has one thread.
  Status Run(const std::function<int(MonitorPage*)>& work, int* exit_code);

 private:
  struct Death {
    bool hung = false;
    int wait_status = 0;
    uint32_t plugin = 0;  // 1 + index; 0: none
  };

  Status StartWorker(const std::function<int(MonitorPage*)>& work);
  // Until the worker is dead. Ends one that hangs.
  Death Await();
  void TellStop();
  void Blame(const Death& death);
  Status Pause();
  std::string Describe(const Death& death) const;
  void CountMissed();

  SupervisorOptions options_;
  Reporter* reporter_;
  const std::atomic<bool>* stop_;
  MonitorPagePointer page_;
  Arrivals arrivals_;
  Watchdog watchdog_;
  int worker_ = -1;  // process id
  int worker_fd_ = -1;
  bool told_ = false;             // the worker knows that it is to stop
  int looks_left_ = 0;            // at what arrived, until it is compared with what this worker has seen
  uint64_t unseen_ = UINT64_MAX;  // the least of them
  uint64_t unseen_at_start_ = 0;  // packets that came before the first worker listened
  std::deque<int64_t> deaths_;
  Death last_death_;
};

}  // namespace tapline
