// Tests that trigger changes by the control plane reach the monitor and its successor.
#include <gtest/gtest.h>

#include <set>

#include "monitors/agent/assignments.h"
#include "monitors/messages/message_socket.h"

namespace tapline {
namespace {

v1::AgentCommand assignment(uint32_t epoch) {
  v1::AgentCommand command;
  command.mutable_assign()->set_query("q");
  command.mutable_assign()->set_epoch(epoch);
  command.mutable_assign()->mutable_plan()->set_query("q");
  return command;
}

v1::AgentCommand change(uint64_t version, uint32_t first, uint32_t count, uint32_t epoch = 1) {
  v1::AgentCommand command;
  command.mutable_triggers()->set_query("q");
  command.mutable_triggers()->set_epoch(epoch);
  command.mutable_triggers()->set_version(version);
  for (uint32_t number = first; number < first + count; ++number) {
    v1::PacketTrigger* trigger = command.mutable_triggers()->add_add();
    trigger->set_processor(number);
    trigger->set_parser("packets");
    trigger->add_group("src_ip");
    trigger->add_when()->set_constant(number);
  }
  return command;
}

v1::MonitorStatus refused(uint64_t version) {
  v1::MonitorStatus event;
  event.mutable_triggers()->set_query("q");
  event.mutable_triggers()->set_version(version);
  event.mutable_triggers()->set_message("no");
  return event;
}

struct AssignmentsTriggersTest : testing::Test {
  void SetUp() override {
    assignments.monitor_ready();
    assignments.execute(assignment(1));
    v1::MonitorStatus added;
    added.mutable_query_added()->set_query("q");
    assignments.on_monitor_event(added);
    assignments.outbox() = {};
  }

  // Returns the trigger commands sent to the monitor since the last call. Expects each one to fit into a message.
  std::vector<v1::TriggersCommand> to_monitor() {
    std::vector<v1::TriggersCommand> commands;
    for (const v1::MonitorCommand& command : assignments.outbox().monitor) {
      EXPECT_LE(command.ByteSizeLong(), MessageSocket::kMaxMessageBytes);
      if (command.has_triggers()) commands.push_back(command.triggers());
    }
    assignments.outbox().monitor.clear();
    return commands;
  }
  static std::set<uint32_t> numbers(const std::vector<v1::TriggersCommand>& commands) {
    std::set<uint32_t> numbers;
    for (const v1::TriggersCommand& command : commands) {
      for (const v1::PacketTrigger& trigger : command.add()) EXPECT_TRUE(numbers.insert(trigger.processor()).second);
    }
    return numbers;
  }
  // Returns the reason for the only refusal that was reported.
  std::string refusal() {
    EXPECT_EQ(assignments.outbox().control_plane.size(), 1u);
    const v1::MonitorStatus status = assignments.outbox().control_plane.at(0);
    assignments.outbox().control_plane.clear();
    EXPECT_FALSE(status.triggers().has_since_ns());
    return status.triggers().message();
  }

  Assignments assignments;
};

TEST_F(AssignmentsTriggersTest, ChangesReachTheMonitorUnchanged) {
  assignments.execute(change(1, 0, 3));
  v1::AgentCommand second = change(2, 7, 1);
  second.mutable_triggers()->set_base(1);
  second.mutable_triggers()->add_remove(1);
  assignments.execute(second);
  const auto sent = to_monitor();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].add_size(), 3);
  EXPECT_EQ(sent[1].SerializeAsString(), second.triggers().SerializeAsString());
  EXPECT_EQ(assignments.list().at(0).triggers_version(), 2u);
}

TEST_F(AssignmentsTriggersTest, TheNextMonitorGetsTheWholeSetInParts) {
  for (const bool supervised : {true, false}) {
    assignments.execute(change(supervised ? 1 : 3, 0, 5000));
    v1::AgentCommand second = change(supervised ? 2 : 4, 9000, 1);
    second.mutable_triggers()->set_base(supervised ? 1 : 3);
    second.mutable_triggers()->add_remove(17);
    assignments.execute(second);
    to_monitor();
    if (supervised) {
      v1::MonitorStatus restarted;
      restarted.mutable_restarted()->set_restarts(1);
      assignments.on_monitor_event(restarted);
    } else {
      assignments.on_monitor_exit("it crashed");
      assignments.monitor_ready();
    }
    const auto sent = to_monitor();
    ASSERT_GT(sent.size(), 1u);
    for (size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(sent[i].version(), supervised ? 2u : 4u);
      EXPECT_FALSE(sent[i].has_base());
      EXPECT_EQ(sent[i].more(), i + 1 < sent.size());
    }
    const std::set<uint32_t> all = numbers(sent);
    EXPECT_EQ(all.size(), 5000u);
    EXPECT_FALSE(all.contains(17));
    EXPECT_TRUE(all.contains(9000));
  }
}

TEST_F(AssignmentsTriggersTest, AnEmptySetReplacesThePlans) {
  assignments.execute(change(1, 0, 0));
  to_monitor();
  assignments.on_monitor_exit("it crashed");
  assignments.monitor_ready();
  const auto sent = to_monitor();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].version(), 1u);
  EXPECT_FALSE(sent[0].more());
}

TEST_F(AssignmentsTriggersTest, UnknownVersionsAndEpochsAreRefused) {
  v1::AgentCommand command = change(2, 7, 1);
  command.mutable_triggers()->set_base(1);
  assignments.execute(command);
  EXPECT_NE(refusal().find("version 1 of the triggers is not known"), std::string::npos);
  assignments.execute(change(1, 0, 1, 2));
  EXPECT_NE(refusal().find("does not run epoch 2"), std::string::npos);
  EXPECT_TRUE(to_monitor().empty());
}

// After a refusal, the control plane must send all triggers again.
TEST_F(AssignmentsTriggersTest, ASetThatTheMonitorRefusesIsForgotten) {
  assignments.execute(change(1, 0, 3));
  to_monitor();
  assignments.on_monitor_event(refused(1));
  EXPECT_EQ(refusal(), "no");
  EXPECT_EQ(assignments.list().at(0).triggers_version(), 0u);
  assignments.on_monitor_exit("it crashed");
  assignments.monitor_ready();
  EXPECT_TRUE(to_monitor().empty());
}

TEST_F(AssignmentsTriggersTest, ANewEpochBeginsWithItsPlan) {
  assignments.execute(change(1, 0, 3));
  assignments.execute(assignment(2));
  v1::MonitorStatus ended;
  ended.mutable_query_ended()->set_query("q");
  to_monitor();
  assignments.on_monitor_event(ended);
  EXPECT_TRUE(to_monitor().empty());
  EXPECT_EQ(assignments.list().at(0).triggers_version(), 0u);
}

}  // namespace
}  // namespace tapline
