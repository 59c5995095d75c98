// Measures the effect of bursts, packet sizes, copies and each optimisation, and how long a sweep keeps a lane from
// polling its queue.
#include <sys/prctl.h>
#include <x86intrin.h>

#include <algorithm>

#include "bench/triggers/parts.h"

namespace tapline::bench {
namespace {

// Bytes that a frame costs on Ethernet in addition to its own: preamble and inter-frame gap.
constexpr uint32_t kBetweenFrames = 20;

// Times of the sweeps after bursts, in microseconds.
struct Sweeps {
  std::vector<double> us;
  uint64_t late = 0;

  double part(double share) {
    const auto nth = us.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(us.size() - 1));
    std::nth_element(us.begin(), nth, us.end());
    return *nth;
  }
};

// Sweeps after each burst as TriggerEngine does, and measures each sweep with the cycle counter. Times include
// interruptions, so the largest may be due to the scheduler.
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
    const uint64_t start_tsc = __rdtsc();
    engine.sweep(steps);
    // The first windows are slower, because they touch new memory.
    if (packet > workload.first_packet(2)) {
      sweeps.us.push_back(static_cast<double>(__rdtsc() - start_tsc) / tsc_ghz() * 1e-3);
    }
  }
  sweeps.late = engine.stats().late_sweeps;
  return sweeps;
}

void report_sweeps(Measurements* measurements, const std::string& label, const WorkloadOptions& options,
                   uint32_t steps) {
  Sweeps sweeps = time_sweeps(options, steps, measurements->quick() ? 12 : 52);
  const double median = sweeps.part(0.5), max = sweeps.part(0.999), longest = sweeps.part(1);
  char text[160];
  std::snprintf(text, sizeof text, "median %6.2f us, 99.9 %% below %6.2f us, longest %7.2f us, %3lu late", median, max,
                longest, sweeps.late);
  measurements->add({{"part", "sweep"},
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

void bursts(Measurements* measurements) {
  for (const size_t burst : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    measurements->measure({.part = "bursts", .label = "bursts of " + std::to_string(burst), .burst = burst});
  }
}

// Measures the share of 40 Gb/s that a core sustains. All frames together take 8 MiB at 128 bytes, 96 MiB at 1518.
void sizes(Measurements* measurements) {
  for (const uint32_t bytes : {64u, 128u, 256u, 350u, 512u, 1024u, 1518u}) {
    const double line_rate = 40e9 / 8 / (bytes + kBetweenFrames);
    WorkloadOptions options = {.packets_per_second = line_rate, .frame_bytes = bytes};
    if (bytes > 64) options.frames = 1 << 16;
    const ordered_json row = measurements->measure_quietly(
        {.part = "sizes", .label = "frames of " + std::to_string(bytes) + " bytes", .workload = options});
    const double rate = 1e9 / row["ns_per_packet"].get<double>();
    ordered_json with_gigabits = row;
    with_gigabits["gigabits_per_second"] = rate * 8e-9 * (bytes + kBetweenFrames);
    with_gigabits["cores_for_40_gigabits"] = line_rate / rate;
    char text[120];
    std::snprintf(text, sizeof text, "%6.2f Mpps, %6.1f Gb/s; 40 Gb/s take %.2f cores, %lu late", rate * 1e-6,
                  rate * 8e-9 * (bytes + kBetweenFrames), line_rate / rate, row["late"].get<uint64_t>());
    measurements->add(std::move(with_gigabits), text);
  }
}

void fetches(Measurements* measurements) {
  for (const uint32_t count : {1u, 2u}) {
    measurements->measure(
        {.part = "fetches", .label = std::to_string(count) + " frames are read for a packet", .fetches = count});
  }
}

void optimisations(Measurements* measurements) {
  Case measured_case = {.part = "optimisations", .label = "all on"};
  measurements->measure(measured_case);
#ifdef TAPLINE_NO_PREFETCH
  return;  // bench_triggers_no_prefetch: the engine is compiled without prefetching
#endif
  measured_case.label = "frames are not prefetched";
  measured_case.ahead = 0;
  measurements->measure(measured_case);
  measured_case.ahead = 16;
  measured_case.label = "a cache of one line: each packet's classes are intersected";
  measured_case.engine.gather.cache_lines = 1;
  measurements->measure(measured_case);
  measured_case.engine = {};
  measured_case.label = "one packet at a time";
  measured_case.burst = 1;
  measurements->measure(measured_case);
  measured_case.burst = 64;
  measured_case.label = "the sweep is done at once, at a window's end";
  measured_case.engine.steps_per_burst = UINT32_MAX;
  measurements->measure(measured_case);
  measured_case.engine = {};
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  measured_case.label = "no huge pages";
  measurements->measure(measured_case);
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  measured_case.workload.group = trigger::GroupBy::flow();
  measured_case.workload.flows = 10'000;
  measured_case.workload.packets_per_flow = 1000;
  measured_case.label = "10,000 groups, all on";
  measurements->measure(measured_case);
  measured_case.workload.plain_thresholds = false;
  measured_case.label = "10,000 groups, each trigger of a group is tested";
  measurements->measure(measured_case);
}

void sweep(Measurements* measurements) {
  const WorkloadOptions base = {};
  WorkloadOptions grouped = {.flows = 30'000, .packets_per_flow = 1000, .group = trigger::GroupBy::flow()};
  for (const uint32_t steps : {48u, 128u}) {
    const std::string named = ", " + std::to_string(steps) + " steps a burst";
    report_sweeps(measurements, "8 a packet" + named, base, steps);
    report_sweeps(measurements, "64 a packet" + named, {.triggers_per_packet = 64}, steps);
    report_sweeps(measurements, "30,000 groups" + named, grouped, steps);
  }
}

}  // namespace tapline::bench
