// Measures SYN floods from spoofed addresses, and addresses chosen to create as many combinations of classes in the
// engine as possible.
#include <algorithm>

#include "bench/triggers/parts.h"
#include "bench/triggers/truth.h"

namespace tapline::bench {
namespace {

constexpr double kSynShare = 0.65 / 14.88;
constexpr uint64_t kWindows = 10;
constexpr uint64_t kFirstFlooded = 4;

// Returns triggers of which about half reach their thresholds in a window, and finally a trigger on a SYN flood.
std::vector<trigger::Trigger> alarmed(const Workload& workload) {
  std::vector<trigger::Trigger> triggers = workload.triggers();
  const auto per_window = static_cast<double>(workload.packets_per_window() * workload.options().frame_bytes);
  const double usual = per_window * workload.options().triggers_per_packet / workload.options().triggers;
  for (size_t i = 0; i < triggers.size(); ++i) {
    const double min = usual * (0.5 + static_cast<double>(i % 16) / 16);
    triggers[i].when = trigger::above(trigger::value_of(trigger::Measure::kBytes), trigger::number(min));
  }
  trigger::Trigger flood;
  flood.id = triggers.size();
  flood.every_ns = workload.options().window_ns;
  flood.when = trigger::above(trigger::value_of(trigger::Measure::kSyn), trigger::number(1000));
  triggers.push_back(std::move(flood));
  return triggers;
}

// Records events by window.
class Recorder final : public trigger::EventSink {
 public:
  void on_event(const trigger::Event& event) override {
    if (windows_.empty() || windows_.back().start_ns != event.window_start_ns) {
      windows_.push_back({.start_ns = event.window_start_ns});
    }
    windows_.back().triggers.push_back(event.trigger);
  }
  void on_window(const trigger::WindowReport& report) override { packets += report.packets; }

  bool has(int64_t start_ns, uint64_t trigger) const {
    const auto window = std::find_if(windows_.begin(), windows_.end(),
                                     [&](const Window& known_window) { return known_window.start_ns == start_ns; });
    return window != windows_.end() &&
           std::find(window->triggers.begin(), window->triggers.end(), trigger) != window->triggers.end();
  }

  uint64_t packets = 0;

 private:
  struct Window {
    int64_t start_ns;
    std::vector<uint64_t> triggers = {};
  };
  std::vector<Window> windows_;
};

struct Outcome {
  uint64_t right = 0, missed = 0, wrong = 0;
  uint64_t first_flooded = kWindows;  // the first window with an event from the flood's trigger
};

Outcome compare(const Recorder& recorder, const std::vector<bool>& truth, uint64_t window, int64_t start_ns) {
  Outcome outcome;
  for (uint64_t i = 0; i < truth.size(); ++i) {
    const bool was_reported = recorder.has(start_ns, i);
    outcome.right += was_reported && truth[i];
    outcome.missed += !was_reported && truth[i];
    outcome.wrong += was_reported && !truth[i];
  }
  if (recorder.has(start_ns, truth.size() - 1)) outcome.first_flooded = window;
  return outcome;
}

// A flood that begins within a window: from then on, packets come from another workload.
class Flood {
 public:
  Flood() : begins_(calm_.first_packet(kFirstFlooded) + calm_.packets_per_window() / 5) {}

  const std::vector<trigger::Trigger>& triggers() const { return triggers_; }
  const Workload& at(uint64_t packet) const { return packet < begins_ ? calm_ : flooded_; }
  uint64_t packets() const { return calm_.first_packet(kWindows); }

  Outcome check(const Recorder& recorder) const {
    const FrameTriggers calm(calm_, triggers_), flooded(flooded_, triggers_);
    Truth truth(triggers_);
    Outcome sum;
    for (uint64_t window = 0; window < kWindows; ++window) {
      const uint64_t first = calm_.first_packet(window), end = calm_.first_packet(window + 1);
      truth.count(calm, std::min(first, begins_), std::min(end, begins_));
      truth.count(flooded, std::max(first, begins_), std::max(end, begins_));
      const Outcome outcome = compare(recorder, truth.finish(), window, calm_.window_start_ns(window));
      sum.right += outcome.right;
      sum.missed += outcome.missed;
      sum.wrong += outcome.wrong;
      sum.first_flooded = std::min(sum.first_flooded, outcome.first_flooded);
    }
    return sum;
  }

 private:
  Workload calm_{{}};
  Workload flooded_{{.syn_share = kSynShare}};
  std::vector<trigger::Trigger> triggers_ = alarmed(calm_);
  uint64_t begins_;
};

// Compares each event with the ground truth, before and during a flood of 650,000 SYNs per second.
void check_events(Measurements* measurements) {
  const Flood flood;
  Recorder recorder;
  trigger::TriggerEngine engine(program_of(flood.triggers()), {}, &recorder);
  std::array<Sample, 64> samples;
  TcpNumbers numbers;
  const double previous_cpu_seconds = cpu_seconds();
  for (uint64_t packet = 0; packet < flood.packets();) {
    const size_t burst = std::min<uint64_t>(samples.size(), flood.packets() - packet);
    for (size_t i = 0; i < burst; ++i, ++packet) read_plain(flood.at(packet).packet(packet), &samples[i], &numbers);
    engine.process({samples.data(), burst}, {});
  }
  const double ns = (cpu_seconds() - previous_cpu_seconds) * 1e9 / static_cast<double>(flood.packets());
  const uint64_t late = engine.stats().late_sweeps;
  engine.advance(flood.at(0).window_start_ns(kWindows));
  const Outcome outcome = flood.check(recorder);
  const bool exact = outcome.missed == 0 && outcome.wrong == 0 && recorder.packets == flood.packets() &&
                     outcome.first_flooded == kFirstFlooded;
  measurements->add({{"part", "attack"},
                     {"what", "650,000 SYNs/s, starting in the fifth window: events"},
                     {"ns_per_packet", ns},
                     {"packets", flood.packets()},
                     {"counted", recorder.packets},
                     {"late", late},
                     {"events", outcome.right},
                     {"missed_events", outcome.missed},
                     {"false_events", outcome.wrong},
                     {"flood_begins_in_window", kFirstFlooded},
                     {"flood_reported_in_window", outcome.first_flooded}},
                    std::to_string(outcome.right) + " right, " + std::to_string(outcome.missed) + " missed, " +
                        std::to_string(outcome.wrong) + " false; the flood begins in window " +
                        std::to_string(kFirstFlooded) + ", reported in " + std::to_string(outcome.first_flooded) +
                        "; " + std::to_string(flood.packets() - recorder.packets) + " packets uncounted");
  if (!exact) measurements->fail("attack: events are missing or false, or packets were not counted");
}

}  // namespace

void attack(Measurements* measurements) {
  for (const uint32_t count : {8u, 16u, 32u, 64u}) {
    const std::string named = std::to_string(count) + " patterns";
    WorkloadOptions fitting = {.triggers_per_packet = 64, .patterns = count, .syn_flood = true, .frames = 1 << 20};
    measurements->measure(
        {.part = "attack", .label = "SYNs that match, " + named, .workload = fitting, .other_designs = true});
    fitting.covered = 0;
    measurements->measure(
        {.part = "attack", .label = "SYNs that do not match, " + named, .workload = fitting, .other_designs = true});
  }
  measurements->measure({.part = "attack",
                         .label = "650,000 SYNs/s",
                         .workload = {.syn_share = kSynShare, .frames = 1 << 20},
                         .other_designs = true});
  check_events(measurements);
  measurements->measure(
      {.part = "attack",
       .label = "SYNs that match, by source",
       .workload = {.syn_flood = true, .frames = 1 << 20, .group = trigger::GroupBy::source(32, 128)}});
  measurements->measure({.part = "attack",
                         .label = "SYNs that match, a third on retransmissions",
                         .workload = {.syn_flood = true, .retransmission_triggers_in = 3, .frames = 1 << 20}});
  measurements->measure({.part = "attack",
                         .label = "addresses chosen against random prefixes",
                         .workload = {.flows = 1, .packets_per_flow = 1, .adversarial = true, .frames = 1 << 21},
                         .other_designs = true});
}

}  // namespace tapline::bench
