// Compares link loads with the bytes for each link that arrive at a modelled switch during the same time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "parsers/rates/link_sum.h"
#include "parsers/rates/testing/mirror_model.h"

namespace tapline::rates {
namespace {

using testing::Copy;
using testing::FlowSpec;
using testing::MirrorRun;
using testing::MirrorSpec;
using testing::SentPacket;

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kLink = 20'000'000'000;
constexpr size_t kLinks = 4;

struct Judged {
  uint64_t loads = 0, within = 0, unknown = 0;
  double errors = 0, width = 0;

  void add(const LinkLoad& load, double truth) {
    ++loads;
    within += load.bits_per_second.low <= truth * (1 + 1e-9) && truth <= load.bits_per_second.high * (1 + 1e-9);
    width += (load.bits_per_second.high - load.bits_per_second.low) / static_cast<double>(kLink);
    if (std::isnan(load.bits_per_second.value)) {
      ++unknown;
    } else {
      errors += std::abs(load.bits_per_second.value - truth) / static_cast<double>(kLink);
    }
  }
  double share_within() const { return static_cast<double>(within) / static_cast<double>(loads); }
  // Returns the mean error as a share of the link's speed.
  double mean_error() const { return errors / static_cast<double>(std::max<uint64_t>(1, loads - unknown)); }
  void print(const std::string& name) const {
    std::printf("| %s | %llu | %.2f %% | %.1f %% | %.1f %% | %llu |\n", name.c_str(),
                static_cast<unsigned long long>(loads), 100 * mean_error(), 100 * share_within(),
                100 * width / static_cast<double>(loads), static_cast<unsigned long long>(unknown));
  }
};

struct Flow {
  SequenceTracker tracker;
  LinkShare share;
};

// The collector of one switch: flow f leaves over link f % kLinks.
class Collector {
 public:
  Collector(const std::vector<FlowSpec>& specs, const MirrorRun& run, int64_t every_ns)
      : specs_(specs),
        run_(run),
        every_ns_(every_ns),
        queue_({10'000'000'000, 0, 0}),
        flows_(specs.size()),
        links_(kLinks) {
    for (const SentPacket& packet : run.sent) {
      if (packet.arrival_ns >= 0) arrivals_[packet.flow % kLinks].push_back(&packet);
    }
    for (auto& arrivals : arrivals_) {
      std::stable_sort(arrivals.begin(), arrivals.end(),
                       [](const SentPacket* a, const SentPacket* b) { return a->arrival_ns < b->arrival_ns; });
    }
  }

  std::vector<Judged> judge() {
    int64_t end_ns = every_ns_;
    for (const Copy& copy : run_.copies) {
      for (; copy.time_ns >= end_ns; end_ns += every_ns_) close(end_ns);
      see(copy);
    }
    return judged_;
  }

 private:
  void see(const Copy& copy) {
    const SentPacket& sent = run_.sent[copy.packet];
    const TcpSample sample = copy.sample(sent);
    queue_.observe(sample.time_ns, sample.wire_bytes);
    last_waited_ns_ = copy.time_ns - sent.arrival_ns;
    LinkSum& link = links_[sent.flow % kLinks];
    if (specs_[sent.flow].udp) {
      link.add(sample.wire_bytes);
      latest_ = Progress();
      return;
    }
    Flow& flow = flows_[sent.flow];
    latest_ = flow.tracker.add(sample, SequenceTracker::Limits());
    queue_.observe(latest_);
    link.add(sample, latest_, &flow.share);
  }

  void close(int64_t end_ns) {
    MirrorInterval mirror;
    mirror.interval_ns = every_ns_;
    mirror.longest_delay_ns = queue_.longest_busy_ns();
    mirror.complete = queue_.complete();
    queue_.next_interval();
    for (const LinkSum& link : links_) mirror.share.add(link.covered());
    const QueueDelay delay = queue_.delay(latest_);
    const Bounded interval = queue_.true_interval(every_ns_, earlier_delay_, delay);
    const int64_t arrival_end_ns = end_ns - last_waited_ns_;
    for (size_t i = 0; i < kLinks; ++i) {
      const LinkLoad load = links_[i].load(mirror, interval, kLink);
      links_[i].next();
      if (end_ns <= every_ns_) continue;  // flows begin in the first interval
      const double truth = true_bytes(i, arrival_begin_ns_, arrival_end_ns) * 8e9 /
                           static_cast<double>(std::max<int64_t>(1, arrival_end_ns - arrival_begin_ns_));
      judged_[i].add(load, truth);
      EXPECT_TRUE(truth > 0 || load.seen != Seen::kMeasured);
      if (load.seen == Seen::kIdle) {
        EXPECT_EQ(truth, 0);
      }
    }
    arrival_begin_ns_ = arrival_end_ns;
    earlier_delay_ = delay;
  }

  double true_bytes(size_t link, int64_t from_ns, int64_t to_ns) {
    double bytes = 0;
    size_t& position = next_[link];
    const auto& arrivals = arrivals_[link];
    while (position < arrivals.size() && arrivals[position]->arrival_ns < from_ns) ++position;
    for (; position < arrivals.size() && arrivals[position]->arrival_ns < to_ns; ++position)
      bytes += arrivals[position]->wire_bytes;
    return bytes;
  }

  const std::vector<FlowSpec>& specs_;
  const MirrorRun& run_;
  int64_t every_ns_;
  MirrorQueue queue_;
  std::vector<Flow> flows_;
  std::vector<LinkSum> links_;
  std::vector<const SentPacket*> arrivals_[kLinks];
  size_t next_[kLinks] = {};
  std::vector<Judged> judged_ = std::vector<Judged>(kLinks);
  Progress latest_;
  QueueDelay earlier_delay_;
  int64_t last_waited_ns_ = 0, arrival_begin_ns_ = 0;
};

// Links 0 to 2 have three flows each; link 3 has none.
std::vector<FlowSpec> flows_on_three_links(double factor) {
  std::vector<FlowSpec> flows(12);
  for (size_t i = 0; i < flows.size(); ++i) {
    flows[i].bits_per_second = static_cast<uint64_t>(factor * 10e9 / 9);
    if (i % kLinks == 3) flows[i].begin_ns = flows[i].end_ns;
  }
  return flows;
}

void judge_links(const std::string& name, const std::vector<FlowSpec>& flows, const MirrorSpec& mirror,
                 int64_t every_ns) {
  const MirrorRun run = run_mirror(flows, mirror, 7);
  Judged sum;
  for (const Judged& link : Collector(flows, run, every_ns).judge()) {
    sum.loads += link.loads;
    sum.within += link.within;
    sum.unknown += link.unknown;
    sum.errors += link.errors;
    sum.width += link.width;
  }
  sum.print(name);
  EXPECT_GE(sum.share_within(), 0.95) << name;
}

TEST(LinksModel, TcpFlows) {
  for (const double factor : {0.5, 1.2, 2.0, 4.0}) {
    for (const int64_t every_ns : {100'000, 1'000'000}) {
      judge_links(
          "factor " + std::to_string(factor).substr(0, 3) + ", every " + std::to_string(every_ns / 1000) + " us",
          flows_on_three_links(factor), MirrorSpec(), every_ns);
    }
  }
}

TEST(LinksModel, ADeepQueueFills) {
  MirrorSpec mirror;
  mirror.queue_bytes = 4 << 20;
  judge_links("4 MB, every 1000 us", flows_on_three_links(1.6), mirror, kMs);
}

TEST(LinksModel, UdpAndTcp) {
  for (const double factor : {0.5, 1.5, 2.5}) {
    std::vector<FlowSpec> flows = flows_on_three_links(factor);
    for (size_t i = 0; i < flows.size(); i += 5) flows[i].udp = true;
    judge_links("UDP next to TCP, factor " + std::to_string(factor).substr(0, 3), flows, MirrorSpec(), kMs);
  }
}

// There are two thousand flows of about 30 packets each. Many have few samples, and some have none.
TEST(LinksModel, ShortFlows) {
  std::vector<FlowSpec> flows;
  for (int i = 0; i < 2000; ++i) {
    FlowSpec flow;
    flow.begin_ns = i * 25'000;
    flow.end_ns = flow.begin_ns + 400'000;
    flow.bits_per_second = 900'000'000;
    flows.push_back(flow);
  }
  judge_links("short flows", flows, MirrorSpec(), kMs);
}

}  // namespace
}  // namespace tapline::rates
