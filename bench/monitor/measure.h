// Runs the monitor, or a program to compare it with, in a separate process over endless traffic, and measures the cost
// per packet.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/monitor/shared.h"
#include "monitors/config/config.h"

namespace tapline::bench {

enum class Subject : uint8_t {
  kReceiveLoop,  // polls the port as the monitor does, and ignores the packets
  kMonitor,      // run_monitor(): all of tapline-monitor
  kTestpmd,      // dpdk-testpmd --forward-mode=rxonly with the same traffic, burst size and mempool
};

struct Trial {
  Subject subject = Subject::kReceiveLoop;
  TrafficOptions traffic;
  MonitorConfig monitor;
  int cores = 1;
  double warm_up_s = 0.3;
  double seconds = 1.0;
};

// The cost of the packets between two samples of a trial.
struct Window {
  double at_s;  // time since the end of the warm-up
  double cycles_per_packet;
};

struct Measurement {
  std::string error;  // empty on success
  // CPU time per packet of the last queue's receiving thread, in TSC cycles. Excludes time taken by other processes.
  double cycles_per_packet = 0;
  // Packets received and not lost before the parsers, for all queues together, on cores without other load. Based on
  // CPU time if one thread does all the work for its packets, else on wall-clock time.
  double packets_per_second = 0;
  double lost_share = 0;  // lost packets as a share of the received ones
  std::vector<Window> windows;
  // The monitor's own final accounting.
  nlohmann::json accounting;
};

// Returns the frequency of the time stamp counter in Hz.
double tsc_hz();

// Runs the trial. REQUIRES: one thread, no DPDK in this process.
Measurement run(const Trial& trial);

// Returns true if DPDK can get hugepages. If there are too few, tries to reserve some until this process exits, which
// needs permission.
bool provide_hugepages();

}  // namespace tapline::bench
