// Runs the monitor, or a program to compare it with, in a separate process over endless traffic, and measures the cost
// of a packet.
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
  kTestpmd,      // dpdk-testpmd --forward-mode=rxonly, same traffic, burst and mempool
};

struct Trial {
  Subject subject = Subject::kReceiveLoop;
  TrafficOptions traffic;
  MonitorConfig monitor;
  int cores = 1;
  double warm_up_s = 0.3;
  double seconds = 1.0;
};

// Cost of the packets between two samples of a trial.
struct Window {
  double at_s;  // time since the end of the warm-up
  double cycles_per_packet;
};

struct Measurement {
  std::string error;  // empty on success
  // CPU time of the receiving thread of the last queue, in TSC cycles. It excludes time taken by other processes.
  double cycles_per_packet = 0;
  // Packets that were received and not lost on their way to the parsers, for all queues together, with the cores to
  // themselves: by CPU time if a thread does all the work for its packets, else by wall-clock time.
  double packets_per_second = 0;
  double lost_share = 0;  // lost packets as a share of the received ones
  std::vector<Window> windows;
  // The monitor's own accounting at its end.
  nlohmann::json accounting;
};

// Returns the frequency of the time stamp counter in Hz.
double tsc_hz();

// Runs the trial. REQUIRES: one thread, no DPDK in this process.
Measurement run(const Trial& trial);

// Returns true if DPDK can get hugepages. If there are none and this process is permitted to, reserves some until it
// exits.
bool provide_hugepages();

}  // namespace tapline::bench
