#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "parsers/queues/testing/queue_frames.h"

namespace tapline {
namespace {

using queues::testing::datagram;
using queues::testing::kArrivals;
using queues::testing::kDepartures;
using queues::testing::kProbe;
using queues::testing::kStart;
using queues::testing::sort_by_time;
using queues::testing::two_flows;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Lines = std::vector<std::string>;

struct Arguments {
  uint64_t delay_ns = 0;
  double share = 0;
  uint64_t every_ns = kNsPerSecond;
  std::string_view flow = "five_tuple";
  std::string_view classes = "one";
};

Harness harness_of(const Arguments& arguments) {
  const Value values[] = {Value::u64(arguments.delay_ns),
                          Value::f64(arguments.share),
                          Value::u64(arguments.every_ns),
                          Value::string(arguments.flow),
                          Value::u64(10 * kNsPerSecond),
                          Value::string(arguments.classes),
                          Value::u64(0)};
  return queues::testing::tapped("queue_flows", values);
}

// Returns all tuples except those of the probe.
std::vector<Tuple> tuples_of(const Harness& harness) {
  std::vector<Tuple> tuples = harness.tuples();
  std::erase_if(tuples, [](const Tuple& tuple) { return tuple.header.src_port == kProbe; });
  return tuples;
}

TEST(QueueFlows, ReportsTheQueueShareOfEachFlow) {
  Harness harness = harness_of({});
  harness.all(two_flows(12));
  // Packet 11 arrives at 220 µs, when packets 5 (which leaves at 240 µs) to 10 are in the queue; packets 5, 7, 8 and 10
  // belong to its flow. Packet 9 arrives at 180 µs, and finds packets 4 (which leaves at 200 µs) to 8; packet 6 belongs
  // to its flow.
  const std::vector<Tuple> tuples = tuples_of(harness);
  ASSERT_EQ(tuples.size(), 2u);
  const auto line = [](const Tuple& tuple) {
    std::string text;
    for (const char* field : {"queue", "delay_ns", "queued_packets", "queued_bytes", "queue_bytes", "flows_in_queue",
                              "packets", "bytes", "lost", "error_bytes"})
      text += tuple[field] + " ";
    return text;
  };
  EXPECT_EQ(line(tuples[0]), "s1:2 220000 1 1000 5000 2 4 4000 0 0 ");
  EXPECT_EQ(line(tuples[1]), "s1:2 260000 4 4000 6000 2 8 8000 0 0 ");
  EXPECT_EQ(tuples[1].endpoints(), "10.0.0.1:2002>10.0.0.2:53");
  EXPECT_EQ(tuples[1]["from_client"], "true");
}

TEST(QueueFlows, OnlyFlowsAboveTheThresholdsAreReported) {
  Harness by_share = harness_of({.share = 0.5});
  by_share.all(two_flows(12));
  ASSERT_EQ(tuples_of(by_share).size(), 1u);
  EXPECT_EQ(tuples_of(by_share)[0]["queued_packets"], "4");
  Harness by_delay = harness_of({.delay_ns = 240'000});
  by_delay.all(two_flows(12));
  EXPECT_EQ(tuples_of(by_delay).size(), 1u);
}

TEST(QueueFlows, EachQueryHasItsOwnThresholds) {
  Harness harness = harness_of({.share = 0.5});
  const Value values[] = {
      Value::u64(0),        Value::f64(0), Value::u64(kNsPerSecond), Value::string("pair"), Value::u64(kNsPerSecond),
      Value::string("one"), Value::u64(0)};
  harness.engine().set_arguments(0, 1, values);
  harness.feed(two_flows(12), 3);
  harness.engine().end();
  std::map<uint64_t, Lines> packets;
  for (const Tuple& tuple : harness.tuples()) packets[tuple.header.queries].push_back(tuple["packets"]);
  EXPECT_EQ(packets[1], (Lines{"8"}));
  EXPECT_EQ(packets[2], (Lines{"1", "12"}));
}

// Queries with the same arguments see packets of different queues, s1:2 and s1:3.
TEST(QueueFlows, ReportsOnlyQueuesOfPacketsThatTheQuerySees) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_parser("queue_flows"));
  const TapNames taps[] = {
      {"s1", "2", "arrivals"}, {"s1", "2", "departures"}, {"s1", "3", "arrivals"}, {"s1", "3", "departures"}};
  parsers[0]->set_taps(taps);
  const Value values[] = {
      Value::u64(0),        Value::f64(0), Value::u64(kNsPerSecond), Value::string("pair"), Value::u64(kNsPerSecond),
      Value::string("one"), Value::u64(0)};
  for (const uint32_t query : {0u, 1u, 2u}) parsers[0]->set_arguments(query, values);
  Harness harness(std::move(parsers));
  std::vector<Frame> first = two_flows(12), second = two_flows(12);
  for (Frame& frame : second) frame.tap = static_cast<uint8_t>(frame.tap + 2);
  // Query 0 wants the first queue, query 1 the second, and query 2 both.
  harness.feed(first, 0b101);
  harness.feed(second, 0b110);
  harness.engine().end();
  std::map<std::string, uint64_t> queries;
  for (const Tuple& tuple : harness.tuples()) queries[tuple["queue"]] |= tuple.header.queries;
  EXPECT_EQ(queries, (std::map<std::string, uint64_t>{{"s1:2", 0b101}, {"s1:3", 0b110}}));
}

TEST(QueueFlows, WaitsAreBlamedInFullOverIntervals) {
  for (const std::string_view unit : {"destination", "five_tuple"}) {
    Harness harness = harness_of({.every_ns = kNsPerMs, .flow = unit});
    harness.all(two_flows(300));
    uint64_t waited_ns = 0, blamed_ns = 0, packets = 0, expected_ns = 0;
    for (const Tuple& tuple : harness.tuples()) {
      waited_ns += std::stoull(tuple["waited_ns"]);
      blamed_ns += std::stoull(tuple["blamed_ns"]);
      packets += std::stoull(tuple["packets"]);
    }
    for (uint64_t i = 0; i < 300; ++i) expected_ns += 40'000 * (i + 1) - i * 20'000;
    EXPECT_EQ(packets, 301u);  // including the probe, which does not wait
    EXPECT_EQ(waited_ns, expected_ns);
    EXPECT_GE(harness.tuples().size(), 12u);
    // No tuple reports blame that is assigned to a flow after its last packet.
    EXPECT_LE(blamed_ns, expected_ns);
    EXPECT_GE(blamed_ns, unit == "destination" ? expected_ns : expected_ns - expected_ns / 100);
  }
}

TEST(QueueFlows, CountsPacketsThatNeverLeaveAsLost) {
  std::vector<Frame> frames = two_flows(90);
  std::erase_if(frames, [](const Frame& frame) { return frame.tap == kDepartures && frame.bytes[19] % 10 == 2; });
  for (const uint64_t every_ns : {kNsPerSecond, kNsPerMs}) {
    Harness harness = harness_of({.every_ns = every_ns});
    harness.all(frames);
    uint64_t lost = 0, packets = 0;
    for (const Tuple& tuple : tuples_of(harness)) {
      lost += std::stoull(tuple["lost"]);
      packets += std::stoull(tuple["packets"]);
    }
    EXPECT_EQ(lost, 9u) << every_ns;
    EXPECT_EQ(packets, 81u) << every_ns;
  }
}

// Port 2002's packet overtakes port 2001's and does not wait long. When port 2003's arrives, the queue is empty, but
// the other two have left within the longest recent delay.
TEST(QueueFlows, ClassesOvertakeEachOther) {
  std::vector<Frame> frames = two_flows(0);
  const auto pass = [&](uint16_t port, int64_t arrival_us, int64_t departure_us) {
    frames.push_back(datagram(port, port, kArrivals, kStart + arrival_us * 1000));
    frames.push_back(datagram(port, port, kDepartures, kStart + departure_us * 1000));
  };
  pass(2001, 0, 300);
  pass(2002, 200, 250);
  pass(2003, 310, 340);
  sort_by_time(&frames);
  for (const auto& [classes, expected] : {std::pair{"within", Lines{"2001 1000", "2002 0", "2003 0"}},
                                          {"across", Lines{"2001 1000", "2002 0", "2003 2000"}}}) {
    Harness harness = harness_of({.classes = classes});
    harness.all(frames);
    Lines found;
    for (const Tuple& tuple : tuples_of(harness))
      found.push_back(std::to_string(tuple.header.src_port) + " " + std::string(tuple["queue_bytes"]));
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << classes;
  }
}

TEST(QueueFlows, DestinationsShowIncast) {
  Harness harness = harness_of({.flow = "destination"});
  harness.all(two_flows(12));
  const std::vector<Tuple> tuples = tuples_of(harness);
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0]["packets"], "12");
  EXPECT_EQ(tuples[0]["share"].substr(0, 1), "1");
}

// Fragments also fill a queue. Only a datagram's first fragment has ports, and a datagram is never reassembled if a
// fragment was lost or the capture truncated one.
TEST(QueueFlows, FragmentsAreAFlowWithoutPorts) {
  for (const size_t captured_bytes : {1000, 96}) {
    std::vector<Frame> frames = {datagram(kProbe, 1, kArrivals, kStart - kNsPerSecond),
                                 datagram(kProbe, 1, kDepartures, kStart - kNsPerSecond)};
    for (int i = 0; i < 12; ++i) {
      const auto number = static_cast<uint16_t>(i / 2 + 1);
      const bool is_last = i % 2 == 1;
      frames.push_back(queues::testing::fragment(number, is_last, kArrivals, kStart + i * 20'000));
      if (i != 4) frames.push_back(queues::testing::fragment(number, is_last, kDepartures, kStart + 40'000 * (i + 1)));
    }
    sort_by_time(&frames);
    for (Frame& frame : frames) {
      frame.wire_bytes = static_cast<uint32_t>(frame.bytes.size());
      frame.bytes.resize(std::min(frame.bytes.size(), captured_bytes));
    }
    Harness harness = harness_of({});
    harness.all(frames);
    const std::vector<Tuple> tuples = tuples_of(harness);
    ASSERT_EQ(tuples.size(), 1u) << captured_bytes;
    EXPECT_EQ(tuples[0].endpoints(), "10.0.0.1:0>10.0.0.2:0");
    EXPECT_EQ(tuples[0]["packets"], "11");
    EXPECT_EQ(tuples[0]["bytes"], std::to_string(11 * 538));
    EXPECT_EQ(tuples[0]["lost"], "1");
    EXPECT_EQ(tuples[0]["queued_bytes"], std::to_string(6 * 538));
    EXPECT_EQ(tuples[0]["error_bytes"], "0");
  }
}

TEST(QueueFlows, ReportsNothingWithoutBothTaps) {
  for (const char* side : {"arrivals", ""}) {
    std::vector<std::unique_ptr<Parser>> parsers;
    parsers.push_back(make_parser("queue_flows"));
    const TapNames taps[] = {{"s1", "2", "arrivals"}, {"s1", "2", side}};
    parsers[0]->set_taps(taps);
    Harness harness(std::move(parsers));
    harness.all(two_flows(30));
    EXPECT_TRUE(harness.tuples().empty());
  }
}

// 152 packets arrived, and 134 left; the second burst exceeded the queue's capacity.
TEST(QueueFlows, NamesTheBurstsOfARealQueue) {
  Harness harness = harness_of({.delay_ns = 5 * kNsPerMs, .share = 0.5});
  harness.all(queues::testing::captured_queue());
  ASSERT_EQ(harness.tuples().size(), 1u);
  const Tuple& tuple = harness.tuples()[0];
  EXPECT_EQ(tuple.endpoints(), "10.99.1.2:40003>10.99.2.2:7000");
  EXPECT_EQ(tuple["error_bytes"], "0");
}

// A real capture is sent through a queue that is drained at a chosen rate, with taps on both sides. Each tuple is
// compared with the definition (ConQuest, definition 3.1), evaluated over all packets.
class RealTraffic : public ::testing::TestWithParam<const char*> {};

struct Crossing {
  uint64_t flow = 0;
  int64_t arrival_ns = 0, departure_ns = 0;
  uint32_t bytes = 0;
};

// Returns the packet as the switch sends it, with a VLAN tag.
Frame tagged(const Frame& frame, int64_t time_ns) {
  Frame copy = frame;
  const uint8_t tag[4] = {0x81, 0, 0, 102};
  copy.bytes.insert(copy.bytes.begin() + 12, tag, tag + 4);
  copy.wire_bytes = frame.raw().wire_bytes + 4;
  copy.time_ns = time_ns;
  copy.tap = kDepartures;
  return copy;
}

// The capture's packets at both taps, at 60 % load, with their true times.
struct TappedCapture {
  std::vector<Frame> frames;
  std::vector<Crossing> crossings;
};

TappedCapture tap(std::vector<Frame> capture) {
  capture.resize(std::min<size_t>(capture.size(), 5000));
  uint64_t total_bytes = 0;
  for (const Frame& frame : capture) total_bytes += frame.raw().wire_bytes;
  const int64_t begin_ns = capture.front().time_ns;
  const auto span_ns = static_cast<double>(capture.back().time_ns - begin_ns);
  // The parser measures the offset between the taps in windows of ten seconds, so the capture is compressed to fit into
  // one.
  const double scale = std::min(1.0, 9e9 / span_ns);
  const double ns_per_byte = 0.6 * span_ns * scale / static_cast<double>(total_bytes);
  TappedCapture tapped;
  tapped.frames = {datagram(kProbe, 1, kArrivals, kStart), datagram(kProbe, 1, kDepartures, kStart)};
  int64_t free_ns = 0, before_ns = kStart + kNsPerMs;
  const FlowHasher hasher(testing::kTestKey);
  for (const Frame& frame : capture) {
    Packet packet;
    if (decode(frame.raw(), hasher, &packet) != DecodeOutcome::kOk) continue;
    // Some packets of the capture have the same time, but a link carries one packet at a time.
    const auto since_ns = static_cast<int64_t>(static_cast<double>(frame.time_ns - begin_ns) * scale);
    const int64_t arrival_ns = before_ns = std::max(kStart + kNsPerMs + since_ns, before_ns + 1);
    const uint32_t bytes = packet.wire_bytes + 4;
    free_ns = std::max(free_ns, arrival_ns) + std::max<int64_t>(1, static_cast<int64_t>(ns_per_byte * bytes));
    const bool ascending =
        packet.src_ip < packet.dst_ip || (packet.src_ip == packet.dst_ip && packet.src_port < packet.dst_port);
    tapped.crossings.push_back({packet.flow_hash * 2 + ascending, arrival_ns, free_ns, bytes});
    tapped.frames.push_back(frame);
    tapped.frames.back().time_ns = arrival_ns;
    tapped.frames.push_back(tagged(frame, free_ns));
  }
  sort_by_time(&tapped.frames);
  return tapped;
}

// Returns the packets' numbers by their expected results: delay, bytes of the flow, and bytes in the queue. Several
// packets may have the same result.
std::multimap<std::string, size_t> answers_of(const std::vector<Crossing>& crossings) {
  std::multimap<std::string, size_t> answers;
  size_t begin = 0;
  std::map<uint64_t, uint64_t> of_flow;
  uint64_t queue_bytes = 0;
  for (size_t i = 0; i < crossings.size(); ++i) {
    for (; begin < i && crossings[begin].departure_ns < crossings[i].arrival_ns; ++begin) {
      of_flow[crossings[begin].flow] -= crossings[begin].bytes;
      queue_bytes -= crossings[begin].bytes;
    }
    const int64_t delay_ns = crossings[i].departure_ns - crossings[i].arrival_ns;
    answers.emplace(
        std::to_string(delay_ns) + " " + std::to_string(of_flow[crossings[i].flow]) + " " + std::to_string(queue_bytes),
        i);
    of_flow[crossings[i].flow] += crossings[i].bytes;
    queue_bytes += crossings[i].bytes;
  }
  return answers;
}

TEST_P(RealTraffic, TuplesEqualTheDefinition) {
  const std::string path = testing::reference_capture(GetParam());
  if (path.empty()) GTEST_SKIP() << "no reference captures";
  const TappedCapture tapped = tap(testing::read_capture(path));
  Harness harness = harness_of({.every_ns = kNsPerMs});
  harness.all(tapped.frames);
  std::multimap<std::string, size_t> expected = answers_of(tapped.crossings);
  size_t packets = 0, certain = 0;
  for (const Tuple& tuple : tuples_of(harness)) {
    const auto it = expected.find(tuple["delay_ns"] + " " + tuple["queued_bytes"] + " " + tuple["queue_bytes"]);
    ASSERT_NE(it, expected.end()) << tuple.endpoints() << " " << tuple["delay_ns"];
    expected.erase(it);
    packets += std::stoul(tuple["packets"]);
    certain += tuple["error_bytes"] == "0";
  }
  EXPECT_EQ(packets, tapped.crossings.size());
  EXPECT_GT(certain, 0u);
}

INSTANTIATE_TEST_SUITE_P(Captures, RealTraffic,
                         ::testing::Values("generated/three_tier.pcap.zst", "generated/http_zipf.pcap.zst",
                                           "generated/http_ipv6.pcap.zst"));

}  // namespace
}  // namespace tapline
