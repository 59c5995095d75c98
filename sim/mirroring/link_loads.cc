#include "sim/mirroring/link_loads.h"

#include <algorithm>
#include <utility>

#include "parsers/rates/link_sum.h"
#include "sim/mirroring/true_bytes.h"

namespace tapline::mirroring {
namespace {

// One direction of a flow, and the link in this direction.
struct Link {
  rates::SequenceTracker tracker;
  rates::LinkShare share;
  rates::LinkSum sum;
  int64_t min_delay_ns = INT64_MAX;  // minimum delay of a copy with payload, which did not wait in the mirror queue
  int64_t begin_ns = 0;              // end of the previous interval, on the sender's clock
  std::vector<int64_t> waiting_ns;   // sending times of the interval's samples
};

class Collector {
 public:
  Collector(const Observation& seen, const EstimateOptions& options)
      : seen_(seen),
        options_(options),
        truth_(seen, options.link_bits_per_second),
        queue_(options.mirror),
        links_(seen.flows * 2) {}

  LinkLoads run() {
    int64_t end_ns = options_.every_ns;
    for (const Copy& copy : seen_.copies) {
      for (; copy.time_ns >= end_ns; end_ns += options_.every_ns) end_interval(end_ns);
      see(copy);
    }
    return std::move(result_);
  }

 private:
  void see(const Copy& copy) {
    const SentPacket& packet = seen_.sent[copy.packet];
    Link& link = links_[TrueBytes::side_of(packet)];
    latest_ns_ = copy.time_ns;
    if (packet.payload_bytes > 0) {
      const int64_t delay_ns = copy.time_ns - packet.sent_ns;
      link.min_delay_ns = std::min(link.min_delay_ns, delay_ns);
      latest_wait_ns_ = delay_ns - link.min_delay_ns;
      link.waiting_ns.push_back(packet.sent_ns);
    }
    queue_.observe(copy.time_ns, packet.wire_bytes);
    if (packet.udp) {
      link.sum.add(packet.wire_bytes);
      return;
    }
    const rates::TcpSample sample = sample_of(packet, copy.time_ns);
    const rates::Progress progress = link.tracker.add(sample, tracking_);
    queue_.observe(progress);
    link.sum.add(sample, progress, &link.share);
    // With fair queues, the copy of an acknowledgement may overtake copies of the data that it acknowledges.
    if (packet.has_ack && !options_.mirror.fair_queues) acknowledge(packet, copy.time_ns);
  }

  void acknowledge(const SentPacket& packet, int64_t time_ns) {
    Link& opposite = links_[TrueBytes::side_of(packet) ^ 1];
    const rates::Progress progress = opposite.tracker.acknowledge(packet.ack, time_ns, tracking_);
    if (progress.step != rates::Step::kHole) return;
    queue_.observe(progress);
    opposite.sum.add_hole(progress, &opposite.share);
  }

  void end_interval(int64_t end_ns) {
    rates::MirrorInterval mirror;
    mirror.interval_ns = options_.every_ns;
    mirror.complete = queue_.complete();
    mirror.longest_delay_ns = queue_.longest_busy_ns();
    for (const Link& link : links_) mirror.share.add(link.sum.covered());
    const rates::QueueDelay delay = queue_.delay(rates::Progress());
    const rates::Bounded interval = queue_.true_interval(options_.every_ns, earlier_delay_, delay);
    for (size_t side = 0; side < links_.size(); ++side) {
      Link& link = links_[side];
      if (side % 2 == 0 && link.min_delay_ns != INT64_MAX) report(side, mirror, interval, end_ns);
      link.sum.next();
    }
    earlier_delay_ = delay;
    queue_.next_interval();
  }

  void report(size_t side, const rates::MirrorInterval& mirror, const rates::Bounded& interval, int64_t end_ns) {
    Link& link = links_[side];
    const int64_t to_ns = end_ns - link.min_delay_ns - wait_at(end_ns);
    if (link.begin_ns > 0 && to_ns > link.begin_ns) {
      Estimate load;
      load.flow = static_cast<uint32_t>(side / 2);
      load.ready_ns = end_ns;
      load.from_ns = link.begin_ns;
      load.to_ns = to_ns;
      load.bits_per_second = link.sum.load(mirror, interval, options_.link_bits_per_second).bits_per_second;
      load.true_bits_per_second =
          truth_.between(side, load.from_ns, to_ns) * 8e9 / static_cast<double>(to_ns - load.from_ns);
      load.steady = seen_.first_drop_ns < 0 || load.from_ns + options_.path_ns >= seen_.first_drop_ns;
      result_.loads.push_back(load);
    }
    link.begin_ns = to_ns;
    for (const int64_t sent_ns : link.waiting_ns) result_.waits.push_back({sent_ns, end_ns});
    link.waiting_ns.clear();
  }

  // Estimates how long a copy received at this time waited in the mirror queue: as long as the latest copy with
  // payload, or not at all if the port has been idle since the latest copy.
  int64_t wait_at(int64_t time_ns) const {
    const auto frames_ns = static_cast<int64_t>(2 * 1538 * 8e9 / static_cast<double>(options_.link_bits_per_second));
    return time_ns - latest_ns_ > frames_ns ? 0 : latest_wait_ns_;
  }

  const Observation& seen_;
  EstimateOptions options_;
  TrueBytes truth_;
  rates::MirrorQueue queue_;
  rates::SequenceTracker::Limits tracking_;
  std::vector<Link> links_;
  rates::QueueDelay earlier_delay_;
  int64_t latest_ns_ = 0;       // time of the latest copy
  int64_t latest_wait_ns_ = 0;  // how long the latest copy with payload waited
  LinkLoads result_;
};

}  // namespace

LinkLoads link_loads(const Observation& seen, const EstimateOptions& options) { return Collector(seen, options).run(); }

}  // namespace tapline::mirroring
