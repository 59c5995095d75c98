// Tests that hops captured in any order pass in order of departure, and compares queues measured by telemetry alone
// with a simulation (sim/packets).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parsers/api/packet_digest.h"
#include "parsers/queues/hop_queues.h"
#include "parsers/queues/hop_sequencer.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/harness.h"

namespace tapline::queues {
namespace {

constexpr int64_t kStart = 1'000'000'000'000;
constexpr int64_t kHold = 1'000'000;

class Passages final : public MatchSink {
 public:
  void pass(const Passage& passage) override { passed.push_back(passage); }
  void never_left(const View&) override { FAIL() << "arrivals are not seen"; }
  void drop(uint32_t tag) override { dropped.push_back(tag); }
  std::vector<Passage> passed;
  std::vector<uint32_t> dropped;
};

struct ReportedHop {
  int64_t arrival_ns, departure_ns, captured_ns;
  uint64_t digest;
};

void add(const ReportedHop& hop, uint32_t tag, HopSequencer* sequencer) {
  sequencer->add({hop.digest, 7, hop.departure_ns, 1000, true, tag}, hop.arrival_ns, hop.captured_ns);
}

// Returns the hops of one FIFO queue in capture order, each captured less than latest_ns after the packet left. A
// share of `lost` is missing, and some others are captured two or three times.
std::vector<ReportedHop> random_hops(int64_t latest_ns, double lost, double repeated, std::mt19937_64* random) {
  std::vector<ReportedHop> hops;
  std::uniform_real_distribution<double> share;
  std::uniform_int_distribution<int64_t> gap_ns(0, 3000), wait_ns(0, 200'000), path_ns(0, latest_ns - 1);
  int64_t arrival_ns = 0, departure_ns = kStart;
  for (uint64_t i = 0; i < 2000; ++i) {
    departure_ns += gap_ns(*random);
    arrival_ns = std::max(arrival_ns, departure_ns - wait_ns(*random));
    const ReportedHop hop = {arrival_ns, departure_ns, 0, i + 1};
    if (share(*random) < lost) continue;
    for (int copy = 0; copy < (share(*random) < repeated ? 3 : 1); ++copy) {
      hops.push_back(hop);
      hops.back().captured_ns = departure_ns + path_ns(*random);
    }
  }
  std::stable_sort(hops.begin(), hops.end(),
                   [](const ReportedHop& a, const ReportedHop& b) { return a.captured_ns < b.captured_ns; });
  return hops;
}

TEST(Hops, PassOnceInOrderOfDeparture) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<ReportedHop> hops = random_hops(kHold, round % 3 * 0.2, round % 5 * 0.1, &random);
    Passages passages;
    HopSequencer sequencer({.hold_ns = kHold}, &passages);
    for (uint32_t i = 0; i < hops.size(); ++i) add(hops[i], i, &sequencer);
    sequencer.finish();
    std::set<std::pair<int64_t, uint64_t>> expected;
    for (const ReportedHop& hop : hops) expected.insert({hop.departure_ns, hop.digest});
    // Each hop is captured within hold_ns of its departure, so none is late.
    ASSERT_EQ(sequencer.statistics().late, 0u);
    ASSERT_EQ(passages.passed.size(), expected.size());
    auto next = expected.begin();
    for (const Passage& passage : passages.passed) {
      ASSERT_EQ(passage.departure_ns, next->first);
      const ReportedHop& own = hops[passage.tag];
      ASSERT_EQ(own.digest, next++->second);
      ASSERT_EQ(passage.arrival_ns, own.arrival_ns);
      ASSERT_TRUE(passage.is_certain());
    }
    ASSERT_EQ(sequencer.statistics().passed + sequencer.statistics().repeated, hops.size());
    ASSERT_EQ(passages.dropped.size(), sequencer.statistics().repeated);
  }
}

TEST(Hops, CountsLateHopsAndKeepsTheOrder) {
  std::mt19937_64 random(2);
  uint64_t late = 0;
  for (int round = 0; round < 100; ++round) {
    // Half of the rounds hold hops for only a tenth of the longest path delay; the others have room for only 20 hops.
    const SequencerOptions options =
        round % 2 == 0 ? SequencerOptions{kHold / 10, 1 << 15} : SequencerOptions{kHold, 20};
    const std::vector<ReportedHop> hops = random_hops(kHold, 0.1, 0.1, &random);
    Passages passages;
    HopSequencer sequencer(options, &passages);
    std::set<uint32_t> tags;
    for (uint32_t i = 0; i < hops.size(); ++i) add(hops[i], i, &sequencer);
    sequencer.finish();
    for (const Passage& passage : passages.passed) tags.insert(passage.tag);
    tags.insert(passages.dropped.begin(), passages.dropped.end());
    const SequencerStatistics& all = sequencer.statistics();
    ASSERT_EQ(tags.size(), hops.size());
    ASSERT_EQ(all.hops, hops.size());
    ASSERT_EQ(all.passed + all.late + all.repeated, hops.size());
    ASSERT_TRUE(std::is_sorted(passages.passed.begin(), passages.passed.end(),
                               [](const Passage& a, const Passage& b) { return a.departure_ns < b.departure_ns; }));
    std::set<std::pair<int64_t, uint64_t>> once;
    for (const Passage& passage : passages.passed)
      ASSERT_TRUE(once.insert({passage.departure_ns, hops[passage.tag].digest}).second);
    late += all.late;
  }
  EXPECT_GT(late, 1000u);
}

TEST(Hops, AreReleasedWhenTimePassesWhateverTheSwitchesClock) {
  for (const int64_t ahead_ns : {-kNsPerSecond, int64_t{0}, kNsPerSecond / 2}) {
    Passages passages;
    HopSequencer sequencer({.hold_ns = kHold}, &passages);
    add({kStart + ahead_ns, kStart + ahead_ns + 10, kStart, 1}, 0, &sequencer);
    add({kStart + ahead_ns, kStart + ahead_ns + 5, kStart + 20, 2}, 1, &sequencer);
    EXPECT_FALSE(sequencer.idle());
    sequencer.advance(kStart + kHold - 1);
    EXPECT_EQ(passages.passed.size(), 1u) << "the second one left 5 ns earlier";
    sequencer.advance(kStart + kHold);
    EXPECT_EQ(passages.passed.size(), 2u);
    EXPECT_TRUE(sequencer.quiet());
  }
}

// The contents include only the packets whose telemetry was captured, and are marked as incomplete.
TEST(Hops, ContentsAreThoseOfThePacketsSeen) {
  std::mt19937_64 random(3);
  for (const double lost : {0.0, 0.5}) {
    std::vector<ReportedHop> hops = random_hops(kHold, lost, 0, &random);
    class Contents final : public MatchSink {
     public:
      void pass(const Passage& passage) override { found[passage.tag] = contents.add(passage); }
      void never_left(const View&) override {}
      QueueContents contents = QueueContents({.incomplete = true}, nullptr);
      std::map<uint32_t, Finding> found;
    } sink;
    HopSequencer sequencer({.hold_ns = kHold}, &sink);
    for (uint32_t i = 0; i < hops.size(); ++i) add(hops[i], i, &sequencer);
    sequencer.finish();
    for (uint32_t i = 0; i < hops.size(); ++i) {
      uint64_t packets = 0;
      for (const ReportedHop& other_hop : hops) {
        const bool was_before =
            std::pair(other_hop.departure_ns, other_hop.digest) < std::pair(hops[i].departure_ns, hops[i].digest);
        packets += other_hop.departure_ns >= hops[i].arrival_ns && was_before;
      }
      ASSERT_EQ(sink.found[i].queue_packets, packets);
      ASSERT_EQ(sink.found[i].queue_bytes, packets * 1000);
      ASSERT_TRUE(sink.found[i].cut);
    }
  }
}

// One queue of a simulated switch.
class MeasuredQueue final : public MatchSink {
 public:
  struct Packet {
    uint32_t depth;  // packets in the queue, as the switch reported
    int64_t delay_ns;
  };

  void pass(const Passage& passage) override {
    const Finding finding = contents_.add(passage);
    const Packet& packet = packets[passage.tag];
    below_depth += finding.queue_packets < packet.depth;
    above_depth += finding.queue_packets > packet.depth;
    if (packet.delay_ns < 500'000) return;
    ++long_waits;
    longest_ns = std::max(longest_ns, packet.delay_ns);
    const double sent_bytes = static_cast<double>(packet.delay_ns) * kBytesPerNs;
    const auto shown_bytes = static_cast<double>(finding.queue_bytes);
    within_a_packet += std::abs(shown_bytes - sent_bytes) <= 1514;
    const uint64_t missing = packet.depth - finding.queue_packets;
    bounded += !finding.cut && finding.error_bytes >= missing * kMinFrameBytes;
  }
  void never_left(const View&) override {}

  HopSequencer sequencer = HopSequencer(SequencerOptions(), this);
  std::vector<Packet> packets;
  uint64_t below_depth = 0, above_depth = 0, long_waits = 0, within_a_packet = 0, bounded = 0;
  int64_t longest_ns = 0;

 private:
  static constexpr uint64_t kMinFrameBytes = 60;
  static constexpr double kBytesPerNs = 100e6 / 8 / 1e9;  // links of 100 Mb/s
  QueueContents contents_ = QueueContents({.incomplete = true, .link_bits_per_second = 100'000'000}, nullptr);
};

// Measures the queues of all switches whose telemetry is in a capture.
std::map<std::string, MeasuredQueue> measure(const std::string& capture) {
  HopQueues queues;
  std::map<std::string, MeasuredQueue> measured;
  const FlowHasher hasher(tapline::testing::kTestKey);
  for (const auto& frame : tapline::testing::read_capture(capture)) {
    Packet packet;
    Telemetry telemetry;
    EXPECT_EQ(decode(frame.raw(), hasher, &packet), DecodeOutcome::kOk);
    EXPECT_TRUE(read_telemetry(packet, &telemetry));
    uint32_t number = 0;
    const auto use = [&](const QueueHop& hop) {
      MeasuredQueue& queue = measured[queues.name(hop.queue)];
      queue.packets.push_back({telemetry.path[number++].queue_depth, hop.departure_ns - hop.arrival_ns});
      const View view = {digest_of(packet, {1, 2}),
                         1,
                         hop.departure_ns,
                         packet.wire_bytes - telemetry_wire_bytes(packet),
                         true,
                         static_cast<uint32_t>(queue.packets.size() - 1)};
      queue.sequencer.add(view, hop.arrival_ns, packet.time_ns);
    };
    EXPECT_EQ(queues.read(packet, use, [](uint32_t) { FAIL(); }), 0u);
  }
  EXPECT_EQ(queues.statistics().usable, queues.statistics().hops);
  for (auto& [name, queue] : measured) {
    queue.sequencer.finish();
    EXPECT_EQ(queue.sequencer.statistics().passed, queue.packets.size()) << name;
  }
  return measured;
}

std::string trace(const std::string& experiment) {
  return TAPLINE_SOURCE_DIR "/sim/packets/traces/" + experiment + "/h0.pcap.zst";
}

// Measures the output of `tapline-packets queues`. Packets find the queue depth that their switch reported, and wait
// for as long as the link needs to send these bytes. TAPLINE_TRACE may name the capture of a longer run.
TEST(Hops, QueuesOfAllSwitchesFromTelemetryAlone) {
  const char* longer = std::getenv("TAPLINE_TRACE");
  const std::map<std::string, MeasuredQueue> measured = measure(longer == nullptr ? trace("queues") : longer);
  EXPECT_EQ(measured.size(), 12u);
  for (const auto& [name, queue] : measured) {
    // A packet may arrive in the nanosecond in which another one leaves.
    EXPECT_LE(queue.below_depth + queue.above_depth, queue.packets.size() / 10'000) << name;
    EXPECT_GE(queue.within_a_packet * 100, queue.long_waits * 99) << name;
    std::printf("%-8s %7zu packets, %7lu waits above 0.5 ms, %7lu within a packet, longest %.1f ms\n", name.c_str(),
                queue.packets.size(), queue.long_waits, queue.within_a_packet,
                static_cast<double>(queue.longest_ns) / 1e6);
  }
  EXPECT_GT(measured.at("300:1.0").long_waits, 2500u);
}

// Switches drop packets after some of the queues, so the telemetry of these packets never arrives.
TEST(Hops, DropsOnTheWayMakeContentsALowerBound) {
  const std::map<std::string, MeasuredQueue> measured = measure(trace("incast"));
  uint64_t below = 0;
  for (const auto& [name, queue] : measured) {
    EXPECT_EQ(queue.above_depth, 0u) << name;
    EXPECT_EQ(queue.bounded, queue.long_waits) << name;
    below += queue.below_depth;
  }
  EXPECT_GT(below, 100u);
  EXPECT_EQ(measured.at("300:1.0").below_depth, 0u) << "no packet is dropped after this queue";
}

}  // namespace
}  // namespace tapline::queues
