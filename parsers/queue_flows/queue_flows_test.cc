#include "parsers/queue_flows/queue_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "parsers/decode/packet_digest.h"
#include "parsers/queues/testing/queue_simulator.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

constexpr int64_t kStart = 1'000'000'000'000;
constexpr uint16_t kArrivals = 101, kDepartures = 102;

// The switch that copies marks each copy by a VLAN tag, one for each side.
QueueView view_of(const Packet& packet) {
  QueueView view;
  if (packet.vlan_tags == 0) return view;
  if (packet.vlan[0] == kArrivals) view.side = QueueView::Side::kArrival;
  if (packet.vlan[0] == kDepartures) view.side = QueueView::Side::kDeparture;
  view.digest = digest_of(packet, testing::kTestKey);
  return view;
}

QueueFlowsOptions all_flows() {
  QueueFlowsOptions options;
  options.delay_ns = 0;
  options.share = 0;
  options.queues = {"s1:s2"};
  options.view_of = view_of;
  options.match.offset_ns = 0;
  options.match.reordering_ns = 0;
  return options;
}

Harness harness_of(const QueueFlowsOptions& options) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_queue_flows(options));
  return Harness(std::move(parsers));
}

Frame datagram(uint16_t src_port, uint16_t identification, uint16_t vlan, int64_t time_ns, size_t payload_bytes = 958) {
  const std::string payload(payload_bytes, 'x');
  Frame frame =
      testing::udp_frame({.src_port = src_port, .dst_port = 53, .payload = payload, .vlans = {vlan}}, time_ns);
  frame.bytes[22] = static_cast<uint8_t>(identification >> 8);
  frame.bytes[23] = static_cast<uint8_t>(identification);
  return frame;
}

// Packet i comes at i µs and leaves at 2 (i + 1) µs; flows take turns, the second one twice as often.
std::vector<Frame> two_flows(int packets) {
  std::vector<Frame> frames;
  for (int i = 0; i < packets; ++i) {
    const auto port = static_cast<uint16_t>(i % 3 == 0 ? 2001 : 2002);
    const auto number = static_cast<uint16_t>(i + 1);
    frames.push_back(datagram(port, number, kArrivals, kStart + i * 1000));
    frames.push_back(datagram(port, number, kDepartures, kStart + 2000 * (i + 1)));
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.time_ns < b.time_ns; });
  return frames;
}

TEST(QueueFlows, ReportsWhatEachFlowHadInTheQueue) {
  Harness harness = harness_of(all_flows());
  harness.all(two_flows(12));
  // Packet 11 comes at 11 µs, when packets 5 (which leaves at 12 µs) to 10 are in the queue; of its flow 5, 7, 8, 10.
  // Packet 9 comes at 9 µs, to packets 4 to 8 (4 leaves at 10 µs): of its flow 6.
  const Lines fields = {"queue", "delay_ns", "queued_packets", "queued_bytes", "queue_bytes",
                        "share", "packets",  "bytes",          "lost",         "error_bytes"};
  const std::vector<std::string> lines = harness.lines(fields);
  ASSERT_EQ(lines.size(), 2u);
  const uint64_t bytes = datagram(1, 1, kArrivals, 0).bytes.size();
  const auto times = [&](uint64_t n) { return std::to_string(n * bytes); };
  EXPECT_EQ(lines[0].substr(0, lines[0].find("0.")), "s1:s2 11000 1 " + times(1) + " " + times(5) + " ");
  EXPECT_EQ(lines[1].substr(0, lines[1].find("0.")), "s1:s2 13000 4 " + times(4) + " " + times(6) + " ");
  EXPECT_EQ(harness.tuples()[0]["packets"] + " " + harness.tuples()[1]["packets"], "4 8");
  EXPECT_EQ(harness.tuples()[0]["error_bytes"], "0");
}

TEST(QueueFlows, OnlyFlowsAboveTheThresholdsAreReported) {
  QueueFlowsOptions options = all_flows();
  options.share = 0.5;
  Harness by_share = harness_of(options);
  by_share.all(two_flows(12));
  ASSERT_EQ(by_share.tuples().size(), 1u);
  EXPECT_EQ(by_share.tuples()[0]["queued_packets"], "4");
  options = all_flows();
  options.delay_ns = 12'000;
  Harness by_delay = harness_of(options);
  by_delay.all(two_flows(12));
  EXPECT_EQ(by_delay.tuples().size(), 1u);
}

TEST(QueueFlows, WaitsAreBlamedInFullOverIntervals) {
  for (const auto unit : {queues::FlowUnit::kDestination, queues::FlowUnit::kFiveTuple}) {
    QueueFlowsOptions options = all_flows();
    options.every_ns = 10'000;
    options.flow = unit;
    Harness harness = harness_of(options);
    harness.all(two_flows(300));
    uint64_t waited_ns = 0, blamed_ns = 0, packets = 0, expected_ns = 0;
    for (const testing::Tuple& tuple : harness.tuples()) {
      waited_ns += std::stoull(tuple["waited_ns"]);
      blamed_ns += std::stoull(tuple["blamed_ns"]);
      packets += std::stoull(tuple["packets"]);
    }
    for (uint64_t i = 0; i < 300; ++i) expected_ns += 2000 * (i + 1) - i * 1000;
    EXPECT_EQ(packets, 300u);
    EXPECT_EQ(waited_ns, expected_ns);
    EXPECT_GT(harness.tuples().size(), 50u);
    // What a flow is blamed for after its last packet has no tuple.
    EXPECT_LE(blamed_ns, expected_ns);
    EXPECT_GE(blamed_ns, unit == queues::FlowUnit::kDestination ? expected_ns : expected_ns - expected_ns / 100);
  }
}

TEST(QueueFlows, WhatNeverLeavesIsCountedAsLost) {
  std::vector<Frame> frames = two_flows(90);
  std::erase_if(frames, [](const Frame& frame) { return frame.bytes[15] == kDepartures && frame.bytes[23] % 10 == 2; });
  Harness harness = harness_of(all_flows());
  harness.all(frames);
  uint64_t lost = 0, packets = 0;
  for (const testing::Tuple& tuple : harness.tuples()) {
    lost += std::stoull(tuple["lost"]);
    packets += std::stoull(tuple["packets"]);
  }
  EXPECT_EQ(lost, 9u);
  EXPECT_EQ(packets, 81u);
}

TEST(QueueFlows, DestinationsShowIncast) {
  QueueFlowsOptions options = all_flows();
  options.flow = queues::FlowUnit::kDestination;
  Harness harness = harness_of(options);
  harness.all(two_flows(12));
  ASSERT_EQ(harness.tuples().size(), 1u);
  EXPECT_EQ(harness.tuples()[0]["packets"], "12");
  EXPECT_EQ(harness.tuples()[0]["share"].substr(0, 1), "1");
}

TEST(QueueFlows, WithoutTapsThereIsNothingToReport) {
  QueueFlowsOptions options = all_flows();
  options.view_of = nullptr;
  Harness harness = harness_of(options);
  harness.all(two_flows(30));
  EXPECT_TRUE(harness.tuples().empty());
}

// A real capture is sent through a queue that is drained at a rate of our choice; both sides are tapped. Each tuple is
// compared with the definition (ConQuest, definition 3.1), evaluated over all packets.
class RealTraffic : public ::testing::TestWithParam<const char*> {};

struct Crossing {
  uint64_t flow = 0;
  int64_t arrival_ns = 0, departure_ns = 0;
  uint32_t bytes = 0;
};

Frame tagged(const Frame& frame, uint16_t vlan, int64_t time_ns) {
  Frame copy = frame;
  const uint8_t tag[4] = {0x81, 0, static_cast<uint8_t>(vlan >> 8), static_cast<uint8_t>(vlan)};
  copy.bytes.insert(copy.bytes.begin() + 12, tag, tag + 4);
  copy.wire_bytes = frame.raw().wire_bytes + 4;
  copy.time_ns = time_ns;
  return copy;
}

TEST_P(RealTraffic, TuplesEqualTheDefinition) {
  const std::string path = testing::reference_capture(GetParam());
  if (path.empty()) GTEST_SKIP() << "no reference captures";
  std::vector<Frame> capture = testing::read_capture(path);
  capture.resize(std::min<size_t>(capture.size(), 20'000));
  uint64_t total_bytes = 0;
  for (const Frame& frame : capture) total_bytes += frame.raw().wire_bytes;
  // 60 % load.
  const double ns_per_byte =
      0.6 * static_cast<double>(capture.back().time_ns - capture.front().time_ns) / static_cast<double>(total_bytes);
  std::vector<Frame> frames;
  std::vector<Crossing> crossings;
  int64_t free_ns = 0, before_ns = 0;
  const FlowHasher hasher(testing::kTestKey);
  for (const Frame& frame : capture) {
    Packet packet;
    if (decode(frame.raw(), hasher, &packet) != DecodeOutcome::kOk) continue;
    // Some packets of the capture have the same time: a link carries one at a time.
    const int64_t arrival_ns = before_ns = std::max(frame.time_ns, before_ns + 1);
    free_ns = std::max(free_ns, arrival_ns) +
              std::max<int64_t>(1, static_cast<int64_t>(ns_per_byte * (packet.wire_bytes + 4)));
    const bool ascending =
        packet.src_ip < packet.dst_ip || (packet.src_ip == packet.dst_ip && packet.src_port < packet.dst_port);
    crossings.push_back({packet.flow_hash * 2 + ascending, arrival_ns, free_ns, packet.wire_bytes + 4});
    frames.push_back(tagged(frame, kArrivals, arrival_ns));
    frames.push_back(tagged(frame, kDepartures, free_ns));
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.time_ns < b.time_ns; });
  QueueFlowsOptions options = all_flows();
  options.every_ns = 1;  // a tuple for each packet
  options.match.max_delay_ns = 100 * kNsPerSecond;
  options.match.max_packets = 1 << 15;
  Harness harness = harness_of(options);
  harness.all(frames);

  // By delay and bytes in the queue: each packet's answer. Several may coincide.
  std::multimap<std::string, size_t> expected;
  size_t begin = 0;
  std::map<uint64_t, uint64_t> of_flow;
  uint64_t queue_bytes = 0;
  for (size_t i = 0; i < crossings.size(); ++i) {
    for (; begin < i && crossings[begin].departure_ns < crossings[i].arrival_ns; ++begin) {
      of_flow[crossings[begin].flow] -= crossings[begin].bytes;
      queue_bytes -= crossings[begin].bytes;
    }
    const int64_t delay_ns = crossings[i].departure_ns - crossings[i].arrival_ns;
    expected.emplace(
        std::to_string(delay_ns) + " " + std::to_string(of_flow[crossings[i].flow]) + " " + std::to_string(queue_bytes),
        i);
    of_flow[crossings[i].flow] += crossings[i].bytes;
    queue_bytes += crossings[i].bytes;
  }
  // Packets that wait for the next certain one settle together: the tuple is that of the longest wait.
  size_t exact = 0, packets = 0, uncertain = 0;
  for (const testing::Tuple& tuple : harness.tuples()) {
    const auto found = expected.find(tuple["delay_ns"] + " " + tuple["queued_bytes"] + " " + tuple["queue_bytes"]);
    exact += found != expected.end();
    packets += std::stoul(tuple["packets"]);
    uncertain += tuple["error_bytes"] != "0";
    if (found != expected.end()) expected.erase(found);
  }
  EXPECT_EQ(packets, crossings.size());
  EXPECT_EQ(exact, harness.tuples().size());
  EXPECT_GT(harness.tuples().size(), crossings.size() / 2);
  std::printf("%s: %zu packets, %zu tuples, %zu with bounds\n", GetParam(), packets, harness.tuples().size(),
              uncertain);
}

INSTANTIATE_TEST_SUITE_P(Captures, RealTraffic,
                         ::testing::Values("generated/three_tier.pcap.zst", "generated/http_zipf.pcap.zst",
                                           "generated/http_ipv6.pcap.zst"));

}  // namespace
}  // namespace tapline
