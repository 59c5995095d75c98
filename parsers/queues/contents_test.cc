// Compares the exact contents with an evaluator that follows the definitions packet by packet. TAPLINE_RANDOM_QUEUES is
// the number of random queues (default: 10,000).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "parsers/queues/queue_contents.h"
#include "parsers/queues/testing/queue_simulator.h"

namespace tapline::queues {
namespace {

using testing::TrafficOptions;

struct Truth {
  uint64_t bytes = 0, packets = 0, own_bytes = 0, own_packets = 0;
  std::map<uint64_t, uint64_t> of_flow;
};

// Evaluates ConQuest's definition 3.1: the contents are the packets that left before packet i, but not before from_ns.
// A link sends one packet at a time, so among departures with the same time, the first in order left first.
Truth evaluate(const std::vector<Passage>& passages, size_t i, int64_t from_ns) {
  Truth truth;
  for (size_t j = 0; j < i; ++j) {
    if (passages[j].departure_ns < from_ns) continue;
    truth.bytes += passages[j].bytes;
    ++truth.packets;
    truth.of_flow[passages[j].flow_key] += passages[j].bytes;
    if (passages[j].flow_key != passages[i].flow_key) continue;
    truth.own_bytes += passages[j].bytes;
    ++truth.own_packets;
  }
  return truth;
}

void expect_equal(const Finding& finding, const Truth& truth) {
  ASSERT_EQ(finding.queue_bytes, truth.bytes);
  ASSERT_EQ(finding.queue_packets, truth.packets);
  ASSERT_EQ(finding.own_bytes, truth.own_bytes);
  ASSERT_EQ(finding.own_packets, truth.own_packets);
  ASSERT_EQ(finding.flows, truth.of_flow.size());
  ASSERT_EQ(finding.error_bytes, 0u);
  ASSERT_FALSE(finding.cut);
}

TrafficOptions random_queue(uint32_t seed) {
  return {.packets = 60 + seed % 80,
          .flows = 1 + seed % 13,
          .load = 0.3 + 0.1 * (seed % 9),
          .burst_share = 0.01 * (seed % 7),
          .buffer_bytes = 3000u << seed % 6,
          .resolution_ns = seed % 3 == 0 ? 1000 : 1};
}

const uint64_t kQueues = testing::count_of("TAPLINE_RANDOM_QUEUES", 10'000);

// Counts of packets whose flow makes up at least alpha of the queue that they found: according to both the findings and
// the truth (hits), only to the findings (false alarms), or only to the truth (misses).
struct FlaggedPackets {
  double alpha;
  uint64_t hits = 0, false_alarms = 0, misses = 0;
  void count(const Finding& finding, const Truth& truth) {
    const bool flagged = finding.queue_bytes > 0 && finding.share() >= alpha;
    const bool contributes =
        truth.bytes > 0 && static_cast<double>(truth.own_bytes) >= alpha * static_cast<double>(truth.bytes);
    hits += flagged && contributes;
    false_alarms += flagged && !contributes;
    misses += !flagged && contributes;
  }
};

TEST(QueueContents, EqualTheDefinitionOnRandomQueues) {
  std::vector<FlaggedPackets> all = {{.alpha = 0.001}, {.alpha = 0.003}, {.alpha = 0.01},
                                     {.alpha = 0.03},  {.alpha = 0.1},   {.alpha = 0.3}};
  for (uint32_t seed = 0; seed < kQueues; ++seed) {
    const std::vector<Passage> passages = testing::passages_of(testing::simulate(random_queue(seed), seed));
    QueueContents contents({.max_flows = 64}, nullptr);
    for (size_t i = 0; i < passages.size(); ++i) {
      const Finding finding = contents.add(passages[i]);
      const Truth truth = evaluate(passages, i, passages[i].arrival_ns);
      expect_equal(finding, truth);
      for (FlaggedPackets& flagged : all) flagged.count(finding, truth);
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", packet " << i;
    }
  }
  for (const FlaggedPackets& flagged : all) {
    EXPECT_GT(flagged.hits, kQueues) << flagged.alpha;
    EXPECT_EQ(flagged.false_alarms, 0u) << flagged.alpha;
    EXPECT_EQ(flagged.misses, 0u) << flagged.alpha;
  }
}

// Returns passages of two classes: every third packet swaps arrivals with the packet seven places behind it, and so
// overtakes the packets in between.
std::vector<Passage> two_classes(uint32_t seed) {
  std::vector<Passage> passages = testing::passages_of(testing::simulate(random_queue(seed), seed));
  for (size_t i = 0; i + 7 < passages.size(); i += 3) {
    std::swap(passages[i].arrival_ns, passages[i + 7].arrival_ns);
    passages[i].arrival_ns = std::min(passages[i].arrival_ns, passages[i].departure_ns);
    for (const size_t j : {i, i + 7}) passages[j].earliest_ns = passages[j].latest_ns = passages[j].arrival_ns;
  }
  return passages;
}

TEST(QueueContents, EqualTheDefinitionWherePacketsOvertake) {
  for (uint32_t seed = 0; seed < kQueues; ++seed) {
    const std::vector<Passage> passages = two_classes(seed);
    ContentsOptions within = {.max_flows = 64, .reordering_ns = 100'000'000};
    ContentsOptions across = within;
    across.across_classes_decay_ns = 20'000;
    QueueContents own_class(within, nullptr), all_classes(across, nullptr);
    MaxDelay max_delay(across.across_classes_decay_ns);
    for (size_t i = 0; i < passages.size(); ++i) {
      max_delay.observe(passages[i].departure_ns, passages[i].delay_ns());
      expect_equal(own_class.add(passages[i]), evaluate(passages, i, passages[i].arrival_ns));
      expect_equal(all_classes.add(passages[i]),
                   evaluate(passages, i, passages[i].departure_ns - max_delay.delay_ns()));
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", packet " << i;
    }
  }
}

// Returns how long the link served each flow while packets waited, summed over all packets. Adds the time that they
// waited before the first packet arrived to *unknown_ns.
std::map<uint64_t, uint64_t> blame_of(const std::vector<Passage>& passages, uint64_t* unknown_ns) {
  std::map<uint64_t, uint64_t> blamed_ns;
  for (size_t i = 0; i < passages.size(); ++i) {
    int64_t free_ns = passages[0].arrival_ns;
    *unknown_ns += static_cast<uint64_t>(std::max<int64_t>(free_ns - passages[i].arrival_ns, 0));
    for (size_t j = 0; j <= i; ++j) {
      const int64_t from_ns = std::max(free_ns, passages[i].arrival_ns);
      if (passages[j].departure_ns > from_ns)
        blamed_ns[passages[j].flow_key] += static_cast<uint64_t>(passages[j].departure_ns - from_ns);
      free_ns = passages[j].departure_ns;
    }
  }
  return blamed_ns;
}

void expect_waits(const std::vector<Passage>& passages) {
  QueueContents contents({.max_flows = 64, .reordering_ns = 100'000'000}, nullptr);
  std::map<uint64_t, uint32_t> flows;
  std::map<uint64_t, uint64_t> waited_ns;
  for (const Passage& passage : passages) {
    const Finding finding = contents.add(passage);
    if (flows.emplace(passage.flow_key, finding.flow).second) contents.hold(finding.flow);
    waited_ns[passage.flow_key] += static_cast<uint64_t>(passage.delay_ns());
  }
  uint64_t unknown_ns = 0, all_waited_ns = 0, all_blamed_ns = 0;
  std::map<uint64_t, uint64_t> blamed_ns = blame_of(passages, &unknown_ns);
  for (const auto& [key, flow] : flows) {
    ASSERT_EQ(contents.flows()[flow].waited_ns, waited_ns[key]);
    ASSERT_EQ(contents.waits().blamed_ns(contents.flows()[flow]), blamed_ns[key]);
    all_waited_ns += waited_ns[key];
    all_blamed_ns += contents.waits().blamed_ns(contents.flows()[flow]);
  }
  ASSERT_EQ(contents.waits().unknown_ns(), unknown_ns);
  ASSERT_EQ(all_waited_ns, all_blamed_ns + unknown_ns);
}

TEST(WaitLedger, EachNanosecondOfAWaitIsBlamedOnTheFlowThatWasServed) {
  for (uint32_t seed = 0; seed < kQueues; ++seed) {
    expect_waits(testing::passages_of(testing::simulate(random_queue(seed), seed)));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    expect_waits(two_classes(seed));
    if (HasFatalFailure()) FAIL() << "two classes, seed " << seed;
  }
}

class KeptBursts final : public BurstSink {
 public:
  void burst(const Burst& burst) override { bursts.push_back(burst); }
  std::vector<Burst> bursts;
};

struct TruePeriod {
  Burst burst;
  std::map<uint64_t, BusyPeriod::Culprit> culprits;
  std::map<uint64_t, BusyPeriod::Waits> waits;
};

// Returns the levels of the queue when the victim arrived, from the bottom: the flow whose packet raised the queue, and
// the remaining bytes of that packet. Replays the period's arrivals and departures in time order.
std::vector<std::pair<uint64_t, uint64_t>> levels_at(const std::vector<Passage>& passages, size_t begin,
                                                     size_t victim) {
  std::vector<std::pair<uint64_t, uint64_t>> levels;
  size_t gone = begin;
  for (size_t i = begin; i <= victim; ++i) {
    for (; gone < i && passages[gone].departure_ns < passages[i].arrival_ns; ++gone) {
      uint64_t bytes = passages[gone].bytes;
      while (bytes > 0) {
        const uint64_t part = std::min(bytes, levels.back().second);
        bytes -= part;
        if ((levels.back().second -= part) == 0) levels.pop_back();
      }
    }
    if (i < victim) levels.push_back({passages[i].flow_key, passages[i].bytes});
  }
  return levels;
}

std::vector<TruePeriod> periods_of(const std::vector<Passage>& passages, int64_t victim_delay_ns) {
  std::vector<TruePeriod> periods;
  size_t begin = 0;
  for (size_t i = 0; i < passages.size(); ++i) {
    const Truth match = evaluate(passages, i, passages[i].arrival_ns);
    if (match.packets == 0 || periods.empty()) {
      begin = i;
      periods.emplace_back();
      periods.back().burst.begin_ns = passages[i].arrival_ns;
    }
    Burst& burst = periods.back().burst;
    burst.end_ns = passages[i].departure_ns;
    burst.max_delay_ns = std::max(burst.max_delay_ns, passages[i].delay_ns());
    burst.peak_bytes = std::max(burst.peak_bytes, match.bytes + passages[i].bytes);
    ++burst.packets;
    BusyPeriod::Waits& waits = periods.back().waits[passages[i].flow_key];
    waits.max_ns = std::max(waits.max_ns, passages[i].delay_ns());
    waits.sum_ns += passages[i].delay_ns();
    waits.victims += passages[i].delay_ns() >= victim_delay_ns;
    if (passages[i].delay_ns() < victim_delay_ns) continue;
    ++burst.victims;
    for (const auto& [key, bytes] : match.of_flow) periods.back().culprits[key].direct += bytes;
    for (size_t j = begin; j < i && passages[j].departure_ns < passages[i].arrival_ns; ++j)
      periods.back().culprits[passages[j].flow_key].indirect += passages[j].bytes;
    for (const auto& [key, bytes] : levels_at(passages, begin, i)) periods.back().culprits[key].original += bytes;
  }
  std::erase_if(periods, [](const TruePeriod& period) { return period.burst.victims == 0; });
  return periods;
}

// Charges each nanosecond that one of these packets waited to the flow that the link served at that time.
std::map<uint64_t, uint64_t> blame_of(std::span<const Passage> passages) {
  std::map<uint64_t, uint64_t> blamed_ns;
  for (size_t waiting = 0; waiting < passages.size(); ++waiting) {
    const Passage& packet = passages[waiting];
    for (size_t served = 0; served <= waiting; ++served) {
      const int64_t from_ns = served == 0 ? packet.arrival_ns : passages[served - 1].departure_ns;
      const int64_t wait_ns = passages[served].departure_ns - std::max(from_ns, packet.arrival_ns);
      if (wait_ns > 0) blamed_ns[passages[served].flow_key] += static_cast<uint64_t>(wait_ns);
    }
  }
  return blamed_ns;
}

TEST(BusyPeriod, CulpritsEqualTheDefinitionsOnRandomQueues) {
  size_t bursts = 0;
  for (uint32_t seed = 0; seed < kQueues; ++seed) {
    constexpr int64_t kVictimDelayNs = 3000;
    const std::vector<Passage> passages = testing::passages_of(testing::simulate(random_queue(seed), seed));
    KeptBursts kept;
    QueueContents contents({.max_flows = 64, .victim_delay_ns = kVictimDelayNs}, &kept);
    for (const Passage& passage : passages) contents.add(passage);
    contents.finish();
    const std::vector<TruePeriod> periods = periods_of(passages, kVictimDelayNs);
    ASSERT_EQ(kept.bursts.size(), periods.size()) << seed;
    for (size_t i = 0; i < periods.size(); ++i) {
      const Burst& burst = kept.bursts[i];
      const Burst& truth = periods[i].burst;
      ASSERT_EQ(burst.begin_ns, truth.begin_ns) << seed;
      ASSERT_EQ(burst.end_ns, truth.end_ns);
      ASSERT_EQ(burst.packets, truth.packets);
      ASSERT_EQ(burst.victims, truth.victims);
      ASSERT_EQ(burst.peak_bytes, truth.peak_bytes);
      ASSERT_EQ(burst.max_delay_ns, truth.max_delay_ns);
      uint64_t direct = 0, original = 0;
      const auto first = std::ranges::find(passages, burst.begin_ns, &Passage::arrival_ns);
      const bool is_compared = seed % 16 == 0;  // the definition takes quadratic time
      std::map<uint64_t, uint64_t> blamed_ns;
      if (is_compared) blamed_ns = blame_of({first, first + static_cast<ptrdiff_t>(burst.packets)});
      for (const Burst::Flow& culprit : burst.reported) {
        if (is_compared) {
          ASSERT_EQ(culprit.blamed_ns, blamed_ns[culprit.flow_key]) << seed;
        }
        const BusyPeriod::Waits waits = periods[i].waits.at(culprit.flow_key);
        ASSERT_EQ(culprit.waits.victims, waits.victims) << seed;
        ASSERT_EQ(culprit.waits.max_ns, waits.max_ns) << seed;
        ASSERT_EQ(culprit.waits.sum_ns, waits.sum_ns) << seed;
        const auto it = periods[i].culprits.find(culprit.flow_key);
        const BusyPeriod::Culprit expected = it == periods[i].culprits.end() ? BusyPeriod::Culprit{} : it->second;
        ASSERT_EQ(culprit.bytes.direct, expected.direct) << seed;
        ASSERT_EQ(culprit.bytes.indirect, expected.indirect) << seed;
        ASSERT_EQ(culprit.bytes.original, expected.original) << seed;
        direct += culprit.bytes.direct;
        original += culprit.bytes.original;
      }
      ASSERT_EQ(direct, original);
    }
    bursts += periods.size();
  }
  EXPECT_GT(bursts, 1000u);
}

TEST(QueueContents, StayWithinTheirBoundsAndReportMissingFlows) {
  KeptBursts kept;
  QueueContents contents({.max_flows = 16, .max_packets = 1024, .victim_delay_ns = 0}, &kept);
  uint64_t cut = 0;
  // Each packet arrived at time 0 and belongs to a separate flow.
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto time_ns = static_cast<int64_t>(i);
    const Finding finding = contents.add(Passage::certain(i * 0x9e3779b97f4a7c15, 0, 1 + time_ns, 100));
    EXPECT_LE(contents.packets_kept(), 1024u);
    EXPECT_LE(contents.flows().size(), 16u);
    EXPECT_LE(finding.queue_packets, i);
    EXPECT_EQ(finding.cut, finding.queue_packets < i);
    cut += finding.cut;
  }
  EXPECT_GT(cut, 0u);
  EXPECT_GT(contents.flows().without_room(), 0u);
  EXPECT_GT(contents.waits().unknown_ns(), 0u);
  contents.finish();
  ASSERT_EQ(kept.bursts.size(), 1u);
  EXPECT_LE(kept.bursts[0].reported.size(), Burst::kMaxFlows);
}

TEST(QueueContents, WithoutBurstsTheyKeepNoMorePacketsThanAllowed) {
  QueueContents contents({.max_packets = 1024}, nullptr);
  bool cut = false;
  for (int64_t i = 0; i < 10'000; ++i) {
    cut = contents.add(Passage::certain(static_cast<uint64_t>(i % 5), 0, 1 + i, 100)).cut;
    ASSERT_LT(contents.packets_kept(), 1024u);
  }
  EXPECT_EQ(contents.evicted(), 10'000 - contents.packets_kept());
  EXPECT_TRUE(cut);
}

TEST(QueueContents, FlowsThatLeftMakeRoomForOthersAtOnce) {
  const ContentsOptions options = {.max_flows = 16};
  QueueContents contents(options, nullptr);
  for (uint64_t flow = 1; flow <= 1000; ++flow) {
    const auto now_ns = static_cast<int64_t>(flow) * 2 * options.reordering_ns;
    contents.add(Passage::certain(flow, now_ns, now_ns, 100));
  }
  EXPECT_EQ(contents.flows().without_room(), 0u);
}

// Twenty flows of large packets fill the queue. Of thirty flows with one small packet each, the last ones wait longest.
TEST(QueueContents, ReportsCausingFlowsAndLongestWaitingFlows) {
  KeptBursts kept;
  QueueContents contents({.victim_delay_ns = 1}, &kept);
  int64_t departure_ns = 0;
  for (uint64_t flow = 1; flow <= 20; ++flow)
    contents.add(Passage::certain(flow, 0, departure_ns += 1000, static_cast<uint32_t>(10'000 - 100 * flow)));
  for (uint64_t flow = 101; flow <= 130; ++flow) contents.add(Passage::certain(flow, 0, departure_ns += 10, 64));
  contents.finish();
  ASSERT_EQ(kept.bursts.size(), 1u);
  std::vector<uint64_t> reported, main;
  for (const Burst::Flow& flow : kept.bursts[0].reported) {
    reported.push_back(flow.flow_key);
    if (flow.is_main) main.push_back(flow.flow_key);
  }
  EXPECT_EQ(reported, (std::vector<uint64_t>{1,  2,  3,  4,  5,   6,   7,   8,   9,   10,  11,  12,
                                             13, 14, 15, 16, 123, 124, 125, 126, 127, 128, 129, 130}));
  EXPECT_EQ(main, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 123, 124, 125, 126, 127, 128, 129, 130}));
}

// If the tap loses arrivals and some packets are not identified, the bytes of a finding differ from the truth by at
// most its error_bytes.
TEST(QueueContents, ErrorsOfUncertainArrivalsAreBounded) {
  class Chain final : public MatchSink {
   public:
    void pass(const Passage& passage) override { findings.push_back(contents.add(passage)); }
    void never_left(const View&) override { contents.lose(); }
    QueueContents contents{{}, nullptr};
    std::vector<Finding> findings;
  };
  uint64_t uncertain = 0, different = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto packets = testing::simulate({.packets = 3000, .flows = 5, .equal_share = 0.3}, seed);
    const std::vector<Passage> passages = testing::passages_of(packets);
    Chain chain;
    MatchOptions options;
    options.offset_ns = 0;
    options.reordering_ns = 0;
    TapMatcher matcher(options, &chain);
    for (const auto& event : testing::tapped(packets, {.arrivals_lost = 0.05}, seed)) {
      event.departure ? matcher.depart(event.view) : matcher.arrive(event.view);
    }
    matcher.finish();
    ASSERT_EQ(chain.findings.size(), passages.size());
    for (size_t i = 0; i < passages.size(); ++i) {
      const Finding& finding = chain.findings[i];
      if (!finding.arrival_known) continue;
      const Truth truth = evaluate(passages, i, passages[i].arrival_ns);
      const uint64_t error =
          finding.queue_bytes > truth.bytes ? finding.queue_bytes - truth.bytes : truth.bytes - finding.queue_bytes;
      EXPECT_LE(error, finding.error_bytes);
      const uint64_t own = finding.own_bytes > truth.own_bytes ? finding.own_bytes - truth.own_bytes
                                                               : truth.own_bytes - finding.own_bytes;
      EXPECT_LE(own, finding.error_bytes);
      uncertain += finding.error_bytes > 0;
      different += error > 0;
    }
  }
  EXPECT_GT(uncertain, 0u);
  EXPECT_GT(different, 0u);
}

// Packets that are dropped after the queue are never added. The speed of the link bounds their bytes.
TEST(QueueContents, TheLinkBoundsWhatIsMissing) {
  uint64_t missing = 0, found = 0, bound = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Passage> passages =
        testing::passages_of(testing::simulate({.packets = 200, .flows = 5, .ns_per_byte_thousandth = 1000}, seed));
    QueueContents contents({.incomplete = true, .link_bits_per_second = 8'000'000'000}, nullptr);
    for (size_t i = 0; i < passages.size(); ++i) {
      if (random() % 100 < seed) continue;
      const Finding finding = contents.add(passages[i]);
      const Truth truth = evaluate(passages, i, passages[i].arrival_ns);
      ASSERT_FALSE(finding.cut);
      ASSERT_LE(finding.queue_bytes, truth.bytes);
      ASSERT_GE(finding.queue_bytes + finding.error_bytes, truth.bytes);
      missing += truth.bytes - finding.queue_bytes;
      bound += finding.error_bytes;
      found += 1;
    }
  }
  EXPECT_GT(missing, 0u);
  EXPECT_LT(bound, missing + 2 * 1514 * found) << "the bounds exceed what is missing by two packets at most";
}

}  // namespace
}  // namespace tapline::queues
