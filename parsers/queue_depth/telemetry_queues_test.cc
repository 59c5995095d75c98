// Tests the queue parsers on queues that switches report in packets (in-band telemetry).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "parsers/queue_depth/depth_meter.h"
#include "parsers/queues/queue_parser.h"
#include "parsers/queues/testing/queue_frames.h"
#include "parsers/testing/telemetry.h"

namespace tapline {
namespace {

using queues::testing::kStart;
using testing::Frame;
using testing::Harness;
using testing::IntSpec;
using testing::Tuple;
using Lines = std::vector<std::string>;

constexpr uint16_t kAll = 0xf400;
const std::string kTrace = TAPLINE_SOURCE_DIR "/sim/packets/traces/queues/h0.pcap.zst";

Hop hop(uint32_t switch_id, uint16_t port, int64_t arrival_ns, int64_t departure_ns, uint8_t queue = Hop::kNoQueue) {
  return {.switch_id = switch_id,
          .ingress_port = 1,
          .egress_port = port,
          .queue_id = queue,
          .latency_ns = static_cast<uint32_t>(departure_ns - arrival_ns),
          .time_ns = static_cast<uint64_t>(departure_ns)};
}

// Makes a datagram of 1,000 bytes plus telemetry, captured 1 ms after it left the last switch.
Frame packet(const std::vector<Hop>& hops, uint16_t number, uint16_t instructions = kAll) {
  Frame bare = queues::testing::datagram(static_cast<uint16_t>(2000 + number % 2), number, 0, 0);
  const testing::Bytes ip(bare.bytes.begin() + 14, bare.bytes.end());
  Frame frame = {.bytes = testing::with_telemetry({hops, instructions}, 0x0800, ip),
                 .time_ns = static_cast<int64_t>(hops.back().time_ns) + kNsPerMs};
  return frame;
}

// Returns packets through two switches. Packet i arrives at 20 i µs at switch 7, leaves it at 40 (i + 1) µs, and then
// waits for 10 µs at switch 9.
std::vector<Frame> two_switches(int packets) {
  std::vector<Frame> frames;
  for (int i = 0; i < packets; ++i) {
    const int64_t left_ns = kStart + 40'000 * (i + 1);
    frames.push_back(packet({hop(7, 3, kStart + i * 20'000, left_ns), hop(9, 1, left_ns + 5000, left_ns + 15'000, 2)},
                            static_cast<uint16_t>(i + 1)));
  }
  return frames;
}

Harness harness_of(uint64_t every_ns = kNsPerSecond, uint64_t link_bits_per_second = 0) {
  const Value values[] = {Value::u64(every_ns), Value::string("five_tuple"), Value::u64(kNsPerSecond),
                          Value::string("one"), Value::u64(link_bits_per_second)};
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_parser("queue_depth"));
  parsers[0]->set_arguments(0, values);
  return Harness(std::move(parsers));
}

Lines summary(const Harness& harness) {
  Lines lines = harness.lines({"queue", "queue_bytes", "queue_packets", "flows_in_queue", "min_delay_ns",
                               "max_delay_ns", "packets", "bytes", "lost", "error_bytes", "late", "repeated"});
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(TelemetryQueues, EachHopIsAQueue) {
  Harness harness = harness_of();
  harness.all(two_switches(12));
  // The result is the same as between taps (QueueDepth.ReportsTheFullestMomentAndTheWaits), but packets without
  // telemetry may also have been in the queue, so the error is unknown.
  EXPECT_EQ(summary(harness),
            (Lines{"7:3 6000 6 2 40000 260000 12 12000 0 - 0 0", "9:1.2 0 0 0 10000 10000 12 12000 0 - 0 0"}));
}

// The first packet waited for 40 µs and found the queue empty. In this time, a link of 200 Mb/s sends at most 1,000
// bytes and the rest of a frame (1,514 bytes).
TEST(TelemetryQueues, TheLinkBoundsTheError) {
  Harness harness = harness_of(kNsPerSecond, 200'000'000);
  harness.all(two_switches(12));
  EXPECT_EQ(summary(harness),
            (Lines{"7:3 6000 6 2 40000 260000 12 12000 0 2514 0 0", "9:1.2 0 0 0 10000 10000 12 12000 0 1764 0 0"}));
}

TEST(TelemetryQueues, CopiesCountOnceAndTheOrderOfCaptureDoesNotMatter) {
  Harness straight = harness_of();
  straight.all(two_switches(200));
  std::vector<Frame> frames = two_switches(200);
  // A second tap shows each packet again.
  for (const Frame& frame : two_switches(200)) frames.push_back(frame);
  std::mt19937 random(4);
  for (Frame& frame : frames) frame.time_ns += static_cast<int64_t>(random() % (50 * kNsPerMs));
  queues::testing::sort_by_time(&frames);
  Harness shuffled = harness_of();
  shuffled.all(frames);
  Lines expected = summary(straight);
  for (std::string& line : expected) line.replace(line.size() - 1, 1, "200");
  EXPECT_EQ(summary(shuffled), expected);
}

TEST(TelemetryQueues, TheLastPacketsAreReportedEvenIfNoneFollow) {
  Harness harness = harness_of(kNsPerMs);
  const std::vector<Frame> frames = two_switches(12);
  harness.feed(frames);
  EXPECT_TRUE(harness.tuples().empty()) << "hops wait for earlier ones";
  for (int ms = 1; ms < 150; ++ms) harness.engine().advance(frames.back().time_ns + ms * kNsPerMs);
  uint64_t packets = 0;
  for (const Tuple& tuple : harness.tuples()) packets += std::stoull(tuple["packets"]);
  EXPECT_EQ(packets, 24u);
}

TEST(TelemetryQueues, AllParsersMeasureThem) {
  for (const std::string parser : {"queue_flows", "queue_burst"}) {
    Harness harness(std::vector<std::string>{parser});
    harness.all(testing::read_capture(kTrace));
    std::map<std::string, uint64_t> tuples;
    for (const Tuple& tuple : harness.tuples()) ++tuples[tuple["queue"]];
    EXPECT_EQ(tuples.size(), 10u) << parser;
    EXPECT_GT(tuples["300:1.0"], 10u) << parser;
  }
}

TEST(TelemetryQueues, TapsOfAQueueShowNoHops) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_parser("queue_depth"));
  const TapNames taps[] = {{"s1", "2", "arrivals"}, {"s1", "2", "departures"}, {"s2", "", ""}};
  parsers[0]->set_taps(taps);
  Harness harness(std::move(parsers));
  std::vector<Frame> frames = two_switches(3);
  for (uint8_t tap = 0; tap < 3; ++tap) frames[tap].tap = tap;
  harness.all(frames);
  std::map<std::string, uint64_t> packets;
  for (const Tuple& tuple : harness.tuples()) packets[tuple["queue"]] += std::stoull(tuple["packets"]);
  EXPECT_EQ(packets, (std::map<std::string, uint64_t>{{"7:3", 1}, {"9:1.2", 1}, {"s1:2", 1}}));
}

// The parser queue_depth, as a type that gives access to its hop statistics.
class Depths final : public queues::QueueParser<DepthMeter> {
 public:
  const Schema& schema() const override { return schema_; }

 private:
  const Schema schema_ = make_parser("queue_depth")->schema();
};

struct Counted {
  queues::HopStatistics hops;
  uint64_t lost = 0, packets = 0;
};

Counted count(const std::vector<Frame>& frames) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::make_unique<Depths>());
  const auto* parser = static_cast<const Depths*>(parsers[0].get());
  Harness harness(std::move(parsers));
  harness.all(frames);
  Counted counted{parser->hop_statistics(), harness.lost(LossReason::kTelemetryUnusable)};
  for (const Tuple& tuple : harness.tuples())
    counted.packets += std::stoull(tuple["packets"]) + std::stoull(tuple["late"]) + std::stoull(tuple["repeated"]);
  EXPECT_EQ(counted.packets, counted.hops.usable);
  const queues::HopStatistics& all = counted.hops;
  EXPECT_EQ(all.hops, all.usable + all.incomplete + all.untimely + all.beyond + all.without_room);
  EXPECT_EQ(counted.lost, all.hops - all.usable + all.contradictory);
  return counted;
}

TEST(TelemetryQueues, EveryHopThatIsNotUsedIsCountedByReason) {
  const Hop good_hop = hop(7, 3, kStart, kStart + 1000);
  for (const uint16_t instructions : {0x7400, 0xb400, 0xd400, 0xf000})
    EXPECT_EQ(count({packet({good_hop, good_hop}, 1, instructions)}).hops.incomplete, 2u) << instructions;
  // If bit 3 is not set, the port has one queue. If there is no egress time, the departure is the ingress time plus the
  // latency.
  for (const uint16_t instructions : {0xe400, 0xf800, 0xcc00})
    EXPECT_EQ(count({packet({good_hop}, 1, instructions)}).hops.usable, 1u) << instructions;
  std::vector<Hop> lacking(4, good_hop);
  lacking[0].switch_id = UINT32_MAX;
  lacking[1].egress_port = Hop::kNoPort;
  lacking[2].latency_ns = Hop::kNoLatency;
  EXPECT_EQ(count({packet(lacking, 1)}).hops.incomplete, 3u);
  std::vector<Hop> untimely(6, good_hop);
  untimely[0].time_ns = 1;
  untimely[1].time_ns = INT64_MAX;
  untimely[2].time_ns = UINT64_MAX - 1;
  untimely[3].time_ns = static_cast<uint64_t>(kStart - 11 * kNsPerSecond);
  untimely[4].time_ns = static_cast<uint64_t>(kStart + 2 * kNsPerSecond);
  EXPECT_EQ(count({packet(untimely, 1)}).hops.untimely, 5u);
  EXPECT_EQ(count({packet(std::vector<Hop>(11, good_hop), 1)}).hops.beyond, 3u);
  Frame contradictory = packet({good_hop}, 1);
  contradictory.bytes[18] = 0x30;  // version 3
  EXPECT_EQ(count({contradictory}).hops.contradictory, 1u);
}

TEST(TelemetryQueues, QueuesWithoutRoomAreCountedUntilOthersAreIdle) {
  std::vector<Frame> frames;
  for (uint16_t i = 0; i < 300; ++i) frames.push_back(packet({hop(i, 1, kStart, kStart + 1000)}, i));
  EXPECT_EQ(count(frames).hops.without_room, 300u - queues::HopQueues::kMaxQueues);
  const int64_t later_ns = kStart + 31 * kNsPerSecond;
  frames.push_back(packet({hop(400, 1, later_ns, later_ns + 1000)}, 1));
  EXPECT_EQ(count(frames).hops.usable, queues::HopQueues::kMaxQueues + 1u);
}

// The address sanitizer detects reads beyond a frame.
TEST(TelemetryQueues, AnyByteOfTheTelemetryMayBeWrong) {
  const std::vector<Frame> good = two_switches(4);
  for (size_t offset = 12; offset < 80; ++offset) {
    for (int value = 0; value < 256; value += 5) {
      std::vector<Frame> frames = good;
      frames[1].bytes[offset] = static_cast<uint8_t>(value);
      count(frames);
    }
  }
}

}  // namespace
}  // namespace tapline
