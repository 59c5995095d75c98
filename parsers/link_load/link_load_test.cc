#include "parsers/link_load/link_load.h"

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

// Port 1 + flow % 3 leads to the destination of each flow; ports 4 and 9 lead elsewhere.
rates::Routes three_ports(uint32_t flows) {
  rates::Routes routes;
  for (uint32_t flow = 0; flow < flows; ++flow) {
    routes.add_host(rates::testing::destination_of(flow), 1, 1 + flow % 3);
    routes.add_route(1, rates::testing::destination_of(flow), 1 + flow % 3);
  }
  routes.add_link(1, 4, 2, 1);
  return routes;
}

Harness harness(const LinkLoadOptions& options) {
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_link_load(options));
  return Harness(std::move(parsers));
}

LinkLoadOptions slow_options(const rates::Routes* routes) {
  LinkLoadOptions options;
  options.link_bits_per_second = 2 * kSlow;
  options.mirror.bits_per_second = kSlow;
  options.switch_name = "edge-0-0";
  options.switch_number = 1;
  options.routes = routes;
  return options;
}

double number(const Tuple& tuple, const std::string& field) { return std::stod(tuple[field]); }

TEST(LinkLoad, WithoutRoutesAllTrafficIsOneSumOfAnUnknownPort) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x')).server(std::string(500, 'y')).wait_ns(kSecond).client("z");
  Harness run({"link_load"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lines({"switch", "port", "seen", "bits_per_second", "share", "samples", "mirror_state"}).at(0),
            "- - measured " + std::to_string((5 * 54 + 1500) * 8) + " - 5 complete");
  EXPECT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[1].header.time_ns, conversation.frames().back().time_ns);
}

TEST(LinkLoad, AnIdlePortIsZeroAndOnlyIfNothingIsMissing) {
  const std::vector<FlowSpec> flows = rates::testing::slow_flows(3, 0.5, 3);
  const rates::Routes routes = three_ports(3);
  Harness run = harness(slow_options(&routes));
  run.all(frames_of(run_mirror(flows, rates::testing::slow_mirror(), 1), flows));
  int idle = 0;
  for (const Tuple& tuple : run.tuples()) {
    if (tuple["port"] != "4" || tuple["interval_ns"].size() < 9) continue;
    ++idle;
    EXPECT_EQ(tuple["seen"], "idle");
    EXPECT_EQ(tuple["bits_per_second"], "0");
    EXPECT_EQ(tuple["high_bits_per_second"], "0");
    EXPECT_EQ(tuple["switch"], "edge-0-0");
  }
  EXPECT_EQ(idle, 3);
}

TEST(LinkLoad, APortWithoutCopiesWhileSomeAreMissingIsUnseen) {
  const std::vector<FlowSpec> flows = rates::testing::slow_flows(6, 2.0, 3);
  const rates::Routes routes = three_ports(6);
  Harness run = harness(slow_options(&routes));
  run.all(frames_of(run_mirror(flows, rates::testing::slow_mirror(), 1), flows));
  for (const Tuple& tuple : run.tuples()) {
    // In the first second the delay of the first copies is not known.
    const int64_t second = (tuple.header.time_ns - kModelStartNs) / kSecond;
    if (tuple["port"] != "4" || second < 1 || second > 2) continue;
    EXPECT_EQ(tuple["seen"], "unseen");
    EXPECT_EQ(tuple["bits_per_second"], "-");
    EXPECT_GT(number(tuple, "high_bits_per_second"), 0);
    EXPECT_LT(number(tuple, "high_share"), 0.01);  // nearly all of what passes is seen in a second
  }
}

TEST(LinkLoad, AgreesWithTheSenders) {
  constexpr int kSeconds = 6;
  for (const bool udp : {false, true}) {
    std::vector<FlowSpec> flows = rates::testing::slow_flows(9, 2.0, kSeconds);
    flows[0].udp = udp;
    const MirrorRun model = run_mirror(flows, rates::testing::slow_mirror(), 5);
    const rates::Routes routes = three_ports(9);
    Harness run = harness(slow_options(&routes));
    run.all(frames_of(model, flows));
    int tuples = 0, within = 0;
    double errors = 0;
    for (const Tuple& tuple : run.tuples()) {
      const int64_t second = (tuple.header.time_ns - kModelStartNs) / kSecond;
      if (second < 1 || second >= kSeconds || tuple["port"] == "4") continue;
      uint64_t bytes = 0;
      for (uint32_t flow = static_cast<uint32_t>(std::stoi(tuple["port"])) - 1; flow < 9; flow += 3) {
        bytes += rates::testing::sent_bytes(model, flow, second * kSecond, (second + 1) * kSecond);
      }
      const double truth = static_cast<double>(bytes) * 8;
      ++tuples;
      within += number(tuple, "low_bits_per_second") <= truth && truth <= number(tuple, "high_bits_per_second");
      if (!udp || tuple["port"] != "1") errors += std::abs(number(tuple, "bits_per_second") - truth) / truth;
    }
    EXPECT_EQ(tuples, 3 * (kSeconds - 1));
    EXPECT_GE(within, 0.95 * tuples);
    EXPECT_LE(errors / tuples, 0.01);
  }
}

TEST(LinkLoad, QueriesThatWantTheSamePacketsShareATuple) {
  const std::vector<Frame> first = Conversation().handshake().client("x").frames();
  const std::vector<Frame> second = Conversation({.client_port = 50000}).handshake().frames();
  std::vector<Frame> later = {first.back()};
  later[0].time_ns += kSecond;
  Harness run({"link_load"});
  run.feed(first, 0b011);
  run.feed(second, 0b111);
  run.feed(later, 0b011);
  std::map<uint64_t, std::string> samples;
  for (const Tuple& tuple : run.tuples()) samples[tuple.header.queries] = tuple["samples"];
  EXPECT_EQ(samples, (std::map<uint64_t, std::string>{{0b011, "7"}, {0b100, "3"}}));
}

// A query that ends gets what is pending, and leaves nothing to a later one with its bit.
TEST(LinkLoad, AQueryThatEndsGetsWhatIsPending) {
  const std::vector<Frame> frames = Conversation().handshake().client("x").client("y").frames();
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

TEST(LinkLoad, SumsBeyondTheBoundAreLostAndCounted) {
  LinkLoadOptions options;
  rates::Routes routes;
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 1100; ++i) {
    routes.add_route(0, rates::testing::destination_of(i), 1 + i);
    Frame frame = testing::udp_frame({.src_port = static_cast<uint16_t>(1000 + i)}, kStart + i * kMs / 2);
    for (int byte = 0; byte < 6; ++byte) {
      frame.bytes[byte] = static_cast<uint8_t>(rates::testing::destination_of(i) >> (40 - 8 * byte));
    }
    frames.push_back(frame);
  }
  options.routes = &routes;
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(make_link_load(options));
  Harness run(std::move(parsers), {.max_connections = 4096});
  run.all(frames);
  EXPECT_EQ(run.tuples().size(), 1024u);
  EXPECT_EQ(run.lost(LossReason::kParserMemoryFull), 76u);
}

}  // namespace
}  // namespace tapline
