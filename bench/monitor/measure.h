// Runs the monitor, or what it is compared with, in a process of its own over endless traffic, and says what a packet
// cost it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/monitor/shared.h"
#include "monitors/config/config.h"

namespace tapline::bench {

enum class Subject : uint8_t {
  kReceiveLoop,  // polls the port as the monitor does, and does nothing with the packets
  kMonitor,      // RunMonitor(): all that tapline-monitor does
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

// A stretch of a trial between two samples.
struct Window {
  double at_s;  // since the warm-up's end
  double cycles_per_packet;
};

struct Measured {
  std::string error;  // empty if all went well
  // CPU time of the receiving thread, so what other processes take does not count. TSC cycles. The last queue's.
  double cycles_per_packet = 0;
  // Packets that were received and not lost on their way to the parsers, all queues together, with the cores to
  // themselves: by CPU time where a thread does all that its packets need, else by the clock.
  double packets_per_second = 0;
  double lost_share = 0;  // of what was received
  std::vector<Window> windows;
  // The monitor's own account at its end.
  nlohmann::json accounting;
};

// Counts of the time stamp counter per second.
double TscHz();

// Runs it. REQUIRES: one thread, no DPDK in this process.
Measured Run(const Trial& trial);

// Whether DPDK gets hugepages; with the right to do so, and none there, reserves some until the process ends.
bool ProvideHugepages();

}  // namespace tapline::bench
