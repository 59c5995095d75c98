// Measures the effect of bursts, packet sizes, copies and each optimisation, and the time for which a sweep keeps a
// lane from its queue.
#include <sys/prctl.h>
#include <x86intrin.h>

#include <algorithm>

#include "bench/triggers/parts.h"

namespace tapline::bench {
namespace {

// Overhead of a frame on Ethernet: preamble and gap.
constexpr uint32_t kBetweenFrames = 20;

// CPU time of each sweep after a burst, in microseconds.
struct Sweeps {
  std::vector<double> us;
  uint64_t late = 0;

  double part(double share) {
    const auto at = us.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(us.size() - 1));
    std::nth_element(us.begin(), at, us.end());
    return *at;
  }
};

// Sweeps as TriggerEngine does after each burst, and measures that. The cycle counter also counts interruptions, so the
// largest of them may be the scheduler's.
Sweeps time_sweeps(const WorkloadOptions& options, uint32_t steps, uint64_t windows) {
  const Workload workload(options);
  CountingSink sink;
  trigger::TriggerEngine engine(program_of(workload.triggers()), {.steps_per_burst = 0}, &sink);
  Sweeps sweeps;
  std::array<Sample, 64> samples;
  TcpNumbers numbers;
  const uint64_t packets = workload.first_packet(windows);
  for (uint64_t packet = 0; packet + samples.size() <= packets;) {
    for (Sample& sample : samples) read_plain(workload.packet(packet++), &sample, &numbers);
    engine.process(samples, {});
    const uint64_t before = __rdtsc();
    engine.sweep(steps);
    // The first window is slower: its memory is new.
    if (packet > workload.first_packet(2)) {
      sweeps.us.push_back(static_cast<double>(__rdtsc() - before) / tsc_ghz() * 1e-3);
    }
  }
  sweeps.late = engine.stats().late_sweeps;
  return sweeps;
}

void report_sweeps(Measurements* to, const std::string& label, const WorkloadOptions& options, uint32_t steps) {
  Sweeps sweeps = time_sweeps(options, steps, to->quick() ? 12 : 52);
  const double median = sweeps.part(0.5), max = sweeps.part(0.999), longest = sweeps.part(1);
  char text[160];
  std::snprintf(text, sizeof text, "median %6.2f us, 99.9 %% below %6.2f us, longest %7.2f us, %3lu late", median, max,
                longest, sweeps.late);
  to->add({{"part", "sweep"},
           {"what", label},
           {"steps_per_burst", steps},
           {"bursts", sweeps.us.size()},
           {"median_us", median},
           {"p999_us", max},
           {"longest_us", longest},
           {"late", sweeps.late}},
          text);
}

}  // namespace

void bursts(Measurements* to) {
  for (const size_t burst : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    to->measure({.part = "bursts", .label = "bursts of " + std::to_string(burst), .burst = burst});
  }
}

// The share of 40 Gb/s that a core takes. Frames of more than 64 bytes are in main memory.
void sizes(Measurements* to) {
  for (const uint32_t bytes : {64u, 128u, 256u, 350u, 512u, 1024u, 1518u}) {
    const double line_rate = 40e9 / 8 / (bytes + kBetweenFrames);
    WorkloadOptions options = {.packets_per_second = line_rate, .frame_bytes = bytes};
    if (bytes > 64) options.frames = 1 << 16;
    const ordered_json row = to->measure_quietly(
        {.part = "sizes", .label = "frames of " + std::to_string(bytes) + " bytes", .workload = options});
    const double rate = 1e9 / row["ns_per_packet"].get<double>();
    ordered_json with_gigabits = row;
    with_gigabits["gigabits_per_second"] = rate * 8e-9 * (bytes + kBetweenFrames);
    with_gigabits["cores_for_40_gigabits"] = line_rate / rate;
    char text[120];
    std::snprintf(text, sizeof text, "%6.2f Mpps, %6.1f Gb/s; 40 Gb/s take %.2f cores, %lu late", rate * 1e-6,
                  rate * 8e-9 * (bytes + kBetweenFrames), line_rate / rate, row["late"].get<uint64_t>());
    to->add(std::move(with_gigabits), text);
  }
}

void fetches(Measurements* to) {
  for (const uint32_t count : {1u, 2u}) {
    to->measure(
        {.part = "fetches", .label = std::to_string(count) + " frames are read for a packet", .fetches = count});
  }
}

void optimisations(Measurements* to) {
  Case measured = {.part = "optimisations", .label = "all on"};
  to->measure(measured);
#ifdef TAPLINE_NO_PREFETCH
  return;  // bench_triggers_no_prefetch: the engine is compiled without prefetching
#endif
  measured.label = "frames are not prefetched";
  measured.ahead = 0;
  to->measure(measured);
  measured.ahead = 16;
  measured.label = "a cache of one line: each packet's classes are intersected";
  measured.engine.gather.cache_lines = 1;
  to->measure(measured);
  measured.engine = {};
  measured.label = "one packet at a time";
  measured.burst = 1;
  to->measure(measured);
  measured.burst = 64;
  measured.label = "the sweep is done at once, at a window's end";
  measured.engine.steps_per_burst = UINT32_MAX;
  to->measure(measured);
  measured.engine = {};
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  measured.label = "no huge pages";
  to->measure(measured);
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  measured.workload.group = trigger::GroupBy::flow();
  measured.workload.flows = 10'000;
  measured.workload.packets_per_flow = 1000;
  measured.label = "10,000 groups, all on";
  to->measure(measured);
  measured.workload.plain_thresholds = false;
  measured.label = "10,000 groups, each trigger of a group is tested";
  to->measure(measured);
}

void sweep(Measurements* to) {
  const WorkloadOptions base = {};
  WorkloadOptions grouped = {.flows = 30'000, .packets_per_flow = 1000, .group = trigger::GroupBy::flow()};
  for (const uint32_t steps : {48u, 128u}) {
    const std::string named = ", " + std::to_string(steps) + " steps a burst";
    report_sweeps(to, "8 a packet" + named, base, steps);
    report_sweeps(to, "64 a packet" + named, {.triggers_per_packet = 64}, steps);
    report_sweeps(to, "30,000 groups" + named, grouped, steps);
  }
}

}  // namespace tapline::bench
