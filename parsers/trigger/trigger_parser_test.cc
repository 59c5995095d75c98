// Tests the parser in an engine, from packets to tuples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"
#include "parsers/trigger/program.h"
#include "parsers/trigger/shared_triggers.h"

namespace tapline::trigger::testing {
namespace {

using tapline::testing::Conversation;
using tapline::testing::Frame;
using tapline::testing::Harness;
using Lines = std::vector<std::string>;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1000 * 1'000 * kMs;

Trigger bytes_above(double bytes, const GroupBy& group = GroupBy::source(32, 128), int64_t every_ns = 10 * kMs) {
  Trigger trigger;
  trigger.filter.protocol = protocol::kTcp;
  trigger.group = group;
  trigger.when = above(value_of(Measure::kBytes), number(bytes));
  trigger.every_ns = every_ns;
  return trigger;
}

// Returns the same trigger with a condition in a form that is tested only at the window's end.
Trigger bytes_above_at_end(double bytes, const GroupBy& group = GroupBy::source(32, 128), int64_t every_ns = 10 * kMs) {
  Trigger trigger = bytes_above(bytes, group, every_ns);
  trigger.when = apply(Op::kAnd, trigger.when, above(value_of(Measure::kPackets), number(0)));
  return trigger;
}

void set(Harness* harness, std::vector<Trigger> triggers, uint32_t query = 0) {
  std::string error;
  auto program = Program::make(std::move(triggers), &error);
  ASSERT_NE(program, nullptr) << error;
  harness->engine().set_triggers(0, query, std::move(program));
}

// Returns the value without decimals.
std::string value_of(const tapline::testing::Tuple& tuple) {
  return std::to_string(std::llround(std::stod(tuple["value"])));
}

// Returns the group, value and window (in milliseconds since kStart) of each tuple.
Lines windows(const Harness& harness) {
  Lines lines;
  for (const auto& tuple : harness.tuples()) {
    const auto ms = [&](const char* field) { return std::to_string((std::stoll(tuple[field]) - kStart) / kMs); };
    lines.push_back(tuple["group"] + " " + value_of(tuple) + " " + ms("window_start_ns") + "-" + ms("window_end_ns"));
  }
  return lines;
}

// Returns a connection with 1 kB every 10 ms for 3 s, and a burst of 60 kB at 2.6 s. Only the burst's window of 10 ms
// has more than 50 kB.
std::vector<Frame> steady_with_a_burst() {
  Conversation conversation;
  conversation.handshake();
  int64_t next_ns = kStart + 10 * kMs;
  const std::string payload(946, 'x');
  while (next_ns < kStart + 3000 * kMs) {
    conversation.wait_ns(next_ns - conversation.now_ns()).client(payload);
    const bool burst = next_ns == kStart + 2600 * kMs;
    for (int i = 0; i < (burst ? 60 : 0); ++i) conversation.wait_ns(-999'000).client(payload);
    next_ns += 10 * kMs;
  }
  return conversation.frames();
}

TEST(TriggerParser, ABurstIsReportedInItsOwnWindow) {
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above_at_end(50'000)});
  harness.all(steady_with_a_burst());
  EXPECT_EQ(windows(harness), Lines{"src_ip=10.0.0.1 61000 2600-2610"});
  EXPECT_EQ(harness.tuples()[0]["ready_ns"], harness.tuples()[0]["window_end_ns"]);
  ASSERT_EQ(harness.tuples().size(), 1u);
  const auto& tuple = harness.tuples()[0];
  EXPECT_EQ(tuple.header.time_ns, kStart + 2610 * kMs - 1) << "within its window";
  EXPECT_EQ(tuple["scope"], "group");
  EXPECT_EQ(tuple["incomplete"], "false");
  EXPECT_EQ(tapline::testing::to_string(tuple.header.src_ip), "10.0.0.1");
}

// The burst exceeds both thresholds within 60 us, long before the windows of 10 ms and 1 s end.
TEST(TriggerParser, AThresholdThatIsCrossedIsReportedBeforeTheWindowsEnd) {
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above(50'000), bytes_above(100'000, {}, 1'000 * kMs)});
  harness.all(steady_with_a_burst());
  EXPECT_EQ(windows(harness), (Lines{"src_ip=10.0.0.1 61000 2600-2610", "- 121000 2000-3000"}));
  ASSERT_EQ(harness.tuples().size(), 2u);
  for (const auto& tuple : harness.tuples()) {
    EXPECT_EQ(tuple.header.time_ns, kStart + 2601 * kMs - 1);
    EXPECT_EQ(tuple["incomplete"], "false");
    EXPECT_EQ(tuple["ready_ns"], std::to_string(kStart + 2601 * kMs));
    EXPECT_EQ(tuple["exemplars"], "10.0.0.1:40000-10.0.0.2:80/tcp");
  }
}

// The parser begins to track TCP connections for the new triggers before they count. The trigger that both programs
// contain counts in every window.
TEST(TriggerParser, TriggersAreReplacedWhilePacketsArrive) {
  std::string error;
  Trigger always = bytes_above_at_end(0, {}, 100 * kMs);
  always.id = 7;
  Trigger rtt = bytes_above_at_end(0, {}, 100 * kMs);
  rtt.id = 9;
  rtt.when = above(value_of(Measure::kRetransmittedBytes), number(-1));
  auto shared = std::make_shared<SharedTriggers>(Program::make({always}, &error), 1);
  Harness harness(Lines{"trigger"});
  harness.engine().set_triggers(0, 0, Program::make({always}, &error), shared);
  std::map<std::string, std::vector<int64_t>> starts_ms;
  bool replaced = false;
  for (const Frame& frame : steady_with_a_burst()) {
    if (!replaced && frame.time_ns > kStart + 1'050 * kMs) {
      ASSERT_EQ(shared->replace(Program::make({rtt, always}, &error)), "");
      replaced = true;
    }
    harness.feed({frame});
    shared->continue_replacing();
  }
  harness.engine().end();
  EXPECT_FALSE(shared->replacing());
  EXPECT_EQ((shared->counting_since_ns() - kStart) / kMs, 1'100);
  for (const auto& tuple : harness.tuples()) {
    starts_ms[tuple["trigger"]].push_back((std::stoll(tuple["window_start_ns"]) - kStart) / kMs);
  }
  ASSERT_EQ(starts_ms["7"].size(), 30u);
  for (int64_t window = 0; window < 30; ++window) EXPECT_EQ(starts_ms["7"][static_cast<size_t>(window)], window * 100);
  ASSERT_EQ(starts_ms["9"].size(), 19u);
  EXPECT_EQ(starts_ms["9"].front(), 1'100);
}

// Returns the frames of one connection after another, each with a handshake and 1 kB.
std::vector<Frame> connections(int count) {
  std::vector<Frame> frames;
  for (int i = 0; i < count; ++i) {
    Conversation::Options options;
    options.client_port = static_cast<uint16_t>(50'001 + i);
    Conversation conversation(options);
    conversation.handshake().client(std::string(1000, 'x'));
    frames.insert(frames.end(), conversation.frames().begin(), conversation.frames().end());
  }
  return frames;
}

TEST(TriggerParser, AnEventNamesSomeOfItsConnections) {
  const GroupBy client = GroupBy::source(32, 128);
  const std::string first = "10.0.0.1:50001-10.0.0.2:80/tcp";
  for (const GroupBy& group : {GroupBy{}, client, GroupBy::flow()}) {
    Harness harness(Lines{"trigger"});
    set(&harness, {bytes_above_at_end(1'000, group, 1'000 * kMs)});
    harness.all(connections(12));
    ASSERT_EQ(harness.tuples().size(), group == GroupBy::flow() ? 12u : 1u);
    const std::string exemplars = harness.tuples()[0]["exemplars"];
    EXPECT_EQ(exemplars.substr(0, first.size()), first);
    std::set<std::string> flows;
    std::istringstream words(exemplars);
    for (std::string flow; words >> flow;) {
      EXPECT_TRUE(flow.starts_with("10.0.0.1:500") && flow.ends_with("-10.0.0.2:80/tcp")) << flow;
      EXPECT_TRUE(flows.insert(flow).second) << flow << " is named twice";
    }
    EXPECT_EQ(flows.size(), group == GroupBy::flow() ? 1u : 8u);
  }
}

TEST(TriggerParser, SilenceAfterABurstDoesNotMoveItsEvent) {
  Conversation conversation;
  conversation.handshake().wait_ns(20 * kMs).client(std::string(1000, 'x')).wait_ns(5'000 * kMs).client("y");
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above_at_end(900), bytes_above_at_end(900, {}, 1'000 * kMs)});
  harness.all(conversation.frames());
  ASSERT_EQ(harness.tuples().size(), 2u);
  const int64_t end_ns = std::stoll(harness.tuples()[0]["window_end_ns"]);
  EXPECT_EQ(harness.tuples()[0].header.time_ns, end_ns - 1);
  EXPECT_EQ(harness.tuples()[1].header.time_ns, kStart + 1'000 * kMs - 1);
}

TEST(TriggerParser, AnIdleInterfaceEndsAWindow) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x'));
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above_at_end(900)});
  harness.feed(conversation.frames());
  EXPECT_TRUE(harness.tuples().empty());
  for (int64_t ms = 4; ms <= 10; ++ms) harness.engine().advance(kStart + ms * kMs);
  EXPECT_EQ(harness.tuples().size(), 1u);
}

TEST(TriggerParser, AClientThatFellSilentIsReported) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x'));
  Trigger trigger = bytes_above(0);
  trigger.when = below(trigger::value_of(Measure::kBytes), number(1));
  Harness harness(Lines{"trigger"});
  set(&harness, {trigger});
  harness.feed(conversation.frames());
  for (int64_t ms = 4; ms <= 40; ++ms) harness.engine().advance(kStart + ms * kMs);
  EXPECT_EQ(windows(harness), (Lines{"src_ip=10.0.0.1 0 10-20", "src_ip=10.0.0.1 0 20-30", "src_ip=10.0.0.1 0 30-40"}));
  for (const auto& tuple : harness.tuples()) EXPECT_EQ(tuple["certain"], "true");
}

TEST(TriggerParser, BothDirectionsCountForTheClient) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x')).server(std::string(1000, 'y'));
  Harness harness(Lines{"trigger"});
  GroupBy group = GroupBy::source(32, 128);
  group.dst_port = true;
  set(&harness, {bytes_above(2'000, group, 1'000 * kMs)});
  harness.all(conversation.frames());
  EXPECT_EQ(windows(harness), (Lines{"src_ip=10.0.0.1 dst_port=80 " + std::to_string(2'000 + 5 * 54) + " 0-1000"}));
}

// The server acknowledges the request late, and sends a segment twice: both facts count for the client.
TEST(TriggerParser, FactsAboutConnectionsCountForTheClient) {
  Conversation conversation;
  conversation.handshake().client("GET /").wait_ns(5 * kMs).server(std::string(1000, 'y'));
  std::vector<Frame> frames = conversation.frames();
  frames.push_back(frames.back());
  frames.back().time_ns += 5 * kMs;
  Trigger retransmitted = bytes_above(0, GroupBy::source(32, 128), 1'000 * kMs);
  retransmitted.id = 1;
  retransmitted.when = above(value_of(Measure::kRetransmittedBytes), number(999));
  Trigger round_trip = retransmitted;
  round_trip.id = 2;
  round_trip.when = above(value_of(Measure::kMaxRttNs), number(4.0 * kMs));
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above(0), retransmitted, round_trip});
  harness.all(frames);
  std::map<std::string, std::string> values;
  for (const auto& tuple : harness.tuples()) values[tuple["trigger"] + " " + tuple["group"]] = value_of(tuple);
  EXPECT_EQ(values.at("1 src_ip=10.0.0.1"), "1000");
  EXPECT_GE(std::stoll(values.at("2 src_ip=10.0.0.1")), 5 * kMs);
}

// The client acknowledges in the second window what the server sent in the first one, so nothing is left
// unacknowledged.
TEST(TriggerParser, AnAckCountsForTheConnectionsClient) {
  Conversation conversation;
  conversation.handshake().client("GET /").server("HTTP/1.1").client_ack();
  conversation.wait_ns(50 * kMs).server(std::string(1000, 'y'));
  conversation.wait_ns(kStart + 130 * kMs - conversation.now_ns()).client_ack();
  Trigger in_flight = bytes_above(0, GroupBy::source(32, 128), 100 * kMs);
  in_flight.when = above(value_of(Measure::kInFlightBytes), number(0));
  Trigger unacked = in_flight;
  unacked.id = 1;
  unacked.when = above(value_of(Measure::kUnackedBytes), number(0));
  Harness harness(Lines{"trigger"});
  set(&harness, {in_flight, unacked});
  harness.all(conversation.frames());
  EXPECT_EQ(windows(harness), Lines{"src_ip=10.0.0.1 1000 100-200"});
  ASSERT_EQ(harness.tuples().size(), 1u);
  EXPECT_EQ(harness.tuples()[0]["trigger"], "0");
}

TEST(TriggerParser, ARatioIsAFraction) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x'));
  Trigger trigger = bytes_above(0, {}, 1'000 * kMs);
  trigger.when = above(apply(Op::kDivide, value_of(Measure::kSyn), value_of(Measure::kPackets)), number(0.2));
  Harness harness(Lines{"trigger"});
  set(&harness, {trigger});
  harness.all(conversation.frames());
  ASSERT_EQ(harness.tuples().size(), 1u);
  EXPECT_EQ(std::stod(harness.tuples()[0]["value"]), 0.25);
}

TEST(TriggerParser, AnAlertLastsUntilItsSecondThreshold) {
  Conversation conversation;
  conversation.handshake();
  for (const size_t bytes : {500, 900, 700, 700, 300, 900}) {
    conversation.wait_ns((conversation.now_ns() / (10 * kMs) + 1) * 10 * kMs - conversation.now_ns());
    conversation.client(std::string(bytes, 'x'));
  }
  Trigger trigger = bytes_above(800);
  trigger.clear = above(value_of(Measure::kBytes), number(600));
  Trigger patient = trigger;
  patient.id = 1;
  patient.after = 2;
  Harness harness(Lines{"trigger"});
  set(&harness, {trigger, patient});
  harness.all(conversation.frames());
  Lines lines;
  for (const auto& tuple : harness.tuples()) lines.push_back(tuple["trigger"] + " " + value_of(tuple));
  EXPECT_EQ(lines, (Lines{"0 954", "0 754", "0 754", "0 954"}));
}

TEST(TriggerParser, AnAlertLastsAsLongAsAConditionOnOtherValues) {
  Conversation conversation;
  conversation.handshake();
  for (const size_t bytes : {900, 500, 300, 900, 50}) {
    conversation.wait_ns((conversation.now_ns() / (10 * kMs) + 1) * 10 * kMs - conversation.now_ns());
    conversation.client(std::string(bytes, 'x'));
  }
  Trigger trigger = bytes_above(800);
  // An alert ends with a window of less than 400 B of payload.
  trigger.clear = apply(Op::kAnd, apply(Op::kGreaterEqual, value_of(Measure::kPackets), number(1)),
                        apply(Op::kGreaterEqual, value_of(Measure::kPayloadBytes), number(400)));
  Harness harness(Lines{"trigger"});
  set(&harness, {trigger});
  harness.all(conversation.frames());
  Lines values;
  for (const auto& tuple : harness.tuples()) values.push_back(value_of(tuple));
  EXPECT_EQ(values, (Lines{"954", "554", "954"})) << "the value is that of `when`";
}

TEST(TriggerParser, ANetworksPacketsCountTogether) {
  std::vector<Frame> frames;
  for (const char* client : {"10.1.2.3", "10.1.2.77", "10.1.3.1", "2001:db8:0:7::1", "2001:db8:0:7::2"}) {
    Conversation::Options options;
    options.client = client;
    options.server = std::string(client).find(':') == std::string::npos ? "10.9.0.1" : "2001:db8:9::1";
    Conversation conversation(options);
    conversation.handshake().client(std::string(1000, 'x'));
    frames.insert(frames.end(), conversation.frames().begin(), conversation.frames().end());
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.time_ns < b.time_ns; });
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above(2'000, GroupBy::source(24, 64), 1'000 * kMs)});
  harness.all(frames);
  Lines groups;
  for (const auto& tuple : harness.tuples()) {
    groups.push_back(tuple["group"] + " " + tapline::testing::to_string(tuple.header.src_ip));
  }
  std::sort(groups.begin(), groups.end());
  EXPECT_EQ(groups, (Lines{"src_ip=10.1.2.0/24 10.1.2.0", "src_ip=2001:db8:0:7::/64 2001:db8:0:7::"}));
}

TEST(TriggerParser, TheEndOfAQueryReportsItsWindowAsPartial) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x'));
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above(900)}, 0);
  set(&harness, {bytes_above(900)}, 1);
  harness.feed(conversation.frames(), 0b11);
  harness.engine().end_queries(0b01);
  ASSERT_EQ(harness.tuples().size(), 1u);
  EXPECT_EQ(harness.tuples()[0].header.queries, 0b01u);
  EXPECT_EQ(harness.tuples()[0]["incomplete"], "true");
  EXPECT_LT(std::stoll(harness.tuples()[0]["ready_ns"]), std::stoll(harness.tuples()[0]["window_end_ns"]));
  harness.engine().advance(kStart + 10 * kMs);
  ASSERT_EQ(harness.tuples().size(), 2u);
  EXPECT_EQ(harness.tuples()[1].header.queries, 0b10u);
  EXPECT_EQ(harness.tuples()[1]["incomplete"], "false");
}

// Windows of 30 ms end every 10 ms. 1 kB counts in three of them, and no packet is needed to end them. At the end of
// the query, only the window that would end next is reported.
TEST(TriggerParser, WindowsThatOverlapEndWithoutPackets) {
  Conversation conversation;
  conversation.handshake().client(std::string(1000, 'x'));
  Trigger trigger = bytes_above(900);
  trigger.window_ns = 30 * kMs;
  Harness harness(Lines{"trigger"});
  set(&harness, {trigger});
  harness.feed(conversation.frames());
  for (int64_t ms = 4; ms <= 100; ++ms) harness.engine().advance(kStart + ms * kMs);
  const std::string group = "src_ip=10.0.0.1 " + std::to_string(1'000 + 4 * 54);
  EXPECT_EQ(windows(harness), (Lines{group + " -20-10", group + " -10-20", group + " 0-30"}));
  ASSERT_EQ(harness.tuples().size(), 3u);
  EXPECT_EQ(harness.tuples()[0]["incomplete"], "true");
  EXPECT_EQ(harness.tuples()[2]["incomplete"], "false");

  Harness ended(Lines{"trigger"});
  set(&ended, {trigger});
  ended.feed(conversation.frames());
  ended.engine().end_queries(0b01);
  EXPECT_EQ(windows(ended), Lines{group + " -20-10"});
}

TEST(TriggerParser, AQueryWithoutTriggersHasNoEvents) {
  Harness harness(Lines{"trigger"});
  set(&harness, {bytes_above(10)}, 5);
  harness.feed(Conversation().handshake().client("x").frames(), 0b1);
  harness.engine().end();
  EXPECT_TRUE(harness.tuples().empty());
}

}  // namespace
}  // namespace tapline::trigger::testing
