// Measures a lane whose queue receives half and twice as many packets as the lane can process. Packets for which the
// queue has no room are lost.
#include <algorithm>
#include <map>

#include "bench/triggers/parts.h"
#include "bench/triggers/truth.h"

namespace tapline::bench {
namespace {

constexpr uint64_t kWindows = 30;
constexpr size_t kBurst = 64;

// A NIC's queue: packets that arrive while it is full are lost. Packets arrive at even intervals of the lane's CPU
// time.
class Queue {
 public:
  static constexpr uint64_t kSlots = 4096;

  explicit Queue(uint64_t packets) : packets_(packets) {}

  // Declares that all packets before this one have arrived.
  void arrive(uint64_t before) {
    before = std::min(before, packets_);
    for (; arrived_ < before; ++arrived_) {
      if (stored_ - taken_ < kSlots) slots_[stored_++ % kSlots] = arrived_;
    }
  }
  // Removes the oldest packets, at most a burst, and stores their numbers. Returns their count.
  size_t take(std::array<uint64_t, kBurst>* numbers) {
    size_t count = 0;
    while (count < kBurst && taken_ < stored_) (*numbers)[count++] = slots_[taken_++ % kSlots];
    return count;
  }
  uint64_t arrived() const { return arrived_; }
  bool all_arrived() const { return arrived_ == packets_; }

 private:
  uint64_t packets_;
  uint64_t arrived_ = 0, stored_ = 0, taken_ = 0;
  std::array<uint64_t, kSlots> slots_;
};

// Returns groups of eight triggers: six compare with a lower bound, one with an upper bound, and one compares a share.
std::vector<trigger::Trigger> mixed(const Workload& workload) {
  using trigger::Measure;
  std::vector<trigger::Trigger> triggers = workload.triggers();
  const auto per_window = static_cast<double>(workload.packets_per_window() * workload.options().frame_bytes);
  const double usual = per_window * workload.options().triggers_per_packet / workload.options().triggers;
  const trigger::Expression bytes = trigger::value_of(Measure::kBytes);
  for (size_t i = 0; i < triggers.size(); ++i) {
    const trigger::Expression min = trigger::number(usual * (0.25 + static_cast<double>(i % 16) / 16));
    trigger::Expression when = trigger::above(bytes, min);
    if (i % 8 == 6) when = trigger::below(bytes, min);
    if (i % 8 == 7) {
      when = trigger::above(
          trigger::apply(trigger::Op::kDivide, trigger::value_of(Measure::kSyn), trigger::value_of(Measure::kPackets)),
          trigger::number(0.04));
    }
    triggers[i].when = when;
  }
  return triggers;
}

// Reads packets as a lane does. Packets are numbered, so a loss and its time are known when the next packet is read.
// (A NIC only counts losses.)
class Lane {
 public:
  Lane(const Workload& workload, const std::vector<trigger::Trigger>& triggers, trigger::EventSink* sink)
      : workload_(workload), engine_(program_of(triggers), {}, sink) {}

  void process(std::span<const uint64_t> numbers) {
    size_t pending = 0;
    for (const uint64_t number : numbers) {
      if (number != next_) {
        flush(&pending);
        lose(number);
      }
      __builtin_prefetch(workload_.packet(number + 16).data);
      read_plain(workload_.packet(number), &samples_[pending++], &numbers_);
      next_ = number + 1;
    }
    flush(&pending);
  }
  // Counts the unread packets before this one as lost.
  void lose(uint64_t before) {
    while (next_ < before) {
      const uint64_t end = std::min(before, workload_.first_packet(window_of(next_) + 1));
      engine_.lose({end - next_, workload_.packet(next_).time_ns, workload_.packet(end - 1).time_ns});
      lost_ += end - next_;
      next_ = end;
    }
  }
  void advance(int64_t time_ns) { engine_.advance(time_ns); }
  uint64_t lost() const { return lost_; }
  uint64_t late() const { return engine_.stats().late_sweeps; }

 private:
  uint64_t window_of(uint64_t packet) const {
    return static_cast<uint64_t>((workload_.packet(packet).time_ns - workload_.window_start_ns(0)) /
                                 workload_.options().window_ns);
  }
  void flush(size_t* pending) {
    if (*pending > 0) engine_.process({samples_.data(), *pending}, {});
    *pending = 0;
  }

  const Workload& workload_;
  trigger::TriggerEngine engine_;
  uint64_t next_ = 0, lost_ = 0;
  std::array<Sample, kBurst> samples_;
  TcpNumbers numbers_;
};

// Compares each report and event with all packets that were sent.
class Judge final : public trigger::EventSink {
 public:
  explicit Judge(const Workload& workload, const std::vector<trigger::Trigger>& triggers)
      : workload_(workload), frames_(workload, triggers), truth_(triggers) {
    for (const trigger::Trigger& trigger : triggers) {
      std::string error;
      rises_.push_back(trigger::Condition::make(trigger.when, &error)->rises());
    }
  }

  void on_event(const trigger::Event& event) override { events_[event.window_start_ns].push_back(event); }
  void on_window(const trigger::WindowReport& report) override { reports_[report.start_ns] = report; }

  // Judges all windows, after the run.
  void judge() {
    for (uint64_t window = 0; window < kWindows; ++window) {
      const uint64_t first = workload_.first_packet(window), end = workload_.first_packet(window + 1);
      truth_.count(frames_, first, end);
      const std::vector<bool> is_true = truth_.finish();
      const trigger::WindowReport& report = reports_[workload_.window_start_ns(window)];
      wrong_windows += report.packets + report.lost_packets != end - first;
      for (const trigger::Event& event : events_[workload_.window_start_ns(window)]) {
        const bool certain = event.verdict == trigger::Verdict::kTrue;
        certain_events += certain;
        possible_events += !certain;
        false_events += certain && !is_true[event.trigger];
        unmarked_events += certain && report.lost_packets > 0 && !rises_[event.trigger];
      }
    }
  }

  uint64_t wrong_windows = 0, certain_events = 0, possible_events = 0, false_events = 0, unmarked_events = 0;

 private:
  const Workload& workload_;
  FrameTriggers frames_;
  Truth truth_;
  std::vector<bool> rises_;
  std::map<int64_t, std::vector<trigger::Event>> events_;
  std::map<int64_t, trigger::WindowReport> reports_;
};

// Returns the number of packets per second that a core processes if the queue is never empty.
double capacity(const Workload& workload, const std::vector<trigger::Trigger>& triggers) {
  constexpr uint64_t kPackets = 1 << 21;
  CountingSink sink;
  Lane lane(workload, triggers, &sink);
  std::array<uint64_t, kBurst> numbers;
  double lane_seconds = 0;
  for (uint64_t packet = 0; packet < kPackets;) {
    for (uint64_t& number : numbers) number = packet++;
    const double previous_cpu_seconds = cpu_seconds();
    lane.process(numbers);
    lane_seconds += cpu_seconds() - previous_cpu_seconds;
  }
  return kPackets / lane_seconds;
}

// Runs the lane until all packets of the windows have arrived and been read or lost.
void run(const Workload& workload, double packets_per_second, Lane* lane) {
  const uint64_t packets = workload.first_packet(kWindows);
  Queue queue(packets);
  std::array<uint64_t, kBurst> numbers;
  double lane_seconds = 0;
  for (;;) {
    queue.arrive(static_cast<uint64_t>(lane_seconds * packets_per_second));
    const size_t count = queue.take(&numbers);
    if (count == 0 && queue.all_arrived()) break;
    const double previous_cpu_seconds = cpu_seconds();
    lane->process({numbers.data(), count});
    lane_seconds += cpu_seconds() - previous_cpu_seconds;
  }
  lane->lose(packets);
  lane->advance(workload.window_start_ns(kWindows));
}

}  // namespace

void overload(Measurements* measurements) {
  const WorkloadOptions usual_options = {.syn_share = 0.04};
  const Workload measured(usual_options);
  const double core = capacity(measured, mixed(measured));
  for (const double times : {0.5, 2.0}) {
    WorkloadOptions options = usual_options;
    options.packets_per_second = times * core;
    const Workload workload(options);
    const std::vector<trigger::Trigger> triggers = mixed(workload);
    Judge judge(workload, triggers);
    Lane lane(workload, triggers, &judge);
    run(workload, options.packets_per_second, &lane);
    judge.judge();
    const double lost = static_cast<double>(lane.lost()) / static_cast<double>(workload.first_packet(kWindows));
    char text[240];
    std::snprintf(text, sizeof text,
                  "%.1f Mpps sent, %.1f %% lost, %lu late; %lu certain events, %lu false; %lu possible, %lu unmarked; "
                  "%lu of %lu windows wrong",
                  options.packets_per_second * 1e-6, lost * 100, lane.late(), judge.certain_events, judge.false_events,
                  judge.possible_events, judge.unmarked_events, judge.wrong_windows, kWindows);
    measurements->add({{"part", "overload"},
                       {"what", times == 2 ? "twice the rate of a core" : "half the rate of a core"},
                       {"million_packets_per_second", options.packets_per_second * 1e-6},
                       {"lost_share", lost},
                       {"late", lane.late()},
                       {"windows", kWindows},
                       {"wrong_windows", judge.wrong_windows},
                       {"certain_events", judge.certain_events},
                       {"false_events", judge.false_events},
                       {"possible_events", judge.possible_events},
                       {"unmarked_events", judge.unmarked_events}},
                      text);
    if (judge.wrong_windows + judge.false_events + judge.unmarked_events > 0)
      measurements->fail("overload: wrong results");
  }
}

}  // namespace tapline::bench
