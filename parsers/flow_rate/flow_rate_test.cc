#include "parsers/flow_rate/flow_rate.h"

#include <gtest/gtest.h>

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
using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Lines = std::vector<std::string>;

constexpr int64_t kMs = 1'000'000, kSecond = 1'000'000'000, kStart = 1000 * kSecond;
constexpr uint64_t kSlow = 50'000'000;

// Makes the parser, with the speeds as arguments of query 0.
std::vector<std::unique_ptr<Parser>> parser(uint64_t link, uint64_t mirror, uint32_t max_flows = 1 << 10,
                                            int64_t every_ns = kSecond) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_flow_rate(max_flows));
  parsers[0]->set_arguments(
      0, std::vector<Value>{Value::u64(link), Value::u64(mirror), Value::i64(0), Value::i64(every_ns)});
  return parsers;
}

double number(const Tuple& tuple, const std::string& field) { return std::stod(tuple[field]); }

TEST(FlowRate, CountsExactlyIfNoCopyIsMissing) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x')).server(std::string(500, 'y')).wait_ns(kSecond).client("z");
  Harness run({"flow_rate"});
  run.all(conversation.frames());
  // Packets have 54 bytes of headers, and the first interval is observed from its beginning.
  EXPECT_EQ(
      run.lines({"direction", "bits_per_second", "bytes", "interval_ns", "samples", "method", "mirror_state"}),
      (Lines{"from_client " + std::to_string((3 * 54 + 1000) * 8) + " 1162 1000000000 3 count complete",
             "from_server " + std::to_string((2 * 54 + 500) * 8) + " 608 1000000000 2 count complete",
             run.lines({"direction", "bits_per_second", "bytes", "interval_ns", "samples", "method", "mirror_state"})
                 .at(2)}));
  EXPECT_EQ(run.tuples().at(2)["samples"], "1");
  EXPECT_EQ(run.tuples().at(0).header.time_ns, kStart + kSecond - 1);
  EXPECT_EQ(run.tuples().at(0).endpoints(), "10.0.0.1:40000>10.0.0.2:80");
}

TEST(FlowRate, CountsAllProtocolsAndEncapsulations) {
  std::vector<Frame> frames;
  for (int i = 0; i < 10; ++i) {
    const int64_t time_ns = kStart + i * 10 * kMs;
    frames.push_back(testing::udp_frame({.payload = std::string(100, 'x')}, time_ns));
    frames.push_back(testing::udp_frame({.src = "2001:db8::1", .dst = "2001:db8::2", .payload = "x"}, time_ns + kMs));
    frames.push_back(testing::tcp_frame({.flags = tcp_flag::kAck, .vlans = {7}}, time_ns + 2 * kMs));
    frames.push_back(testing::icmp_frame("10.0.0.3", "10.0.0.4", std::string(8, 0), time_ns + 3 * kMs));
  }
  frames.push_back(testing::udp_frame({}, kStart + kSecond));
  Harness run({"flow_rate"});
  run.feed(frames);
  std::map<std::string, int> samples;
  for (const Tuple& tuple : run.tuples()) samples[tuple["samples"]]++;
  EXPECT_EQ(samples, (std::map<std::string, int>{{"10", 4}}));
}

struct Judged {
  int tuples = 0, within = 0;
  double errors = 0;
};

// Compares each tuple that has this method with the bytes that the flow's sender sent in the same second. Ignores the
// first second, in which flows begin and the queue fills, and the time after the last packet.
Judged judge(const Harness& run, const MirrorRun& model, int seconds, const std::string& method) {
  Judged judged;
  for (const Tuple& tuple : run.tuples()) {
    const int64_t second = (tuple.header.time_ns - kModelStartNs) / kSecond;
    if (second < 1 || second >= seconds || tuple["method"] != method) continue;
    const auto flow = static_cast<uint32_t>(tuple.header.src_port - 10'000);
    const double truth =
        static_cast<double>(rates::testing::sent_bytes(model, flow, second * kSecond, (second + 1) * kSecond)) * 8;
    ++judged.tuples;
    judged.within += number(tuple, "low_bits_per_second") <= truth && truth <= number(tuple, "high_bits_per_second");
    judged.errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
  }
  return judged;
}

TEST(FlowRate, AgreesWithTheSendersUnderOversubscription) {
  constexpr int kSeconds = 8;
  for (const double factor : {1.2, 2.0, 4.0}) {
    const std::vector<FlowSpec> flows = rates::testing::slow_flows(6, factor, kSeconds);
    const MirrorRun model = run_mirror(flows, rates::testing::slow_mirror(), 1);
    Harness run(parser(kSlow, kSlow));
    run.all(frames_of(model, flows));
    const Judged judged = judge(run, model, kSeconds, "sequence");
    EXPECT_EQ(judged.tuples, 6 * (kSeconds - 1)) << factor;
    // The interval of a tuple is not exactly the second: some windows of 140 ms begin before it.
    EXPECT_LE(judged.errors / judged.tuples, 0.02) << factor;
    for (const Tuple& tuple : run.tuples()) {
      if (tuple["method"] != "sequence") continue;  // the last copies
      EXPECT_NEAR(number(tuple, "sampling_share"), 1 / factor, 0.4 / factor);
      EXPECT_EQ(tuple["mirror_state"], "steady");
    }
  }
}

TEST(FlowRate, UdpIsScaledByTheShareOfConcurrentTcp) {
  constexpr int kSeconds = 6;
  std::vector<FlowSpec> flows = rates::testing::slow_flows(6, 2.0, kSeconds);
  flows[0].udp = flows[1].udp = true;
  const MirrorRun model = run_mirror(flows, rates::testing::slow_mirror(), 2);
  Harness run(parser(kSlow, kSlow));
  run.all(frames_of(model, flows));
  const Judged judged = judge(run, model, kSeconds, "share");
  EXPECT_EQ(judged.tuples, 2 * (kSeconds - 1));
  EXPECT_GE(judged.within, 0.95 * judged.tuples);
  EXPECT_LE(judged.errors / judged.tuples, 0.3);
}

// Copies are missing, and UDP has no sequence numbers to reveal how many.
TEST(FlowRate, UdpAloneHasALowerBoundOnly) {
  std::vector<FlowSpec> flows = rates::testing::slow_flows(3, 2.0, 3);
  for (FlowSpec& flow : flows) flow.udp = true;
  Harness run(parser(0, kSlow));
  run.all(frames_of(run_mirror(flows, rates::testing::slow_mirror(), 3), flows));
  ASSERT_FALSE(run.tuples().empty());
  for (const Tuple& tuple : run.tuples()) {
    EXPECT_EQ(tuple["method"], "unknown");
    EXPECT_EQ(tuple["bits_per_second"], "-");
    EXPECT_EQ(tuple["high_bits_per_second"], "-");
    EXPECT_EQ(tuple["mirror_state"], "filling");
  }
  EXPECT_GT(number(run.tuples().front(), "low_bits_per_second"), 5e6);
}

TEST(FlowRate, RetransmissionsAreReported) {
  Conversation conversation;
  for (int i = 0; i < 10; ++i) conversation.client(std::string(1000, 'x'));
  conversation.wait_ns(200 * kMs).client("y");  // the first packet of a burst ends a window
  std::vector<Frame> frames = conversation.frames();
  Frame repeated_frame = frames[3];
  repeated_frame.time_ns = frames.back().time_ns - kMs;
  frames.insert(frames.end() - 1, repeated_frame);
  Harness run({"flow_rate"});
  run.all(frames);
  EXPECT_EQ(run.tuples().at(0)["retransmitted_bytes"], "1000");
}

TEST(FlowRate, EachQueryGetsItsOwnPackets) {
  const std::vector<Frame> frames = Conversation().handshake().client("x").frames();
  Harness run({"flow_rate"});
  run.feed({frames[0]}, 0b01);
  run.feed({frames[1], frames[2]}, 0b11);
  run.engine().end_queries(0b01);
  run.feed({frames[3]}, 0b10);
  run.engine().end();
  std::map<uint64_t, int> samples;
  for (const Tuple& tuple : run.tuples()) {
    for (const uint64_t query : {0b01u, 0b10u}) {
      if ((tuple.header.queries & query) != 0) samples[query] += std::stoi(tuple["samples"]);
    }
  }
  EXPECT_EQ(samples[0b01], 3);
  EXPECT_EQ(samples[0b10], 3);
}

// Returns datagrams of 1,000 bytes every 10 us: 800 Mb/s.
std::vector<Frame> steady_datagrams(int64_t begin_ns, int64_t end_ns) {
  std::vector<Frame> frames;
  for (int64_t time_ns = begin_ns; time_ns < end_ns; time_ns += 10'000) {
    frames.push_back(testing::udp_frame({.payload = std::string(958, 'x')}, time_ns));
  }
  return frames;
}

TEST(FlowRate, IntervalsFrom100MicrosecondsUp) {
  for (const int64_t every_ns : {100'000, 1'000'000}) {
    Harness run(parser(0, 10'000'000'000, 1 << 10, every_ns));
    run.all(steady_datagrams(kStart, kStart + 10 * kMs));
    ASSERT_EQ(run.tuples().size(), static_cast<size_t>(10 * kMs / every_ns));
    for (const Tuple& tuple : run.tuples()) {
      const bool is_last = &tuple == &run.tuples().back();
      EXPECT_EQ(tuple["interval_ns"], std::to_string(is_last ? every_ns - 10'000 : every_ns));
      // The last packet ends the capture, so it adds bytes but no time.
      EXPECT_NEAR(number(tuple, "bits_per_second"), 800e6, is_last ? 100e6 : 1) << every_ns;
      EXPECT_EQ(tuple["method"], "count");
    }
  }
}

// Compares the rates of every millisecond. On a 10 Gb/s link, the windows of sequence numbers are shorter than a
// millisecond.
TEST(FlowRate, AgreesWithTheSendersInEachMillisecond) {
  std::vector<FlowSpec> flows;
  for (uint32_t flow = 0; flow < 4; ++flow) flows.push_back({.bits_per_second = 4'000'000'000, .end_ns = 40 * kMs});
  const MirrorRun model = run_mirror(flows, {.queue_bytes = 32'000}, 9);
  Harness run(parser(10'000'000'000, 10'000'000'000, 1 << 10, kMs));
  run.all(frames_of(model, flows));
  int tuples = 0;
  double errors = 0;
  for (const Tuple& tuple : run.tuples()) {
    const int64_t ms = (tuple.header.time_ns - kModelStartNs) / kMs;
    if (ms < 5 || ms >= 39 || tuple["method"] != "sequence") continue;
    const auto flow = static_cast<uint32_t>(tuple.header.src_port - 10'000);
    const double truth =
        8000.0 * static_cast<double>(rates::testing::sent_bytes(model, flow, ms * kMs, (ms + 1) * kMs));
    ++tuples;
    errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
  }
  EXPECT_GE(tuples, 4 * 30);
  EXPECT_LE(errors / tuples, 0.05);
}

// Adding a query splits the current interval of each flow, and each part's rate is the mean over that part.
TEST(FlowRate, AShortenedIntervalHasTheRateOfItsPart) {
  Harness run(parser(0, 10'000'000'000));
  run.feed(steady_datagrams(kStart, kStart + 900 * kMs), 0b01);
  run.feed(steady_datagrams(kStart + 900 * kMs, kStart + 1010 * kMs), 0b11);
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[0]["interval_ns"], "900000000");
  EXPECT_EQ(run.tuples()[1]["interval_ns"], "100000000");
  for (const Tuple& tuple : run.tuples()) EXPECT_NEAR(number(tuple, "bits_per_second"), 800e6, 1e6);
}

// Neither SYNs nor one-segment flows evict a flow that keeps sending. Evicted directions are counted.
TEST(FlowRate, AFloodEvictsNoSendingFlow) {
  const std::vector<FlowSpec> flows = rates::testing::slow_flows(6, 2.0, 3);
  const std::vector<Frame> real = frames_of(run_mirror(flows, rates::testing::slow_mirror(), 4), flows);
  std::vector<Frame> frames;
  for (size_t i = 0; i < real.size(); ++i) {
    frames.push_back(real[i]);
    const auto port = static_cast<uint16_t>(20'000 + i % 40'000);
    frames.push_back(
        testing::tcp_frame({.src = "10.9.9.9", .src_port = port, .flags = tcp_flag::kSyn}, real[i].time_ns));
    if (i % 2 != 0) continue;
    frames.push_back(testing::tcp_frame({.src = "10.8.8.8", .src_port = port, .flags = tcp_flag::kAck, .payload = "x"},
                                        real[i].time_ns));
  }
  EngineOptions engine;
  engine.max_connections = 1 << 17;
  Harness run(parser(kSlow, kSlow, 64), engine);
  run.all(frames);
  int by_sequence = 0;
  for (const Tuple& tuple : run.tuples()) by_sequence += tuple["method"] == "sequence" && tuple.header.dst_port == 5001;
  EXPECT_GE(by_sequence, 18);
  EXPECT_GT(run.lost(LossReason::kParserMemoryFull), 1000u);
}

}  // namespace
}  // namespace tapline
