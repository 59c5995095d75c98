// Tests partial triggers: several monitors capture the packets, so each emits its values for the stream job.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parsers/testing/frames.h"
#include "parsers/testing/harness.h"
#include "parsers/trigger/program.h"

namespace tapline::trigger::testing {
namespace {

using tapline::testing::Frame;
using tapline::testing::Harness;
using tapline::testing::Tuple;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1000 * 1'000 * kMs;

Trigger partial(Expression when, const GroupBy& group = GroupBy::source(32, 128)) {
  Trigger trigger;
  trigger.group = group;
  trigger.when = std::move(when);
  trigger.every_ns = 10 * kMs;
  trigger.partial = true;
  return trigger;
}

Trigger counting(const GroupBy& group = GroupBy::source(32, 128)) {
  return partial(above(value_of(Measure::kPackets), number(1'000'000)), group);
}

void set(Harness* harness, std::vector<Trigger> triggers) {
  std::string error;
  auto program = Program::make(std::move(triggers), &error);
  ASSERT_NE(program, nullptr) << error;
  harness->engine().set_triggers(0, 0, std::move(program));
}

Frame datagram(int64_t ms, const std::string& source) {
  return tapline::testing::udp_frame({.src = source}, kStart + ms * kMs);
}

std::string source(int number) {
  return "10." + std::to_string(number / 62'500) + "." + std::to_string(number / 250 % 250) + "." +
         std::to_string(number % 250);
}

TEST(TriggerPartial, EachWindowReportsTheValueOfEachGroupWithPackets) {
  Harness harness(std::vector<std::string>{"trigger"});
  set(&harness, {counting()});
  harness.all({datagram(3, "10.0.0.1"), datagram(4, "10.0.0.1"), datagram(5, "10.0.0.2"), datagram(57, "10.0.0.2"),
               datagram(62, "10.0.0.1")});
  EXPECT_EQ(harness.lines({"trigger", "scope", "group", "value"}), (std::vector<std::string>{
                                                                       "0 partial src_ip=10.0.0.1 2.000000",
                                                                       "0 partial src_ip=10.0.0.2 1.000000",
                                                                       "0 partial src_ip=10.0.0.2 1.000000",
                                                                       "0 partial src_ip=10.0.0.1 1.000000",
                                                                   }));
  for (const Tuple& tuple : harness.tuples()) {
    EXPECT_FALSE(tuple.is_event);
    const int64_t start_ns = std::stoll(tuple["window_start_ns"]), end_ns = std::stoll(tuple["window_end_ns"]);
    EXPECT_EQ(end_ns - start_ns, 10 * kMs);
    EXPECT_GE(tuple.header.time_ns, start_ns) << "the job takes the window from the tuple's time";
    EXPECT_LT(tuple.header.time_ns, end_ns);
  }
}

TEST(TriggerPartial, AValueBelowZeroIsReported) {
  Harness harness(std::vector<std::string>{"trigger"});
  const Expression doubled = apply(Op::kMultiply, value_of(Measure::kPackets), number(2));
  set(&harness, {partial(above(apply(Op::kSubtract, value_of(Measure::kPackets), doubled), number(5)), {})});
  harness.all({datagram(1, "10.0.0.1"), datagram(2, "10.0.0.1")});
  EXPECT_EQ(harness.lines({"value"}), std::vector<std::string>{"-2.000000"});
}

// A silent group adds nothing to a sum, although it would meet this condition.
TEST(TriggerPartial, GroupsAndWindowsWithoutPacketsAreNotReported) {
  Harness harness(std::vector<std::string>{"trigger"});
  set(&harness, {partial(above(value_of(Measure::kPackets), number(-1))),
                 partial(above(value_of(Measure::kPackets), number(-1)), {})});
  harness.all({datagram(1, "10.0.0.1"), datagram(95, "10.0.0.2")});
  EXPECT_EQ(harness.tuples().size(), 4u);
}

TEST(TriggerPartial, AnAbsentValueIsNotReported) {
  Harness harness(std::vector<std::string>{"trigger"});
  set(&harness, {partial(above(value_of(Measure::kMinRttNs), number(0)))});
  harness.all({datagram(1, "10.0.0.1")});
  EXPECT_TRUE(harness.tuples().empty());
}

// An ordinary trigger reports at most 1,000 events in a window.
TEST(TriggerPartial, AllGroupsAreReportedAtOnce) {
  EngineOptions options = Harness::small();
  options.postpones_work = true;
  options.max_connections = 1 << 13;
  Harness harness(std::vector<std::string>{"trigger"}, options);
  set(&harness, {counting()});
  std::vector<Frame> frames;
  for (int i = 0; i < 3'000; ++i) frames.push_back(datagram(1, source(i)));
  harness.feed(frames);
  EXPECT_TRUE(harness.tuples().empty());
  harness.feed({datagram(10, source(0))});
  EXPECT_EQ(harness.tuples().size(), 3'000u) << "before the first tuple that may be later";
}

TEST(TriggerPartial, PacketsBeyondTheBoundOnGroupsAreLost) {
  constexpr int kGroups = 140'000;
  EngineOptions options = Harness::small();
  options.max_connections = 1 << 18;
  Harness harness(std::vector<std::string>{"trigger"}, options);
  set(&harness, {counting()});
  std::vector<Frame> frames;
  for (int i = 0; i < kGroups; ++i) frames.push_back(datagram(1, source(i)));
  harness.all(frames);
  const uint64_t lost = harness.lost(LossReason::kParserMemoryFull);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(harness.tuples().size() + lost, static_cast<size_t>(kGroups));
}

TEST(TriggerPartial, AllTriggersOfAProgramArePartialOrNone) {
  std::string error;
  Trigger whole = counting();
  whole.partial = false;
  EXPECT_EQ(Program::make({counting(), whole}, &error), nullptr);
  EXPECT_NE(error.find("only some triggers are partial"), std::string::npos) << error;
}

TEST(TriggerPartial, APartialTriggerHasNoAlerts) {
  std::string error;
  Trigger trigger = counting();
  trigger.after = 2;
  EXPECT_EQ(Program::make({trigger}, &error), nullptr);
  EXPECT_NE(error.find("no alerts"), std::string::npos) << error;
}

}  // namespace
}  // namespace tapline::trigger::testing
