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
  // CPU time of the receiving threads, so what other processes take does not count. TSC cycles.
  double cycles_per_packet = 0;
  // That many packets of one core (or of all queues together) with the core to itself.
  double packets_per_second = 0;
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
