// Runs the monitor in a child process and restarts it when a plug-in crashes it.
//
// The supervisor shares only the page with workers, and never loads DPDK, Kafka or a plug-in, so no plug-in can crash
// it. A worker that dies in a plug-in, or does not return from it within the watchdog's timeout, is replaced at once;
// the plug-in is disabled when this happens for the second time. A worker that dies elsewhere is also replaced, but
// after increasing pauses, and only a limited number of times per minute. Single-threaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "monitors/supervisor/arrivals.h"
#include "monitors/supervisor/monitor_page.h"
#include "monitors/supervisor/watchdog.h"
#include "packet_io/base/reporter.h"
#include "packet_io/base/status.h"

namespace tapline {

struct SupervisorOptions {
  int64_t watchdog_ns = 500'000'000;
  // Names of the plug-ins, for messages, in the order of their entries in the page.
  std::vector<std::string> plugins;
  // The interfaces whose packets are counted while no worker is capturing; if empty, packets are not counted.
  std::vector<std::string> interfaces;
  bool live = false;  // true if packets arrive even while no worker is capturing
  // The supervisor gives up after this many deaths outside plug-ins within a minute.
  size_t max_deaths = 5;
};

class Supervisor {
 public:
  // `reporter` and `stop` must outlive the supervisor.
  Supervisor(SupervisorOptions options, Reporter* reporter, const std::atomic<bool>* stop);

  // Runs `work` in one forked process after another until it returns, and sets *exit_code to the value that it returns.
  // Fails if no worker can be started, or after too many deaths. REQUIRES: this process has only one thread.
  Status run(const std::function<int(MonitorPage*)>& work, int* exit_code);

 private:
  struct WorkerExit {
    bool hung = false;
    int wait_status = 0;
    uint32_t plugin = 0;  // 1 + the plug-in's index; 0: none
  };

  Status start_worker(const std::function<int(MonitorPage*)>& work);
  // Waits until the worker is dead. Kills it if it hangs in a plug-in.
  WorkerExit await();
  void forward_stop();
  void blame(const WorkerExit& death);
  Status pause();
  std::string describe(const WorkerExit& death) const;
  void count_missed();

  SupervisorOptions options_;
  Reporter* reporter_;
  const std::atomic<bool>* stop_;
  MonitorPagePointer page_;
  Arrivals arrivals_;
  Watchdog watchdog_;
  int worker_ = -1;  // process id
  int worker_fd_ = -1;
  bool stop_forwarded_ = false;   // true once the supervisor has asked the worker to stop
  int looks_left_ = 0;            // samples of the arrivals that remain before this worker's missed packets are counted
  uint64_t unseen_ = UINT64_MAX;  // minimum difference between these samples and the workers' count
  uint64_t unseen_at_start_ = 0;  // packets that arrived before the first worker captured
  std::deque<int64_t> deaths_;
  WorkerExit last_death_;
};

}  // namespace tapline
