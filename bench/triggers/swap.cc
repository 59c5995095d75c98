// Replaces programs, which another thread prepares, at 14.88 million packets per second. Compares windows with the
// packets that were sent, and measures the lane's CPU time per burst.
#include <algorithm>
#include <cstdio>
#include <future>
#include <map>

#include "bench/triggers/parts.h"

namespace tapline::bench {
namespace {

constexpr int64_t kSwapNs = 100'000'000;
constexpr size_t kBurst = 64;

// Checks that each window is reported once, with all its packets.
class WindowCheck final : public trigger::EventSink {
 public:
  explicit WindowCheck(const Workload& workload) : workload_(workload) {}

  void on_event(const trigger::Event&) override { ++events; }
  void on_window(const trigger::WindowReport& report) override {
    const uint64_t first = workload_.first_packet(windows), end = workload_.first_packet(windows + 1);
    mixed += report.start_ns != workload_.window_start_ns(windows) || report.packets != end - first || report.partial;
    packets += report.packets;
    ++windows;
  }

  uint64_t events = 0, windows = 0, packets = 0;
  uint64_t mixed = 0;  // windows whose counts differ from the packets sent

 private:
  const Workload& workload_;
};

// Creates the programs. Each program replaces some of the previous one's triggers with others under new IDs.
class Programs {
 public:
  Programs(const Workload& workload, uint32_t replaced) : triggers_(workload.triggers()), replaced_(replaced) {}

  std::shared_ptr<const trigger::Program> next() {
    for (uint32_t i = 0; i < replaced_; ++i) {
      trigger::Trigger& trigger = triggers_[at_++ % triggers_.size()];
      trigger.id = triggers_.size() + at_;
      trigger.when = trigger::above(trigger::value_of(trigger::Measure::kBytes), trigger::number(20'000 + at_ % 64));
    }
    return program_of(triggers_);
  }

 private:
  std::vector<trigger::Trigger> triggers_;
  uint32_t replaced_;
  uint64_t at_ = 0;
};

// The CPU time of bursts, in microseconds.
struct Bursts {
  double longest_us = 0;
  double longest_near_swap_us = 0;  // in the two windows after a program is offered
  std::vector<double> near_swap_us;

  double near_part(double share) {
    if (near_swap_us.empty()) return 0;
    const auto nth =
        near_swap_us.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(near_swap_us.size() - 1));
    std::nth_element(near_swap_us.begin(), nth, near_swap_us.end());
    return *nth;
  }
};

// Replaces programs while the lane runs. If a program is not ready in time, the lane waits for it, since packet time
// and the clock advance at different speeds.
void run(Measurements* measurements, const std::string& label, uint32_t replaced, uint32_t swaps) {
  const Workload workload({});
  WindowCheck check(workload);
  Programs programs(workload, replaced);
  trigger::TriggerEngine engine(programs.next(), {}, &check);
  const auto prepare = [&] { return engine.prepare(programs.next()); };
  auto prepared = std::async(std::launch::async, prepare);
  Bursts bursts;
  std::array<Sample, kBurst> samples;
  TcpNumbers numbers;
  int64_t offer_ns = workload.window_start_ns(0) + kSwapNs, near_until_ns = 0;
  const int64_t end_ns = offer_ns + swaps * kSwapNs;
  uint64_t packet = 0;
  for (uint32_t offered = 0; workload.packet(packet).time_ns < end_ns;) {
    if (workload.packet(packet).time_ns >= offer_ns && offered < swaps) {
      engine.offer(prepared.get());
      near_until_ns = offer_ns + 2 * workload.options().window_ns;
      offer_ns += kSwapNs;
      ++offered;
      if (offered < swaps) prepared = std::async(std::launch::async, prepare);
    }
    const bool is_near = workload.packet(packet).time_ns < near_until_ns;
    for (Sample& sample : samples) read_plain(workload.packet(packet++), &sample, &numbers);
    const double previous_cpu_seconds = cpu_seconds();
    engine.process(samples, {});
    const double us = (cpu_seconds() - previous_cpu_seconds) * 1e6;
    bursts.longest_us = std::max(bursts.longest_us, us);
    if (is_near) bursts.near_swap_us.push_back(us);
  }
  const uint64_t late = engine.stats().late_sweeps, made = engine.stats().swaps;
  const uint64_t windows = check.windows;
  engine.advance(workload.window_start_ns(windows + 1));
  const uint64_t in_windows = workload.first_packet(check.windows);
  const double near = bursts.near_part(1);
  char text[240];
  std::snprintf(text, sizeof text,
                "%lu swaps, %lu of %lu windows mixed, %ld packets uncounted, %lu late; a burst takes %.1f us at most, "
                "after a swap %.1f, 99.9 %% below %.1f",
                made, check.mixed, check.windows, static_cast<int64_t>(in_windows - check.packets), late,
                bursts.longest_us, near, bursts.near_part(0.999));
  measurements->add({{"part", "swap"},
                     {"what", label},
                     {"swaps", made},
                     {"windows", check.windows},
                     {"mixed_windows", check.mixed},
                     {"uncounted", static_cast<int64_t>(in_windows - check.packets)},
                     {"late", late},
                     {"longest_us", bursts.longest_us},
                     {"longest_after_swap_us", near},
                     {"p999_after_swap_us", bursts.near_part(0.999)}},
                    text);
  if (check.mixed > 0 || check.packets != in_windows || made != swaps) measurements->fail("swap: " + label);
}

}  // namespace

void swap(Measurements* measurements) {
  run(measurements, "without swaps", 0, 0);
  run(measurements, "100 triggers, ten times a second", 100, measurements->quick() ? 10 : 50);
  run(measurements, "all 4,096, twice", 4096, 2);
}

}  // namespace tapline::bench
