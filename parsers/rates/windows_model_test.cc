// Compares estimates with the bytes that the senders of a modelled switch put on their links between the same two
// packets.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parsers/rates/burst_windows.h"
#include "parsers/rates/testing/mirror_model.h"

namespace tapline::rates {
namespace {

using testing::Copy;
using testing::FlowSpec;
using testing::MirrorRun;
using testing::MirrorSpec;
using testing::Pattern;
using testing::Scheduler;
using testing::SentPacket;

constexpr int64_t kMs = 1'000'000;

struct Judged {
  uint64_t windows = 0;
  uint64_t within = 0;  // windows whose bounds contain the true rate
  double errors = 0;    // sum of relative errors
  double bias = 0;
  double width = 0;  // sum of (high - low) / true

  void add(const Bounded& rate, double truth) {
    ++windows;
    within += rate.low <= truth * (1 + 1e-9) && truth <= rate.high * (1 + 1e-9);
    errors += std::abs(rate.value - truth) / truth;
    bias += (rate.value - truth) / truth;
    width += std::min(rate.high - rate.low, 10 * truth) / truth;
  }
  double mean_error() const { return windows == 0 ? 0 : errors / static_cast<double>(windows); }
  double mean_bias() const { return windows == 0 ? 0 : bias / static_cast<double>(windows); }
  double share_within() const { return windows == 0 ? 1 : static_cast<double>(within) / static_cast<double>(windows); }
  double mean_width() const { return windows == 0 ? 0 : width / static_cast<double>(windows); }
};

struct Result {
  Judged all;
  Judged steady;  // windows that begin after the mirror's first drop, or all if it drops nothing
  Judged unsteady;
  uint64_t dropped = 0, arrived = 0;

  void print(const std::string& name) const {
    const auto row = [&](const char* part, const Judged& judged) {
      std::printf("| %s, %s | %llu | %.2f %% | %+.2f %% | %.1f %% | %.1f %% |\n", name.c_str(), part,
                  static_cast<unsigned long long>(judged.windows), 100 * judged.mean_error(), 100 * judged.mean_bias(),
                  100 * judged.share_within(), 100 * judged.mean_width());
    };
    row("steady", steady);
    row("before", unsteady);
  }
};

struct Flow {
  SequenceTracker tracker;
  BurstWindows windows;
  const SentPacket* anchor = nullptr;
};

Result judge(const MirrorRun& run, size_t flow_count, const MirrorPort& port, const BurstLimits& limits,
             uint64_t link_bits_per_second) {
  MirrorQueue queue(port);
  std::vector<Flow> flows(flow_count);
  const SequenceTracker::Limits tracking;
  Result result;
  result.dropped = run.dropped;
  result.arrived = run.arrived;
  for (const Copy& copy : run.copies) {
    const SentPacket& sent = run.sent[copy.packet];
    const TcpSample sample = copy.sample(sent);
    Flow& flow = flows[sent.flow];
    queue.observe(sample.time_ns, sample.wire_bytes);
    const Progress progress = flow.tracker.add(sample, tracking);
    queue.observe(progress);
    const bool ended = flow.windows.add(sample, progress, limits, queue);
    if (ended) {
      const double truth = static_cast<double>(sent.sent_before - flow.anchor->sent_before) * 8e9 /
                           static_cast<double>(sent.sent_ns - flow.anchor->sent_ns);
      const WindowRate window = flow.windows.ended(queue);
      flow.windows.next();
      EXPECT_TRUE(window.known());
      const Bounded rate = window.bits_per_second(link_bits_per_second);
      result.all.add(rate, truth);
      (flow.anchor->arrival_ns >= run.first_drop_ns ? result.steady : result.unsteady).add(rate, truth);
    }
    if (ended || progress.step == Step::kStarted) flow.anchor = &sent;
  }
  return result;
}

std::vector<FlowSpec> equal_flows(size_t count, double factor, const FlowSpec& like = {}) {
  std::vector<FlowSpec> flows(count, like);
  for (size_t i = 0; i < count; ++i) {
    flows[i].bits_per_second = static_cast<uint64_t>(factor * 10e9 / static_cast<double>(count));
    flows[i].first_seq = static_cast<uint32_t>(0xfff00000u + 7919u * i);  // wraps around
  }
  return flows;
}

void expect_bars(const Result& result, const std::string& name) {
  result.print(name);
  EXPECT_GT(result.steady.windows, 100u) << name;
  EXPECT_LE(result.steady.mean_error(), 0.01) << name;
  EXPECT_GE(result.all.share_within(), 0.95) << name;
}

// Planck, Figure 11.
TEST(WindowsModel, ErrorByOversubscription) {
  for (const double factor : {0.5, 0.9, 1.2, 1.5, 2.0, 2.5, 4.0}) {
    for (const Scheduler scheduler : {Scheduler::kFifo, Scheduler::kRoundRobin}) {
      MirrorSpec mirror;
      mirror.scheduler = scheduler;
      const MirrorRun run = run_mirror(equal_flows(8, factor), mirror, 1);
      if (factor > 1) {
        EXPECT_GT(run.dropped, 0u);
      }
      const Result result =
          judge(run, 8, {10'000'000'000, 0, 0, scheduler == Scheduler::kRoundRobin}, BurstLimits(), 10'000'000'000);
      expect_bars(result, "factor " + std::to_string(factor).substr(0, 3) +
                              (scheduler == Scheduler::kFifo ? ", FIFO" : ", round robin"));
    }
  }
}

TEST(WindowsModel, DeepMirrorQueue) {
  for (const bool configured : {true, false}) {
    MirrorSpec mirror;
    mirror.queue_bytes = 4 << 20;
    const MirrorRun run = run_mirror(equal_flows(4, 1.6), mirror, 2);
    const Result result = judge(run, 4, {10'000'000'000, configured ? 3'400'000 : 0, 0}, BurstLimits(), 10'000'000'000);
    expect_bars(result, configured ? "4 MB, delay configured" : "4 MB, delay learned");
    EXPECT_LT(result.unsteady.mean_bias(), -0.05);  // the bias that bounds must cover
  }
}

TEST(WindowsModel, PortSpeedIsLearned) {
  const MirrorRun run = run_mirror(equal_flows(8, 2.0), MirrorSpec(), 3);
  expect_bars(judge(run, 8, {}, BurstLimits(), 0), "speed learned");
}

TEST(WindowsModel, SlowStart) {
  FlowSpec like;
  like.pattern = Pattern::kSlowStart;
  expect_bars(judge(run_mirror(equal_flows(6, 1.5, like), MirrorSpec(), 4), 6, {10'000'000'000, 0, 0}, BurstLimits(),
                    10'000'000'000),
              "slow start");
}

// Senders put a round trip's packets on the link at once, so the mirror's queue alternates between empty and full and
// is never steady: its delay may change by 26 us from one packet to another.
TEST(WindowsModel, BoundsAreCorrectForUnsteadyQueues) {
  FlowSpec like;
  like.pattern = Pattern::kBursts;
  for (const int64_t delay_ns : {0, 26'214}) {
    const Result result = judge(run_mirror(equal_flows(6, 1.5, like), MirrorSpec(), 4), 6,
                                {10'000'000'000, delay_ns, 0}, BurstLimits(), 10'000'000'000);
    result.print(delay_ns == 0 ? "bursts, delay learned" : "bursts, delay configured");
    EXPECT_GE(result.all.share_within(), 0.95);
    EXPECT_LE(result.all.mean_error(), 0.03);  // the paper's figure
  }
}

TEST(WindowsModel, MixedSizesLossesAndReordering) {
  FlowSpec mixed, lossy, reordered;
  mixed.mixed_sizes = true;
  lossy.lost_before = lossy.lost_after = 0.002;
  reordered.reordered = 0.01;
  MirrorSpec by_packets;
  by_packets.queue_bytes = 1 << 20;
  by_packets.queue_packets = 24;
  const std::pair<FlowSpec, std::string> cases[] = {
      {mixed, "mixed sizes"}, {lossy, "retransmissions"}, {reordered, "reordering"}};
  for (const auto& [like, name] : cases) {
    for (const MirrorSpec& mirror : {MirrorSpec(), by_packets}) {
      expect_bars(judge(run_mirror(equal_flows(6, 1.5, like), mirror, 5), 6, {10'000'000'000, 0, 0}, BurstLimits(),
                        10'000'000'000),
                  name + (mirror.queue_packets == 0 ? ", queue in bytes" : ", queue in packets"));
    }
  }
}

TEST(WindowsModel, SlowLinks) {
  MirrorSpec mirror;
  mirror.bits_per_second = mirror.link_bits_per_second = 50'000'000;
  mirror.queue_bytes = 8 << 10;
  std::vector<FlowSpec> flows = equal_flows(3, 2.0);
  for (FlowSpec& flow : flows) {
    flow.bits_per_second /= 200;
    flow.end_ns = 10'000 * kMs;
    flow.round_trip_ns = 10 * kMs;
  }
  expect_bars(judge(run_mirror(flows, mirror, 6), 3, {50'000'000, 0, 0}, BurstLimits::for_link(50'000'000), 50'000'000),
              "50 Mb/s");
}

}  // namespace
}  // namespace tapline::rates
