// A file that both bench_monitor and the traffic in the measured process map.
//
// The measured process only writes, and the benchmark reads once it has ended; there is no other synchronisation.
#pragma once

#include <atomic>
#include <cstdint>

#include "bench/monitor/traffic.h"

namespace tapline::bench {

// The environment variable that passes the file's name to the measured process.
inline constexpr char kSharedVariable[] = "TAPLINE_BENCH_SHARED";

inline constexpr uint32_t kMaxQueues = 4;
inline constexpr uint32_t kMaxSamples = 1 << 16;

// The receiving thread's counters after `packets` packets.
struct Sample {
  uint64_t tsc;
  uint64_t cpu_ns;
  uint64_t packets;
};

struct QueueSamples {
  uint32_t count;
  Sample samples[kMaxSamples];
};

struct Shared {
  TrafficOptions traffic;
  uint32_t sample_every_packets;
  QueueSamples queues[kMaxQueues];
};

}  // namespace tapline::bench
