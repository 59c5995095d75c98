// Tests that the ports of unmarked copies are inferred from the routes of the tap's switch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "parsers/flow_rate/flow_rate.h"
#include "parsers/link_load/link_load.h"
#include "parsers/routes/route_feed.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Frames = std::vector<Frame>;

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint64_t kClient = 0x02'00'00'00'00'01, kServer = 0x02'00'00'00'00'02;
constexpr size_t kSourcePortAt = 34;

// Returns the frames, addressed to their receivers' MAC addresses.
Frames addressed(Frames frames, uint64_t client = kClient, uint64_t server = kServer) {
  const testing::Bytes first = frames[0].bytes;
  for (Frame& frame : frames) {
    const bool from_client = std::equal(first.begin() + kSourcePortAt, first.begin() + kSourcePortAt + 2,
                                        frame.bytes.begin() + kSourcePortAt);
    const uint64_t mac = from_client ? server : client;
    for (size_t i = 0; i < 6; ++i) frame.bytes[i] = static_cast<uint8_t>(mac >> (40 - 8 * i));
  }
  return frames;
}

Frames conversation(uint16_t client_port = 40000) {
  return Conversation({.client_port = client_port})
      .handshake()
      .client(std::string(1000, 'x'))
      .server(std::string(500, 'y'))
      .frames();
}

std::unique_ptr<const Routes> routes_of(const std::vector<RouteRule>& rules, const Routes* earlier = nullptr,
                                        int64_t since_ns = INT64_MIN, const std::vector<PortRule>& ports = {}) {
  std::string error;
  auto routes = Routes::make(1, {rules, ports}, earlier, since_ns, &error);
  EXPECT_EQ(error, "");
  return routes;
}

struct LinkLoadRoutes : ::testing::Test {
  Harness harness(std::unique_ptr<Parser> parser, const TapNames& tap = {"leaf1", "", ""}) {
    std::vector<std::unique_ptr<Parser>> parsers;
    parsers.push_back(std::move(parser));
    parsers[0]->set_taps(std::vector<TapNames>{tap});
    parsers[0]->set_routes(&feed);
    return Harness(std::move(parsers));
  }
  Harness loads(const TapNames& tap = {"leaf1", "", ""}) { return harness(make_link_load(1 << 10), tap); }

  // Returns the number of packets by port; "-" stands for packets without a known port.
  static std::map<std::string, int> samples(const Harness& run) {
    std::map<std::string, int> samples;
    for (const Tuple& tuple : run.tuples()) samples[tuple["port"]] += std::stoi(tuple["samples"]);
    return samples;
  }

  RouteFeed feed;
};

using Samples = std::map<std::string, int>;

TEST_F(LinkLoadRoutes, EachPortHasItsLoad) {
  feed.publish(routes_of({{"leaf1", kClient, {3}}, {"leaf1", kServer, {4}}, {"leaf2", kServer, {9}}}));
  const Frames frames = addressed(conversation());
  Harness run = loads();
  run.all(frames);
  std::map<std::string, long> bits, expected;
  for (const Tuple& tuple : run.tuples()) {
    EXPECT_EQ(tuple["switch"], "leaf1");
    bits[tuple["port"]] += std::lround(std::stod(tuple["bits_per_second"]) * std::stod(tuple["interval_ns"]) /
                                       static_cast<double>(kSecond));
  }
  for (const Frame& frame : frames)
    expected[frame.bytes[5] == 1 ? "3" : "4"] += 8 * static_cast<long>(frame.bytes.size());
  EXPECT_EQ(bits, expected);
  for (const LossReason reason : {LossReason::kRouteUnknown, LossReason::kRouteAmbiguous, LossReason::kRouteChanging,
                                  LossReason::kSwitchUnknown}) {
    EXPECT_EQ(run.lost(reason), 0u);
  }
}

TEST_F(LinkLoadRoutes, PacketsWithoutAKnownPortAreCountedByReason) {
  feed.publish(routes_of({{"leaf1", kClient, {3, 4}}}));
  const Frames frames = addressed(conversation());
  Harness run = loads();
  run.all(frames);
  const uint64_t to_client = run.lost(LossReason::kRouteAmbiguous), to_server = run.lost(LossReason::kRouteUnknown);
  EXPECT_GT(to_client, 0u);
  EXPECT_GT(to_server, 0u);
  EXPECT_EQ(to_client + to_server, frames.size());
  EXPECT_EQ(samples(run), (Samples{{"-", static_cast<int>(frames.size())}}));
}

TEST_F(LinkLoadRoutes, ASwitchWithoutRoutesIsUnknown) {
  feed.publish(routes_of({{"leaf2", kClient, {3}}}));
  Harness run = loads();
  const Frames frames = addressed(conversation());
  run.all(frames);
  EXPECT_EQ(run.lost(LossReason::kSwitchUnknown), frames.size());
}

TEST_F(LinkLoadRoutes, NothingIsInferredWithoutRoutesOrForATapOfAPort) {
  const Frames frames = addressed(conversation());
  Harness without = loads();
  without.all(frames);
  EXPECT_EQ(without.lost(LossReason::kSwitchUnknown), 0u);
  EXPECT_EQ(samples(without), (Samples{{"-", static_cast<int>(frames.size())}}));
  feed.publish(routes_of({{"leaf1", kClient, {3}}}));
  for (const TapNames& tap : {TapNames{"leaf1", "7", ""}, TapNames{"", "", ""}}) {
    Harness run = loads(tap);
    run.all(frames);
    EXPECT_EQ(samples(run), (Samples{{tap.port.empty() ? "-" : "7", static_cast<int>(frames.size())}}));
    EXPECT_EQ(run.lost(LossReason::kRouteUnknown), 0u);
  }
}

TEST_F(LinkLoadRoutes, AMarkTakesPrecedenceOverARoute) {
  feed.publish(routes_of({{"leaf1", 0x027a92000005, {3}}}));
  const Frames frames = addressed(conversation(), 0x027a92000005, 0x027a92000005);
  Harness run = loads();
  run.all(frames);
  EXPECT_EQ(samples(run), (Samples{{"5", static_cast<int>(frames.size())}}));
}

// The parser switches to a published version at the beginning of its next burst.
TEST_F(LinkLoadRoutes, AChangeOfRoutesIsFollowed) {
  const std::vector<RouteRule> old_rules = {{"leaf1", kClient, {3}}, {"leaf1", kServer, {4}}};
  const std::vector<RouteRule> announced = {{"leaf1", kClient, {3}}, {"leaf1", kServer, {5}, true}};
  const std::vector<RouteRule> new_rules = {{"leaf1", kClient, {3}}, {"leaf1", kServer, {5}}};
  feed.publish(routes_of(old_rules));
  const Frames frames = addressed(conversation());
  const auto later = [&](int64_t seconds) {
    Frames moved = frames;
    for (Frame& frame : moved) frame.time_ns += seconds * kSecond;
    return moved;
  };
  const auto to_server = static_cast<int>(
      std::count_if(frames.begin(), frames.end(), [](const Frame& frame) { return frame.bytes[5] == 2; }));
  const int to_client = static_cast<int>(frames.size()) - to_server;
  Harness run = loads();
  run.feed(later(0));
  feed.publish(routes_of(announced, feed.current()));
  run.feed(later(10));
  feed.publish(routes_of(new_rules, feed.current(), frames[0].time_ns + 30 * kSecond));
  run.feed(later(20));
  run.feed(later(30));
  run.engine().end();
  EXPECT_EQ(samples(run), (Samples{{"3", 4 * to_client}, {"4", to_server}, {"-", 2 * to_server}, {"5", to_server}}));
  EXPECT_EQ(run.lost(LossReason::kRouteChanging), 2 * static_cast<uint64_t>(to_server));
}

TEST_F(LinkLoadRoutes, RatesOfFlowsNameThePort) {
  feed.publish(routes_of({{"leaf1", kClient, {3}}, {"leaf1", kServer, {4}}}));
  Harness run = harness(make_flow_rate(1 << 10));
  run.all(addressed(conversation()));
  std::map<std::string, std::string> ports;
  for (const Tuple& tuple : run.tuples()) ports[tuple["direction"]] = tuple["output_port"];
  EXPECT_EQ(ports, (std::map<std::string, std::string>{{"from_client", "4"}, {"from_server", "3"}}));
}

TEST_F(LinkLoadRoutes, RatesOfFlowsNameTheInputPort) {
  // The client is behind leaf1, the server behind leaf2.
  const std::vector<RouteRule> rules = {
      {"leaf1", kClient, {3}}, {"leaf1", kServer, {4}}, {"leaf2", kClient, {5}}, {"leaf2", kServer, {6}}};
  feed.publish(routes_of(rules, nullptr, INT64_MIN,
                         {{"leaf1", 3}, {"leaf1", 4, 0, "leaf2", 5}, {"leaf2", 6}, {"leaf2", 5, 0, "leaf1", 4}}));
  Frames frames = addressed(conversation());
  for (Frame& frame : frames) {
    // The source address becomes that of the other host.
    std::copy(frame.bytes.begin(), frame.bytes.begin() + 6, frame.bytes.begin() + 6);
    frame.bytes[11] = static_cast<uint8_t>(3 - frame.bytes[5]);
  }
  for (const auto& [name, inputs] : std::map<std::string, std::pair<std::string, std::string>>{
           {"leaf1", {"3", "4"}}, {"leaf2", {"5", "6"}}, {"leaf3", {"-", "-"}}}) {
    Harness run = harness(make_flow_rate(1 << 10), {name, "", ""});
    run.all(frames);
    std::map<std::string, std::string> ports;
    for (const Tuple& tuple : run.tuples()) ports[tuple["direction"]] = tuple["input_port"];
    EXPECT_EQ(ports,
              (std::map<std::string, std::string>{{"from_client", inputs.first}, {"from_server", inputs.second}}));
  }
}

TEST_F(LinkLoadRoutes, AMarkNamesTheInputPort) {
  Harness run = harness(make_flow_rate(1 << 10));
  run.all(addressed(conversation(), 0x027a92abc005, 0x027a93001006));
  std::map<std::string, std::string> ports;
  for (const Tuple& tuple : run.tuples()) ports[tuple["direction"]] = tuple["input_port"] + ">" + tuple["output_port"];
  EXPECT_EQ(ports, (std::map<std::string, std::string>{{"from_client", "1>6"}, {"from_server", "2748>5"}}));
}

// Queries that give no link speed use the speeds that the routes announce.
TEST_F(LinkLoadRoutes, SharesAreOfTheAnnouncedSpeed) {
  const std::vector<RouteRule> rules = {{"leaf1", kClient, {3}}, {"leaf1", kServer, {4}}};
  feed.publish(routes_of(rules, nullptr, INT64_MIN, {{"leaf1", 3, 1'000'000}, {"leaf1", 5, 7}}));
  const Frames frames = addressed(conversation());
  const auto check = [&](const TapNames& tap, std::optional<uint64_t> link,
                         const std::map<std::string, double>& speeds) {
    std::vector<std::unique_ptr<Parser>> parsers;
    parsers.push_back(make_link_load(1 << 10));
    parsers[0]->set_taps(std::vector<TapNames>{tap});
    parsers[0]->set_routes(&feed);
    if (link)
      parsers[0]->set_arguments(
          0, std::vector<Value>{Value::u64(*link), Value::u64(0), Value::i64(0), Value::i64(kSecond)});
    Harness run(std::move(parsers));
    run.all(frames);
    ASSERT_FALSE(run.tuples().empty());
    for (const Tuple& tuple : run.tuples()) {
      const auto speed = speeds.find(tuple["port"]);
      if (speed == speeds.end()) {
        EXPECT_EQ(tuple["share"], "-") << tuple["port"];
      } else {
        EXPECT_NEAR(std::stod(tuple["share"]), std::stod(tuple["bits_per_second"]) / speed->second, 2e-6)
            << tuple["port"];
      }
    }
  };
  check({"leaf1", "", ""}, std::nullopt, {{"3", 1e6}});
  check({"leaf1", "", ""}, 0, {{"3", 1e6}});
  check({"leaf1", "", ""}, 5'000'000, {{"3", 5e6}, {"4", 5e6}});
  check({"leaf1", "3", ""}, 0, {{"3", 1e6}});
  check({"leaf1", "3rd", ""}, 0, {});
  check({"leaf2", "3", ""}, 0, {});
}

}  // namespace
}  // namespace tapline
