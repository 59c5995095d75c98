// A file that both bench_monitor and the traffic library in the measured process map.
//
// The benchmark writes the options before it starts the measured process, which then adds samples. While that runs, the
// benchmark reads samples only to follow the warm-up, without synchronisation; it evaluates them once the process has
// ended.
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
