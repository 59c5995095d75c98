#include "parsers/link_load/link_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "parsers/rates/testing/model_frames.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using rates::testing::FlowSpec;
using rates::testing::kModelStartNs;
using rates::testing::MirrorRun;
using rates::testing::MirrorSpec;
using rates::testing::slow_flows;
using rates::testing::slow_mirror;
using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Frames = std::vector<Frame>;

constexpr int64_t kMs = 1'000'000, kSecond = 1'000'000'000, kStart = 1000 * kSecond;
constexpr uint64_t kSlow = 50'000'000;

const std::vector<TapNames> kTwoTaps = {{"edge-0-0", "eth2", "departures"}, {"edge-0-1", "", ""}};

// Makes the parser with these taps, and with the speeds as arguments of query 0.
Harness harness(const std::vector<TapNames>& taps, uint64_t link = 4 * kSlow, uint64_t mirror = kSlow,
                int64_t every_ns = kSecond) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_link_load(1 << 10));
  parsers[0]->set_taps(taps);
  parsers[0]->set_arguments(
      0, std::vector<Value>{Value::u64(link), Value::u64(mirror), Value::i64(0), Value::i64(every_ns)});
  return Harness(std::move(parsers));
}

Frames at_tap(Frames frames, uint8_t tap) {
  for (Frame& frame : frames) frame.tap = tap;
  return frames;
}

Frames merged(const Frames& a, const Frames& b) {
  Frames all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](const Frame& x, const Frame& y) { return x.time_ns < y.time_ns; });
  return all;
}

double number(const Tuple& tuple, const std::string& field) { return std::stod(tuple[field]); }

bool holds(const Tuple& tuple, double truth) {
  return number(tuple, "low_bits_per_second") <= truth && truth <= number(tuple, "high_bits_per_second");
}

// Returns the number of bits that the senders put on their links in this second.
double sent_in(const MirrorRun& model, size_t flows, int64_t second) {
  double bits = 0;
  for (uint32_t flow = 0; flow < flows; ++flow) {
    bits +=
        8.0 * static_cast<double>(rates::testing::sent_bytes(model, flow, second * kSecond, (second + 1) * kSecond));
  }
  return bits;
}

TEST(LinkLoad, WithoutTapsAllTrafficIsOneSum) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x')).server(std::string(500, 'y')).wait_ns(kSecond).client("z");
  Harness run({"link_load"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lines({"switch", "port", "side", "seen", "bits_per_second", "share", "samples", "mirror_state"}).at(0),
            "- - - measured " + std::to_string((5 * 54 + 1500) * 8) + " - 5 complete");
  EXPECT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1].header.time_ns, conversation.frames().back().time_ns);
}

TEST(LinkLoad, ATapWithoutPacketsIsIdle) {
  const std::vector<FlowSpec> flows = slow_flows(3, 0.5, 4);
  const Frames busy = frames_of(run_mirror(flows, slow_mirror(), 1), flows);
  Harness run = harness(kTwoTaps);
  run.all(merged(busy, at_tap({busy[0]}, 1)));
  int idle = 0;
  for (const Tuple& tuple : run.tuples()) {
    if (tuple["switch"] != "edge-0-1" || tuple["samples"] != "0") continue;
    ++idle;
    EXPECT_EQ(tuple["seen"], "idle");
    EXPECT_EQ(tuple["bits_per_second"], "0");
    EXPECT_EQ(tuple["high_bits_per_second"], "0");
    EXPECT_EQ(tuple["high_share"], "0.000000");
    EXPECT_EQ(tuple["port"], "-");
  }
  EXPECT_GE(idle, 3);
}

TEST(LinkLoad, AgreesWithTheSenders) {
  constexpr int kSeconds = 6;
  for (const bool udp : {false, true}) {
    std::vector<FlowSpec> flows = slow_flows(9, 2.0, kSeconds);
    flows[0].udp = udp;
    const MirrorRun model = run_mirror(flows, slow_mirror(), 5);
    Harness run = harness(kTwoTaps);
    run.all(frames_of(model, flows));
    int tuples = 0, within = 0;
    double errors = 0;
    for (const Tuple& tuple : run.tuples()) {
      const int64_t second = (tuple.header.time_ns - kModelStartNs) / kSecond;
      if (second < 1 || second >= kSeconds) continue;
      const double truth = sent_in(model, flows.size(), second);
      ++tuples;
      within += holds(tuple, truth);
      errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
      EXPECT_EQ(tuple["switch"], "edge-0-0");
      EXPECT_EQ(tuple["side"], "departures");
      EXPECT_NEAR(number(tuple, "share"), number(tuple, "bits_per_second") / (4 * kSlow), 1e-6);
    }
    EXPECT_EQ(tuples, kSeconds - 1);
    EXPECT_EQ(within, tuples);
    EXPECT_LE(errors / tuples, udp ? 0.1 : 0.01);
  }
}

// Two mirror ports show the same flows, and drop different packets.
TEST(LinkLoad, EachTapIsMeasuredSeparately) {
  constexpr int kSeconds = 5;
  const std::vector<FlowSpec> flows = slow_flows(6, 2.0, kSeconds);
  const MirrorRun narrow = run_mirror(flows, slow_mirror(), 7);
  MirrorSpec wide = slow_mirror();
  wide.queue_bytes *= 3;
  const MirrorRun other_run = run_mirror(flows, wide, 7);
  Harness run = harness(kTwoTaps);
  run.all(merged(frames_of(narrow, flows), at_tap(frames_of(other_run, flows), 1)));
  std::map<std::string, int> tuples;
  for (const Tuple& tuple : run.tuples()) {
    const int64_t second = (tuple.header.time_ns - kModelStartNs) / kSecond;
    if (second < 1 || second >= kSeconds) continue;
    const double truth = sent_in(narrow, flows.size(), second);
    ++tuples[tuple["switch"]];
    EXPECT_TRUE(holds(tuple, truth)) << tuple["switch"] << " " << second << " " << std::to_string(truth) << " "
                                     << tuple["low_bits_per_second"] << " " << tuple["bits_per_second"] << " "
                                     << tuple["high_bits_per_second"] << " " << tuple["interval_ns"];
    EXPECT_NEAR(number(tuple, "bits_per_second"), truth, 0.02 * truth) << tuple["switch"] << " " << second;
    EXPECT_EQ(tuple["mirror_state"], "steady");
  }
  EXPECT_EQ(tuples, (std::map<std::string, int>{{"edge-0-0", kSeconds - 1}, {"edge-0-1", kSeconds - 1}}));
}

// The end of a response is missing, and no later packet from the server reveals that.
TEST(LinkLoad, AcknowledgementsRevealDropsOfThePort) {
  Conversation conversation;
  conversation.handshake().client("x");
  for (int i = 0; i < 6; ++i) conversation.server(std::string(1000, 'y'));
  conversation.client("z");
  Frames frames = conversation.frames();
  frames.erase(frames.end() - 5, frames.end() - 1);
  Harness run({"link_load"});
  run.all(frames);
  ASSERT_EQ(run.tuples().size(), 1u);
  const Tuple& tuple = run.tuples()[0];
  EXPECT_EQ(tuple["mirror_state"], "steady");
  EXPECT_NEAR(number(tuple, "sampling_share"), 1001.0 / 5001, 1e-4);
  const double bytes = number(tuple, "bits_per_second") * number(tuple, "interval_ns") / 8e9;
  EXPECT_GE(bytes, 6002 + 11 * 54);
}

TEST(LinkLoad, QueriesOfTheSamePacketsShareATuple) {
  const Frames first = Conversation().handshake().client("x").frames();
  const Frames second = Conversation({.client_port = 50000}).handshake().frames();
  Frames late_frames = {first.back()};
  late_frames[0].time_ns += kSecond;
  Harness run({"link_load"});
  run.feed(first, 0b011);
  run.feed(second, 0b111);
  run.feed(late_frames, 0b011);
  std::map<uint64_t, std::string> samples;
  for (const Tuple& tuple : run.tuples()) samples[tuple.header.queries] = tuple["samples"];
  EXPECT_EQ(samples, (std::map<uint64_t, std::string>{{0b011, "7"}, {0b100, "3"}}));
}

TEST(LinkLoad, EachQueryHasTheShareOfItsConfiguredSpeed) {
  Harness run = harness(kTwoTaps, 1'000'000, 0);
  run.engine().set_arguments(
      0, 1, std::vector<Value>{Value::u64(4'000'000), Value::u64(0), Value::i64(0), Value::i64(kNsPerSecond)});
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x'));
  run.feed(conversation.frames(), 0b11);
  run.engine().end();
  std::map<uint64_t, double> shares;
  for (const Tuple& tuple : run.tuples()) shares[tuple.header.queries] = number(tuple, "share");
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_GT(shares[0b01], 0);
  EXPECT_NEAR(shares[0b10], shares[0b01] / 4, 1e-5);
}

// A query that ends receives its pending tuples, and leaves none for a later query with the same bit.
TEST(LinkLoad, AnEndingQueryGetsItsPendingTuples) {
  const Frames frames = Conversation().handshake().client("x").client("y").frames();
  Harness run({"link_load"});
  run.feed({frames[0], frames[1]}, 0b11);
  run.engine().end_queries(0b01);
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0].header.queries, 0b01u);
  EXPECT_EQ(run.tuples()[0]["samples"], "2");
  run.feed({frames[2], frames[3]}, 0b11);
  run.engine().end();
  std::map<uint64_t, std::string> samples;
  for (const Tuple& tuple : run.tuples()) samples[tuple.header.queries] = tuple["samples"];
  EXPECT_EQ(samples[0b10], "4");
  EXPECT_EQ(samples[0b01], "2");
}

// Returns datagrams of 1,000 bytes every 10 us: 800 Mb/s. None is missing.
Frames steady_datagrams(int64_t begin_ns, int64_t end_ns) {
  Frames frames;
  for (int64_t time_ns = begin_ns; time_ns < end_ns; time_ns += 10'000) {
    frames.push_back(testing::udp_frame({.payload = std::string(958, 'x')}, time_ns));
  }
  return frames;
}

TEST(LinkLoad, IntervalsFrom100MicrosecondsUp) {
  for (const int64_t every_ns : {100'000, 250'000, 1'000'000, 7'000'000}) {
    Harness run = harness(kTwoTaps, 0, 10'000'000'000, every_ns);
    run.all(steady_datagrams(kStart, kStart + 50 * kMs));
    // A capture's last packet cuts the last interval short.
    const int64_t end_ns = kStart % every_ns + 50 * kMs;
    ASSERT_EQ(run.tuples().size(), static_cast<size_t>((end_ns + every_ns - 1) / every_ns));
    uint64_t samples = 0;
    for (const Tuple& tuple : run.tuples()) {
      samples += std::stoull(tuple["samples"]);
      const bool is_cut = &tuple == &run.tuples().back() || &tuple == &run.tuples().front();
      const int64_t observed_ns = std::stoll(tuple["interval_ns"]);
      EXPECT_TRUE(is_cut ? observed_ns <= every_ns : observed_ns == every_ns) << observed_ns;
      EXPECT_NEAR(number(tuple, "bits_per_second"), 800e6, is_cut ? 800e6 : 8e6) << every_ns;
      EXPECT_TRUE(holds(tuple, 800e6)) << every_ns << " " << tuple["bits_per_second"] << " " << tuple["interval_ns"];
      EXPECT_EQ(tuple["mirror_state"], "complete");
    }
    EXPECT_EQ(samples, 5000u);
  }
}

// The true load lies within the bounds in almost every millisecond, even while the mirror port's queue fills.
TEST(LinkLoad, AgreesWithTheSendersInEachMillisecond) {
  std::vector<FlowSpec> flows;
  for (uint32_t flow = 0; flow < 8; ++flow) flows.push_back({.bits_per_second = 2'000'000'000, .end_ns = 60 * kMs});
  const MirrorRun model = run_mirror(flows, {.queue_bytes = 32'000}, 9);
  Harness run = harness(kTwoTaps, 40'000'000'000, 10'000'000'000, kMs);
  run.all(frames_of(model, flows));
  int tuples = 0, within = 0;
  double errors = 0;
  for (const Tuple& tuple : run.tuples()) {
    const int64_t ms = (tuple.header.time_ns - kModelStartNs) / kMs;
    if (ms < 1 || ms >= 59) continue;
    double truth = 0;
    for (uint32_t flow = 0; flow < flows.size(); ++flow) {
      truth += 8000.0 * static_cast<double>(rates::testing::sent_bytes(model, flow, ms * kMs, (ms + 1) * kMs));
    }
    ++tuples;
    within += holds(tuple, truth);
    if (tuple["mirror_state"] == "steady") errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
  }
  EXPECT_EQ(tuples, 58);
  EXPECT_GE(within, 56);
  EXPECT_LE(errors / tuples, 0.02);
}

// A query added in the middle of an interval receives the mean of the observed part.
TEST(LinkLoad, AnAddedQuerySeesAPartOfTheInterval) {
  Harness run = harness(kTwoTaps, 0, 10'000'000'000);
  run.engine().set_arguments(
      0, 1, std::vector<Value>{Value::u64(0), Value::u64(10'000'000'000), Value::i64(0), Value::i64(kSecond)});
  run.feed(steady_datagrams(kStart, kStart + 900 * kMs), 0b01);
  run.feed(steady_datagrams(kStart + 900 * kMs, kStart + 1010 * kMs), 0b11);
  ASSERT_EQ(run.tuples().size(), 2u);
  for (const Tuple& tuple : run.tuples()) {
    EXPECT_EQ(tuple["interval_ns"], tuple.header.queries == 0b01 ? "1000000000" : "100000000");
    EXPECT_NEAR(number(tuple, "bits_per_second"), 800e6, 1e6);
  }
}

TEST(LinkLoad, AQueryThatEndsShortensItsInterval) {
  Harness run = harness(kTwoTaps, 0, 10'000'000'000, 10 * kMs);
  run.feed(steady_datagrams(kStart, kStart + 14 * kMs));
  run.engine().end();
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1]["interval_ns"], std::to_string(4 * kMs - 10'000));
  EXPECT_NEAR(number(run.tuples()[1], "bits_per_second"), 800e6, 8e6);
}

constexpr size_t kSourcePortAt = 14 + 20;  // after the Ethernet and IPv4 headers
constexpr size_t kTcpFlagsAt = kSourcePortAt + 13;

// Marks copies like a switch that sends the client's packets to one port and the server's packets to another. Segments
// that open or end connections get the mark of the separate queue.
Frames marked(Frames frames, uint16_t client_out, uint16_t server_out) {
  for (Frame& frame : frames) {
    const bool from_client = frame.bytes[kSourcePortAt] == frames[0].bytes[kSourcePortAt] &&
                             frame.bytes[kSourcePortAt + 1] == frames[0].bytes[kSourcePortAt + 1];
    const uint16_t in = from_client ? server_out : client_out, out = from_client ? client_out : server_out;
    const uint8_t mark[] = {0x02,
                            0x7a,
                            static_cast<uint8_t>((frame.bytes[kTcpFlagsAt] & 7) == 0 ? 0x92 : 0x93),
                            static_cast<uint8_t>(in >> 4),
                            static_cast<uint8_t>(in << 4 | out >> 8),
                            static_cast<uint8_t>(out)};
    std::copy(std::begin(mark), std::end(mark), frame.bytes.begin());
    frame.tap = 1;
  }
  return frames;
}

uint64_t bits_of(const Frames& frames, uint16_t out) {
  uint64_t bits = 0;
  for (const Frame& frame : frames) {
    if ((frame.bytes[4] & 0x0f) << 8 == (out & 0xf00) && frame.bytes[5] == (out & 0xff)) bits += 8 * frame.bytes.size();
  }
  return bits;
}

TEST(LinkLoad, EachMarkedPortHasItsLoad) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x')).server(std::string(500, 'y')).client("z");
  // Ports with the same last four bits share a slot in the cache of sums.
  const Frames one = marked(conversation.frames(), 1, 0x851);
  const Frames two = marked(Conversation({.client_port = 50000}).handshake().client("x").frames(), 0x851, 17);
  Frames all = merged(one, two);
  Frames local = marked(Conversation({.client_port = 50001}).handshake().frames(), 0, 0);
  Harness run = harness(kTwoTaps, 0, 0);
  run.feed(merged(all, local));
  run.engine().end();
  std::map<std::string, std::string> bits;
  for (const Tuple& tuple : run.tuples()) {
    EXPECT_EQ(tuple["switch"], "edge-0-1");
    EXPECT_TRUE(holds(tuple, number(tuple, "bits_per_second")));
    bits[tuple["port"]] = std::to_string(
        std::lround(number(tuple, "bits_per_second") * number(tuple, "interval_ns") / static_cast<double>(kSecond)));
  }
  std::map<std::string, std::string> expected = {{"-", std::to_string(bits_of(local, 0))}};
  for (const uint16_t port : {1, 17, 0x851})
    expected[std::to_string(port)] = std::to_string(bits_of(one, port) + bits_of(two, port));
  EXPECT_EQ(bits, expected);
}

// If a query has seen no copy of a port's packets, the switch may not copy that port's packets for the query.
TEST(LinkLoad, APortHasNoLoadForQueriesThatSawNoneOfItsPackets) {
  const Frames earlier = marked(Conversation().handshake().frames(), 1, 2);
  Frames late_frames = marked(Conversation({.client_port = 50000}).handshake().frames(), 3, 3);
  for (Frame& frame : late_frames) frame.time_ns += kSecond;
  Harness run = harness(kTwoTaps);
  run.feed(earlier, 0b01);
  run.engine().end_queries(0b01);
  const size_t previous_size = run.tuples().size();
  run.feed(late_frames, 0b10);
  run.engine().end();
  ASSERT_EQ(run.tuples().size(), previous_size + 1);
  EXPECT_EQ(run.tuples().back()["port"], "3");
  EXPECT_EQ(run.tuples().back().header.queries, 0b10u);
}

// Acknowledged packets need not cross the link on which their acknowledgements leave.
TEST(LinkLoad, AcknowledgementsOfAnUnseenDirectionAreNoLoadOfAMarkedPort) {
  Conversation conversation;
  conversation.handshake().client("x");
  for (int i = 0; i < 6; ++i) conversation.server(std::string(1000, 'y')).client("z");
  Frames client;
  for (const Frame& frame : marked(conversation.frames(), 3, 4)) {
    if (frame.bytes[5] == 3) client.push_back(frame);
  }
  client.erase(client.end() - 3);  // a hole: copies are missing
  Harness with_marks = harness(kTwoTaps, 0, 0), without = harness(kTwoTaps, 0, 0);
  with_marks.all(client);
  for (Frame& frame : client) frame.bytes[0] = 0;
  without.all(client);
  ASSERT_EQ(with_marks.tuples().size(), 1u);
  ASSERT_EQ(without.tuples().size(), 1u);
  const double interval = number(without.tuples()[0], "interval_ns") / static_cast<double>(kSecond);
  EXPECT_EQ(number(with_marks.tuples()[0], "bits_per_second"), number(without.tuples()[0], "bits_per_second"));
  const double further_number =
      number(without.tuples()[0], "high_bits_per_second") - number(with_marks.tuples()[0], "high_bits_per_second");
  EXPECT_GT(further_number * interval, 8 * 5000.0);
}

// The flow moves to another port.
TEST(LinkLoad, AMovedFlowCountsAtBothPorts) {
  Conversation conversation;
  conversation.handshake();
  for (int i = 0; i < 10; ++i) conversation.client(std::string(1000, 'x'));
  Frames frames = marked(conversation.frames(), 3, 1);
  for (size_t i = frames.size() - 5; i < frames.size(); ++i) {
    if (frames[i].bytes[5] == 3) frames[i].bytes[5] = 4;
  }
  Harness run = harness(kTwoTaps, 0, 0);
  run.all(frames);
  for (const Tuple& tuple : run.tuples()) {
    const auto port = static_cast<uint16_t>(std::stoi(tuple["port"]));
    const double bits = number(tuple, "bits_per_second") * number(tuple, "interval_ns") / static_cast<double>(kSecond);
    EXPECT_NEAR(bits, static_cast<double>(bits_of(frames, port)), 8) << tuple["port"];
  }
  EXPECT_EQ(run.tuples().size(), 3u);
}

TEST(LinkLoad, SumsBeyondTheBoundAreLostAndCounted) {
  Harness run({"link_load"});
  for (uint64_t queries = 1; queries <= 1100; ++queries) {
    run.feed({testing::udp_frame({}, kStart + static_cast<int64_t>(queries) * kMs / 2)}, queries);
  }
  EXPECT_EQ(run.lost(LossReason::kParserMemoryFull), 76u);
  run.engine().end();
  EXPECT_EQ(run.tuples().size(), 11u);  // a tuple for each query
}

}  // namespace
}  // namespace tapline
