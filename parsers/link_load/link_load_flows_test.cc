#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <string>

#include "parsers/link_load/link_load.h"
#include "parsers/rates/testing/model_frames.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using rates::testing::FlowSpec;
using rates::testing::kModelStartNs;
using rates::testing::MirrorRun;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Frames = std::vector<Frame>;

constexpr int64_t kUs = 1'000, kMs = 1'000'000, kStart = 1'000'000 * kMs;
constexpr uint64_t kTenGigabits = 10'000'000'000;

std::vector<Value> arguments(double flows_above, uint64_t link = kTenGigabits, uint64_t mirror = kTenGigabits) {
  return {Value::u64(link), Value::u64(mirror),    Value::i64(0),
          Value::i64(kMs),  Value::string("edge"), Value::f64(flows_above)};
}

// Makes the parser with these arguments for query 0.
Harness harness(const std::vector<Value>& arguments) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_link_load(1 << 14));
  parsers[0]->set_arguments(0, arguments);
  return Harness(std::move(parsers));
}

// A flow in a tuple. An unknown or unbounded rate is infinite.
struct Flow {
  std::string name;
  double bits_per_second, low, high;
};

std::vector<Flow> flows_of(const Tuple& tuple) {
  static const std::regex kRow(R"(\["([^"]+)\",(\d+|null),(\d+|null),(\d+|null)\])");
  const auto number = [](const std::string& text) {
    return text == "null" ? std::numeric_limits<double>::infinity() : std::stod(text);
  };
  const std::string& text = tuple["flows"];
  std::vector<Flow> flows;
  for (std::sregex_iterator row(text.begin(), text.end(), kRow), end; row != end; ++row) {
    flows.push_back({(*row)[1], number((*row)[2]), number((*row)[3]), number((*row)[4])});
  }
  return flows;
}

// Returns datagrams of `bytes` on the wire from these ports in turn, `every_ns` apart.
Frames datagrams(const std::vector<uint16_t>& ports, int64_t begin_ns, int64_t end_ns, int64_t every_ns,
                 size_t bytes = 1000) {
  Frames frames;
  size_t next = 0;
  for (int64_t time_ns = begin_ns; time_ns < end_ns; time_ns += every_ns) {
    frames.push_back(testing::udp_frame(
        {.src_port = ports[next++ % ports.size()], .payload = std::string(bytes - 42, 'x')}, time_ns));
  }
  return frames;
}

TEST(LinkLoadFlows, OnlyTuplesAboveTheShareHaveThem) {
  // The load is 800 Mb/s, 8 % of the link.
  const Frames frames = datagrams({1, 2}, kStart, kStart + 5 * kMs, 10 * kUs);
  for (const auto& [above, named] : std::map<double, bool>{{0, false}, {0.07, true}, {0.09, false}}) {
    Harness run = harness(arguments(above));
    run.feed(frames);
    ASSERT_EQ(run.tuples().size(), 4u);
    for (const Tuple& tuple : run.tuples()) {
      EXPECT_EQ(tuple["flows"] != "-", named) << above;
      EXPECT_EQ(tuple["flows_left_out"], named ? "0" : "-");
    }
  }
  Harness unknown_speed = harness(arguments(0.01, 0));
  unknown_speed.feed(frames);
  EXPECT_EQ(unknown_speed.tuples().at(0)["flows"], "-") << "without the link's speed, the share is unknown";
}

TEST(LinkLoadFlows, TheLargestAreFirst) {
  Harness run = harness(arguments(0.001));
  run.feed(datagrams({1, 2, 2, 2, 3, 3}, kStart, kStart + 3 * kMs, 10 * kUs));
  const std::vector<Flow> flows = flows_of(run.tuples().at(1));
  ASSERT_EQ(flows.size(), 3u);
  const double bits_per_second[] = {400e6, 800e6 / 3, 400e6 / 3};
  for (size_t i = 0; i < flows.size(); ++i) {
    EXPECT_EQ(flows[i].name, "10.0.0.1:" + std::string(1, "231"[i]) + "-10.0.0.2:53/udp");
    EXPECT_NEAR(flows[i].bits_per_second, bits_per_second[i], 17e6) << "within two packets";
    EXPECT_LE(flows[i].low, bits_per_second[i]);
    EXPECT_GE(flows[i].high, bits_per_second[i]);
  }
}

// More than half of the copies are dropped.
TEST(LinkLoadFlows, RatesAgreeWithTheSenders) {
  std::vector<FlowSpec> senders;
  for (uint64_t flow = 0; flow < 8; ++flow)
    senders.push_back({.bits_per_second = (flow + 1) * 700'000'000, .end_ns = 60 * kMs});
  const MirrorRun model = run_mirror(senders, {.queue_bytes = 32'000, .link_bits_per_second = kTenGigabits}, 3);
  ASSERT_GT(model.dropped, model.arrived / 2);
  Harness run = harness(arguments(0.5, 4 * kTenGigabits));
  run.all(frames_of(model, senders));
  int rates = 0, within = 0;
  double errors = 0;
  for (const Tuple& tuple : run.tuples()) {
    const int64_t ms = (tuple.header.time_ns - kModelStartNs) / kMs;
    if (ms < 2 || ms >= 59) continue;
    const std::vector<Flow> flows = flows_of(tuple);
    ASSERT_EQ(flows.size(), senders.size());
    EXPECT_EQ(tuple["flows_left_out"], "0");
    for (const Flow& flow : flows) {
      const auto sender = static_cast<uint32_t>(std::stoul(flow.name.substr(flow.name.find(':') + 1)) - 10'000);
      const double truth =
          8000.0 * static_cast<double>(rates::testing::sent_bytes(model, sender, ms * kMs, (ms + 1) * kMs));
      ++rates;
      within += flow.low <= truth && truth <= flow.high;
      errors += std::abs(flow.bits_per_second - truth) / truth;
    }
  }
  EXPECT_EQ(rates, 57 * 8);
  EXPECT_GE(within, rates * 95 / 100);
  EXPECT_LE(errors / rates, 0.05);
}

TEST(LinkLoadFlows, TheSmallestAreLeftOutAndCounted) {
  std::vector<uint16_t> ports;
  for (uint16_t port = 1; port <= 90; ++port) ports.insert(ports.end(), port <= 64 ? 3 : 1, port);
  Harness run = harness(arguments(0.01));
  run.feed(datagrams(ports, kStart, kStart + 3 * kMs, 2 * kUs));
  const std::vector<Flow> flows = flows_of(run.tuples().at(1));
  ASSERT_EQ(flows.size(), 64u);
  EXPECT_EQ(run.tuples()[1]["flows_left_out"], "26");
  for (const Flow& flow : flows) EXPECT_LE(std::stoi(flow.name.substr(flow.name.find(':') + 1)), 64);
}

// An interval has 30,000 flows of one packet each.
TEST(LinkLoadFlows, AFloodDoesNotDisplaceALargeFlow) {
  Frames frames;
  for (int i = 0; i < 30'000; ++i) {
    const int64_t time_ns = kStart + i * kMs / 30'000;
    frames.push_back(testing::udp_frame({.src_port = static_cast<uint16_t>(1000 + i)}, time_ns));
    if (i % 50 == 0) frames.push_back(testing::udp_frame({.src_port = 1, .payload = std::string(900, 'x')}, time_ns));
  }
  Harness run = harness(arguments(0.01, 10 * kTenGigabits, 10 * kTenGigabits));
  run.all(frames);
  ASSERT_EQ(run.tuples().size(), 1u);
  const std::vector<Flow> flows = flows_of(run.tuples()[0]);
  ASSERT_EQ(flows.size(), 64u);
  EXPECT_EQ(flows[0].name, "10.0.0.1:1-10.0.0.2:53/udp");
  EXPECT_EQ(run.tuples()[0]["flows_left_out"], std::to_string(30'001 - 64));
}

// In the middle of an interval, the set of queries changes, so another sum begins.
TEST(LinkLoadFlows, AnAddedQueryHidesNoPartOfAFlow) {
  Harness run = harness(arguments(0.01));
  run.engine().set_arguments(0, 1, arguments(0.01));
  run.engine().set_arguments(0, 2, arguments(0));
  const Frames frames = datagrams({1, 2}, kStart, kStart + kMs, 10 * kUs);
  run.feed({frames.begin(), frames.begin() + 60}, 0b001);
  run.feed({frames.begin() + 60, frames.end()}, 0b111);
  run.engine().end();
  std::map<uint64_t, std::vector<Flow>> flows;
  for (const Tuple& tuple : run.tuples()) flows[tuple.header.queries] = flows_of(tuple);
  ASSERT_EQ(flows.size(), 3u);
  for (const uint64_t query : {0b001, 0b010}) {
    ASSERT_EQ(flows[query].size(), 2u);
    for (const Flow& flow : flows[query]) EXPECT_NEAR(flow.bits_per_second, 400e6, 25e6);
  }
  EXPECT_TRUE(flows[0b100].empty()) << "this query asks for no flows";
}

TEST(LinkLoadFlows, ALaterQueryGetsNoFlowsOfAnEarlierOne) {
  Harness run = harness(arguments(0.01));
  run.engine().set_arguments(0, 1, arguments(0.01));
  run.feed(datagrams({1}, kStart, kStart + kMs / 2, 10 * kUs), 0b01);
  run.feed(datagrams({2}, kStart + kMs / 2, kStart + kMs / 2 + 1, 10 * kUs), 0b10);
  run.engine().end_queries(0b01);
  run.engine().set_arguments(0, 0, arguments(0.01));
  run.feed(datagrams({3}, kStart + kMs / 2 + 1, kStart + kMs, 10 * kUs), 0b01);
  run.engine().end_queries(0b01);
  ASSERT_EQ(run.tuples().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<Flow> flows = flows_of(run.tuples()[i]);
    ASSERT_EQ(flows.size(), 1u);
    EXPECT_EQ(flows[0].name, "10.0.0.1:" + std::to_string(2 * i + 1) + "-10.0.0.2:53/udp");
  }
}

// The client's last acknowledgement reveals 29,000 bytes of the server that were not captured.
TEST(LinkLoadFlows, AcknowledgedBytesBelongToTheDirectionThatSentThem) {
  const auto segment = [](bool is_client, uint32_t seq, uint32_t ack, size_t bytes, int64_t us) {
    testing::TcpSpec spec = {.seq = seq, .ack = ack, .flags = tcp_flag::kAck};
    if (!is_client) {
      std::swap(spec.src, spec.dst);
      std::swap(spec.src_port, spec.dst_port);
    }
    const std::string payload(bytes, 'x');
    spec.payload = payload;
    return testing::tcp_frame(spec, kStart + us * kUs);
  };
  Harness run = harness(arguments(0.0001, 1'000'000'000));
  run.all({segment(true, 1, 1, 10, 0), segment(false, 1, 11, 1000, 100), segment(true, 11, 1001, 10, 200),
           segment(true, 21, 30'001, 10, 800)});
  ASSERT_EQ(run.tuples().size(), 1u);
  const std::vector<Flow> flows = flows_of(run.tuples()[0]);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].name, "10.0.0.2:80-10.0.0.1:40000/tcp");
  EXPECT_GE(flows[0].bits_per_second, 8 * 30'000 / 800e-6);
  EXPECT_EQ(flows[1].name, "10.0.0.1:40000-10.0.0.2:80/tcp");
}

}  // namespace
}  // namespace tapline
