// The experiments in Planck's section 5 that need only one switch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/mirroring/senders.h"

namespace tapline::mirroring {

struct Settings {
  uint32_t flows = 3;
  uint32_t udp = 0;       // number of flows that use UDP
  double gigabits = 10;   // speed of each port
  double factor = 0;      // ratio of the total rate of all flows to the mirror port's rate; 0: as fast as TCP permits
  double every_us = 100;  // interval at which loads are estimated
  double ms = 30, from_ms = 10;                     // simulated time; time at which the measurement begins
  uint64_t queue_bytes = PortQueue<int>::kNoLimit;  // limit of the mirror queue
  double buffer_bytes = 9e6, alpha = 0.8;           // the switch's shared buffer
  uint32_t window_bytes = 1 << 20;
  uint32_t congested = 1;  // number of ports to which two hosts send
  Schedule schedule = Schedule::kRoundRobin;
  bool mirrored = true;
  bool hystart = true;
  uint32_t seed = 1;
};

// Applies a setting such as "flows=13", "schedule=fifo" or "mirrored=no". Returns false if there is no such setting.
bool change(const std::string& setting, Settings* settings);

// One point of a curve or, with x = 0, a single figure.
struct Row {
  std::string series;
  double x = 0, y = 0;
};
using Rows = std::vector<Row>;

struct Experiment {
  const char *name, *about;
  Rows (*run)(const Settings& settings);
};

const std::vector<Experiment>& experiments();

}  // namespace tapline::mirroring
