// Tests commands that change a query's triggers while its only lane is counting.
#include "monitors/control/live_triggers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

#include "monitors/plan/trigger_reader.h"

namespace tapline {
namespace {

constexpr int64_t kMs = 1'000'000;
using Report = v1::MonitorStatus::Triggers;

// Returns a trigger that is true in each window of 10 ms with more than `count` packets.
v1::PacketTrigger packets_above(uint32_t number, double count = 0) {
  v1::PacketTrigger message;
  message.set_processor(number);
  message.set_parser("packets");
  message.mutable_every()->set_nanos(10 * kMs);
  message.add_when()->set_measure(v1::ConditionStep::PACKETS);
  message.add_when()->set_constant(count);
  message.add_when()->set_operator_(v1::ConditionStep::GREATER);
  return message;
}

std::shared_ptr<const trigger::Program> program_of(const v1::PacketTrigger& message) {
  trigger::Trigger read;
  EXPECT_TRUE(read_trigger(message, &read).ok());
  std::string error;
  return trigger::Program::make({read}, &error);
}

v1::TriggersCommand all_of(uint64_t version, const std::vector<uint32_t>& numbers) {
  v1::TriggersCommand command;
  command.set_query("q");
  command.set_version(version);
  for (const uint32_t number : numbers) *command.add_add() = packets_above(number);
  return command;
}

v1::TriggersCommand change_of(uint64_t base, uint64_t version, const std::vector<uint32_t>& added,
                              const std::vector<uint32_t>& removed) {
  v1::TriggersCommand command = all_of(version, added);
  command.set_base(base);
  for (const uint32_t number : removed) command.add_remove(number);
  return command;
}

struct LiveTriggersTest : testing::Test, trigger::EventSink {
  void on_event(const trigger::Event& event) override { of_window.insert(event.trigger); }

  // Counts a packet and ends its window. Returns the triggers that were true in the window.
  std::set<uint64_t> next_window() {
    of_window.clear();
    Sample sample;
    sample.time_ns = 10 * kMs * window++;
    sample.packets = 1;
    sample.ip_version = 4;
    shared->process(lane, {&sample, 1}, {}, this);
    shared->advance(lane, 10 * kMs * window, this);
    return of_window;
  }

  // Lets windows pass until there is a report.
  Report await() {
    for (int i = 0; i < 20'000; ++i) {
      if (auto report = live.look()) return *report;
      usleep(500);
      next_window();
    }
    ADD_FAILURE() << "no report";
    return {};
  }

  void expect_refused(const v1::TriggersCommand& command, const std::string& reason) {
    const Status status = live.change(command);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(reason), std::string::npos) << status.message();
  }

  std::shared_ptr<trigger::SharedTriggers> shared =
      std::make_shared<trigger::SharedTriggers>(program_of(packets_above(0)), 1);
  uint32_t lane = shared->join();
  LiveTriggers live{"q", shared};
  int64_t window = 0;
  std::set<uint64_t> of_window;
};

TEST_F(LiveTriggersTest, VersionsFollowEachOther) {
  EXPECT_EQ(next_window(), (std::set<uint64_t>{0}));
  ASSERT_TRUE(live.change(all_of(1, {0, 1, 2})).ok());
  EXPECT_TRUE(live.is_busy());
  Report report = await();
  EXPECT_EQ(report.query(), "q");
  EXPECT_EQ(report.version(), 1u);
  EXPECT_EQ(report.count(), 3u);
  EXPECT_EQ(report.since_ns() % (10 * kMs), 0);
  EXPECT_GT(report.since_ns(), 0);
  EXPECT_LE(report.since_ns(), 10 * kMs * window);
  EXPECT_FALSE(live.is_busy());
  EXPECT_EQ(next_window(), (std::set<uint64_t>{0, 1, 2}));
  ASSERT_TRUE(live.change(change_of(1, 5, {7}, {0, 2})).ok());
  report = await();
  EXPECT_EQ(report.version(), 5u);
  EXPECT_EQ(report.count(), 2u);
  EXPECT_EQ(next_window(), (std::set<uint64_t>{1, 7}));
  ASSERT_TRUE(live.change(all_of(6, {})).ok());
  EXPECT_EQ(await().count(), 0u);
  EXPECT_EQ(next_window(), std::set<uint64_t>{});
  ASSERT_TRUE(live.change(all_of(7, {9})).ok());
  EXPECT_EQ(await().version(), 7u);
  EXPECT_EQ(next_window(), (std::set<uint64_t>{9}));
}

TEST_F(LiveTriggersTest, ASetMayComeInParts) {
  v1::TriggersCommand first = all_of(1, {1, 2}), second = all_of(1, {3});
  first.set_more(true);
  ASSERT_TRUE(live.change(first).ok());
  EXPECT_FALSE(live.is_busy());
  ASSERT_TRUE(live.change(second).ok());
  EXPECT_EQ(await().count(), 3u);
  // A set whose last part has not arrived has no effect.
  v1::TriggersCommand part = change_of(1, 2, {4}, {1});
  part.set_more(true);
  ASSERT_TRUE(live.change(part).ok());
  ASSERT_TRUE(live.change(change_of(1, 3, {5}, {2})).ok());
  EXPECT_EQ(await().version(), 3u);
  EXPECT_EQ(next_window(), (std::set<uint64_t>{1, 3, 5}));
}

// If several complete versions arrive while another one is being prepared, only the latest must be prepared next.
TEST_F(LiveTriggersTest, VersionsInQuickSuccessionAreSkipped) {
  ASSERT_TRUE(live.change(all_of(1, {1})).ok());
  for (uint32_t version = 2; version < 40; ++version) {
    ASSERT_TRUE(live.change(change_of(version - 1, version, {version}, {version - 1})).ok());
  }
  std::vector<uint64_t> reported;
  while (reported.empty() || reported.back() < 39) reported.push_back(await().version());
  EXPECT_LE(reported.size(), 3u);
  EXPECT_EQ(next_window(), (std::set<uint64_t>{39}));
}

TEST_F(LiveTriggersTest, ErrorsNameWhatIsWrongAndChangeNothing) {
  expect_refused(change_of(0, 1, {1}, {}), "send all triggers");
  ASSERT_TRUE(live.change(all_of(1, {1, 2})).ok());
  EXPECT_EQ(await().version(), 1u);
  expect_refused(change_of(7, 9, {3}, {}), "version 7 of the triggers is not known: this monitor has version 1");
  expect_refused(all_of(1, {3}), "not above version 1");
  expect_refused(change_of(1, 2, {3}, {4}), "no trigger 4");
  expect_refused(change_of(1, 2, {1}, {}), "trigger 1 is given twice");
  v1::TriggersCommand command = all_of(2, {});
  *command.add_add() = packets_above(1, 5);
  expect_refused(command, "another number");
  command.clear_add();
  *command.add_add() = packets_above(3);
  command.mutable_add(0)->set_parser("http_get");
  expect_refused(command, "trigger 3");
  command.clear_add();
  for (uint32_t number = 10; number < 10 + trigger::Program::kMaxTriggers + 1; ++number) {
    *command.add_add() = packets_above(number);
  }
  expect_refused(command, "at most 16384 triggers");
  EXPECT_FALSE(live.is_busy());
  EXPECT_EQ(next_window(), (std::set<uint64_t>{1, 2}));
}

// Some errors are found only when the program is prepared. The previous version then stays in force and can be changed.
TEST_F(LiveTriggersTest, AVersionThatCanNotBePreparedIsRefused) {
  ASSERT_TRUE(live.change(all_of(1, {1})).ok());
  EXPECT_EQ(await().version(), 1u);
  v1::TriggersCommand command = change_of(1, 2, {}, {});
  for (uint32_t number = 2; number < 20; ++number) {
    *command.add_add() = packets_above(number);
    command.mutable_add()->rbegin()->mutable_every()->set_nanos(static_cast<int32_t>(number * kMs));
  }
  ASSERT_TRUE(live.change(command).ok());
  const Report report = await();
  EXPECT_EQ(report.version(), 2u);
  EXPECT_FALSE(report.has_since_ns());
  EXPECT_NE(report.message().find("at most 16 combinations"), std::string::npos) << report.message();
  EXPECT_EQ(report.kind(), "user");
  EXPECT_EQ(next_window(), (std::set<uint64_t>{1}));
  ASSERT_TRUE(live.change(change_of(1, 3, {4}, {})).ok());
  EXPECT_EQ(await().version(), 3u);
  EXPECT_EQ(next_window(), (std::set<uint64_t>{1, 4}));
}

TEST_F(LiveTriggersTest, ThousandsOfTriggersAreReplaced) {
  std::vector<uint32_t> numbers(4096);
  for (uint32_t i = 0; i < 4096; ++i) numbers[i] = i;
  ASSERT_TRUE(live.change(all_of(1, numbers)).ok());
  EXPECT_EQ(await().count(), 4096u);
  EXPECT_EQ(next_window().size(), 4096u);
}

}  // namespace
}  // namespace tapline
