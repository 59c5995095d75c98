#include "sim/mirroring/estimates.h"

#include <deque>
#include <utility>

#include "sim/mirroring/true_bytes.h"

namespace tapline::mirroring {
namespace {

// The times at which estimates are made: the ends of bursts, or of fixed intervals.
enum class Report : uint8_t { kBursts, kIntervals };

// One direction of a flow.
struct Direction {
  rates::SequenceTracker tracker;
  rates::BurstWindows windows;
  const SentPacket* anchor = nullptr;       // first sample of the open burst
  const SentPacket* chain_begin = nullptr;  // first sample of the windows that have not been reported yet
  rates::Counted counted;                   // bytes and packets counted in this interval
  std::vector<int64_t> waiting_ns;          // sending times of the open burst's samples
};

// The collector of one switch. It processes copies as the parser flow_rate processes the packets of one tap.
class Collector {
 public:
  Collector(const Observation& seen, const EstimateOptions& options, Report report)
      : seen_(seen),
        options_(options),
        report_(report),
        truth_(seen, options.link_bits_per_second),
        queue_(options.mirror),
        directions_(seen.flows * 2) {}

  // Fills `estimates` and, if they are made at the ends of bursts, `waits`.
  void run(std::vector<Estimate>* estimates, std::vector<Wait>* waits) {
    estimates_ = estimates;
    waits_ = waits;
    int64_t end_ns = options_.every_ns;
    for (const Copy& copy : seen_.copies) {
      for (; copy.time_ns >= end_ns; end_ns += options_.every_ns) {
        if (report_ == Report::kIntervals) end_interval(end_ns);
      }
      see(copy);
    }
  }

 private:
  bool is_steady(int64_t sent_ns) const {
    return seen_.first_drop_ns < 0 || sent_ns + options_.path_ns >= seen_.first_drop_ns;
  }

  void see(const Copy& copy) {
    const SentPacket& packet = seen_.sent[copy.packet];
    Direction& direction = directions_[TrueBytes::side_of(packet)];
    queue_.observe(copy.time_ns, packet.wire_bytes);
    direction.counted.add(packet.wire_bytes);
    if (!packet.udp) follow(packet, copy.time_ns, &direction);
  }

  void follow(const SentPacket& packet, int64_t time_ns, Direction* direction) {
    const rates::TcpSample sample = sample_of(packet, time_ns);
    const rates::Progress progress = direction->tracker.add(sample, tracking_);
    queue_.observe(progress);
    const bool ended = direction->windows.add(sample, progress, options_.bursts, queue_);
    const bool was_started = progress.step == rates::Step::kStarted;
    if (ended || was_started) direction->anchor = &packet;
    if (was_started) direction->chain_begin = &packet;
    if (ended && report_ == Report::kBursts) end_burst(time_ns, direction);
    if (packet.payload_bytes > 0) direction->waiting_ns.push_back(packet.sent_ns);
    // If queues are served in turn, the copy of an acknowledgement may overtake copies of the data that it
    // acknowledges.
    if (packet.has_ack && !options_.mirror.fair_queues) acknowledge(packet, time_ns);
  }

  void acknowledge(const SentPacket& packet, int64_t time_ns) {
    Direction& opposite = directions_[TrueBytes::side_of(packet) ^ 1];
    const rates::Progress progress = opposite.tracker.acknowledge(packet.ack, time_ns, tracking_);
    if (progress.step != rates::Step::kHole) return;
    queue_.observe(progress);
    opposite.windows.add_hole(progress);
  }

  void end_burst(int64_t time_ns, Direction* direction) {
    for (const int64_t sent_ns : direction->waiting_ns) waits_->push_back({sent_ns, time_ns});
    direction->waiting_ns.clear();
    rates::FlowRate rate;
    rate.method = rates::Method::kSequence;
    rate.bits_per_second = direction->windows.ended(queue_).bits_per_second(options_.link_bits_per_second);
    add_windows(rate, time_ns, *direction);
    begin_windows(direction);
  }

  static void begin_windows(Direction* direction) {
    direction->windows.next();
    direction->chain_begin = direction->anchor;
  }

  // Reports the windows that have ended. A window's true rate is the sender's rate between the window's first and last
  // samples.
  void add_windows(const rates::FlowRate& rate, int64_t time_ns, const Direction& direction) {
    const SentPacket &first = *direction.chain_begin, &last = *direction.anchor;
    if (first.from_server || last.sent_ns <= first.sent_ns) return;
    const auto bytes = static_cast<double>(last.sent_before - first.sent_before);
    add(rate, time_ns, first, last.sent_ns, bytes);
  }

  void add(const rates::FlowRate& rate, int64_t time_ns, const SentPacket& first, int64_t to_ns, double true_bytes) {
    Estimate estimate;
    estimate.flow = first.flow;
    estimate.udp = first.udp;
    estimate.ready_ns = time_ns;
    estimate.from_ns = first.sent_ns;
    estimate.to_ns = to_ns;
    estimate.bits_per_second = rate.bits_per_second;
    estimate.true_bits_per_second = true_bytes * 8e9 / static_cast<double>(to_ns - first.sent_ns);
    estimate.method = rate.method;
    estimate.steady = is_steady(first.sent_ns);
    estimates_->push_back(estimate);
  }

  rates::MirrorInterval mirror_interval() const {
    rates::MirrorInterval mirror;
    mirror.interval_ns = options_.every_ns;
    mirror.complete = queue_.complete();
    mirror.longest_delay_ns = queue_.longest_busy_ns();
    for (const Direction& direction : directions_) mirror.share.add(direction.windows.covered());
    return mirror;
  }

  void end_interval(int64_t end_ns) {
    const rates::MirrorInterval mirror = mirror_interval();
    for (size_t side = 0; side < directions_.size(); side += 2) {
      Direction& direction = directions_[side];
      if (direction.counted.packets > 0) report_interval(side, mirror, end_ns);
    }
    for (Direction& direction : directions_) {
      direction.counted = rates::Counted();
      begin_windows(&direction);
    }
    queue_.next_interval();
  }

  void report_interval(size_t side, const rates::MirrorInterval& mirror, int64_t end_ns) {
    const Direction& direction = directions_[side];
    const rates::FlowRate rate =
        rates::estimate_rate(direction.windows.ended(queue_), direction.counted, mirror, options_.link_bits_per_second);
    if (rate.method == rates::Method::kSequence) {
      add_windows(rate, end_ns, direction);
      return;
    }
    SentPacket first;
    first.flow = static_cast<uint32_t>(side / 2);
    first.udp = direction.anchor == nullptr;
    first.sent_ns = end_ns - options_.every_ns - options_.path_ns;
    const int64_t to_ns = end_ns - options_.path_ns;
    add(rate, end_ns, first, to_ns, truth_.between(side, first.sent_ns, to_ns));
  }

  const Observation& seen_;
  EstimateOptions options_;
  Report report_;
  TrueBytes truth_;
  rates::MirrorQueue queue_;
  rates::SequenceTracker::Limits tracking_;
  std::vector<Direction> directions_;
  std::vector<Estimate>* estimates_ = nullptr;
  std::vector<Wait>* waits_ = nullptr;
};

}  // namespace

rates::TcpSample sample_of(const SentPacket& packet, int64_t time_ns) {
  rates::TcpSample sample;
  sample.time_ns = time_ns;
  sample.seq = packet.seq;
  sample.payload_bytes = packet.payload_bytes;
  sample.wire_bytes = packet.wire_bytes;
  sample.syn = packet.syn;
  sample.fin = packet.fin;
  return sample;
}

Estimates estimate(const Observation& seen, const EstimateOptions& options) {
  Estimates estimates;
  std::vector<Wait> unused;
  Collector(seen, options, Report::kBursts).run(&estimates.bursts, &estimates.waits);
  Collector(seen, options, Report::kIntervals).run(&estimates.intervals, &unused);
  return estimates;
}

std::vector<double> waits_us(const std::vector<Wait>& waits, int64_t from_ns) {
  std::vector<double> times;
  for (const Wait& wait : waits) {
    if (wait.sent_ns >= from_ns) times.push_back(static_cast<double>(wait.ready_ns - wait.sent_ns) / 1e3);
  }
  return times;
}

std::vector<Estimate> rolling_averages(const Observation& seen, uint32_t flow, int64_t window_ns,
                                       const EstimateOptions& options) {
  const TrueBytes truth(seen, options.link_bits_per_second);
  std::vector<Estimate> averages;
  std::deque<const Copy*> window;
  uint64_t bytes = 0;
  int64_t next_ns = window_ns;
  const auto report = [&](int64_t time_ns) {
    for (; !window.empty() && window.front()->time_ns <= time_ns - window_ns; window.pop_front())
      bytes -= seen.sent[window.front()->packet].wire_bytes;
    Estimate average;
    average.flow = flow;
    average.ready_ns = time_ns;
    average.to_ns = time_ns - options.path_ns;
    average.from_ns = average.to_ns - window_ns;
    const auto per_second = [&](double amount) { return amount * 8e9 / static_cast<double>(window_ns); };
    average.bits_per_second.value = per_second(static_cast<double>(bytes));
    average.true_bits_per_second = per_second(truth.between(flow * 2, average.from_ns, average.to_ns));
    averages.push_back(average);
  };
  for (const Copy& copy : seen.copies) {
    for (; next_ns <= copy.time_ns; next_ns += window_ns / 10) report(next_ns);
    const SentPacket& packet = seen.sent[copy.packet];
    if (packet.flow != flow || packet.from_server) continue;
    window.push_back(&copy);
    bytes += packet.wire_bytes;
  }
  return averages;
}

}  // namespace tapline::mirroring
