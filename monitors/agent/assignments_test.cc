#include "monitors/agent/assignments.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tapline {
namespace {

v1::AgentCommand assignment(const std::string& query, uint32_t epoch, uint64_t term = 1) {
  v1::AgentCommand command;
  command.set_term(term);
  command.mutable_assign()->set_query(query);
  command.mutable_assign()->set_epoch(epoch);
  command.mutable_assign()->mutable_plan()->set_query(query);
  command.mutable_assign()->mutable_plan()->set_epoch(epoch);
  return command;
}

v1::AgentCommand end(const std::string& query, uint64_t term = 1) {
  v1::AgentCommand command;
  command.set_term(term);
  command.mutable_end()->set_query(query);
  return command;
}

v1::MonitorStatus added(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_added()->set_query(query);
  return event;
}
v1::MonitorStatus ended(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_ended()->set_query(query);
  event.mutable_query_ended()->mutable_accounting()->set_packets_in(3);
  return event;
}
v1::MonitorStatus refused(const std::string& query, const std::string& cause) {
  v1::MonitorStatus event;
  event.mutable_query_refused()->set_query(query);
  event.mutable_query_refused()->set_message(cause);
  event.mutable_query_refused()->set_kind("user");
  return event;
}

// Describes a command, including the plan fields that these tests check.
std::string words(const v1::MonitorCommand& command) {
  if (command.has_assign()) {
    const v1::Plan& plan = command.assign().plan();
    std::string words = "assign " + plan.query() + " " + std::to_string(plan.epoch());
    if (plan.limit().leased())
      words += " packets " + std::to_string(plan.limit().packets()) + " spent " + std::to_string(plan.limit().spent());
    if (plan.sampling().limit() > 0) words += " limit " + std::to_string(plan.sampling().limit());
    return words;
  }
  if (command.has_end()) return (command.end().abandon() ? "abandon " : "end ") + command.end().query();
  if (command.has_limit()) return "limit " + command.limit().query() + " " + std::to_string(command.limit().rate());
  if (command.has_credit())
    return "credit " + command.credit().query() + " " + std::to_string(command.credit().packets()) + " " +
           std::to_string(command.credit().version());
  if (command.has_copies_lost()) return "lost " + std::to_string(command.copies_lost().packets());
  return "mirrored " + command.mirrored().query();
}

std::string words(const v1::MonitorStatus& event) {
  switch (event.event_case()) {
    case v1::MonitorStatus::kQueryAdded:
      return "added " + event.query_added().query();
    case v1::MonitorStatus::kQueryEnded:
      return (event.query_ended().lost() ? "lost " : "ended ") + event.query_ended().query();
    case v1::MonitorStatus::kQueryRefused:
      return "refused " + event.query_refused().query() + ": " + event.query_refused().message();
    case v1::MonitorStatus::kMonitorEnded:
      return "monitor ended: " + event.monitor_ended().message();
    case v1::MonitorStatus::kCopies:
      return "copies " + std::to_string(event.copies().packets());
    default:
      return event.ShortDebugString();
  }
}

using Lines = std::vector<std::string>;

struct AssignmentsTest : testing::Test {
  Assignments assignments;

  Lines to_monitor() {
    Lines lines;
    for (const v1::MonitorCommand& command : assignments.outbox().monitor) lines.push_back(words(command));
    assignments.outbox().monitor.clear();
    return lines;
  }
  Lines reported() {
    Lines lines;
    for (const v1::MonitorStatus& status : assignments.outbox().control_plane) lines.push_back(words(status));
    assignments.outbox().control_plane.clear();
    return lines;
  }
  // Brings a query to kRunning, and empties the outbox.
  void running(const std::string& query, uint32_t epoch = 1) {
    assignments.monitor_ready();
    assignments.execute(assignment(query, epoch));
    assignments.on_monitor_event(added(query));
    assignments.outbox() = {};
  }
  v1::Assignment::State state_of(const std::string& query) {
    for (const v1::Assignment& assignment : assignments.list()) {
      if (assignment.query() == query) return assignment.state();
    }
    ADD_FAILURE() << query << " is missing";
    return v1::Assignment::ENDED;
  }
};

TEST_F(AssignmentsTest, AQueryWaitsForTheMonitorAndPassesThroughAllStates) {
  EXPECT_TRUE(assignments.execute(assignment("q", 1)));
  EXPECT_TRUE(assignments.needs_monitor());
  EXPECT_EQ(to_monitor(), Lines{});
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Lines{"assign q 1"});
  EXPECT_EQ(state_of("q"), v1::Assignment::STARTING);
  assignments.on_monitor_event(added("q"));
  EXPECT_EQ(state_of("q"), v1::Assignment::RUNNING);
  assignments.execute(end("q"));
  EXPECT_EQ(to_monitor(), Lines{"end q"});
  EXPECT_EQ(state_of("q"), v1::Assignment::ENDING);
  assignments.on_monitor_event(ended("q"));
  EXPECT_EQ(reported(), (Lines{"added q", "ended q"}));
  EXPECT_FALSE(assignments.needs_monitor());
}

TEST_F(AssignmentsTest, AnEndIsRememberedUntilItIsAcknowledged) {
  running("q");
  assignments.on_monitor_event(ended("q"));
  EXPECT_EQ(state_of("q"), v1::Assignment::ENDED);
  reported();
  assignments.execute(assignment("q", 1));
  EXPECT_EQ(reported(), Lines{"ended q"}) << "a control plane that was not notified requests it again";
  EXPECT_EQ(to_monitor(), Lines{});
  assignments.execute(end("q"));
  EXPECT_TRUE(assignments.list().empty());
  EXPECT_EQ(reported(), Lines{});
}

TEST_F(AssignmentsTest, CommandsOfALowerTermAreIgnored) {
  EXPECT_TRUE(assignments.execute(assignment("q", 1, 7)));
  EXPECT_FALSE(assignments.execute(end("q", 6)));
  EXPECT_FALSE(assignments.execute(assignment("r", 1, 6)));
  EXPECT_EQ(assignments.list().size(), 1u);
  EXPECT_EQ(assignments.term(), 7u);
  EXPECT_TRUE(assignments.execute(assignment("r", 1, 7)));
}

TEST_F(AssignmentsTest, AHigherEpochReplacesALowerOneOnceItHasEnded) {
  running("q", 1);
  assignments.execute(assignment("q", 2));
  EXPECT_EQ(to_monitor(), Lines{"abandon q"}) << "its stream continues";
  assignments.execute(assignment("q", 2));
  EXPECT_EQ(to_monitor(), Lines{}) << "it is asked to end once";
  assignments.on_monitor_event(ended("q"));
  EXPECT_EQ(to_monitor(), Lines{"assign q 2"});
  EXPECT_EQ(assignments.outbox().control_plane.at(0).epoch(), 1u);
  EXPECT_EQ(assignments.list().at(0).epoch(), 2u);
}

TEST_F(AssignmentsTest, TheSameOrALowerEpochChangesNothing) {
  running("q", 3);
  assignments.execute(assignment("q", 2));
  assignments.execute(assignment("q", 3));
  EXPECT_EQ(to_monitor(), Lines{});
  EXPECT_EQ(reported(), (Lines{"added q", "added q"}));
  EXPECT_EQ(assignments.list().at(0).epoch(), 3u);
}

TEST_F(AssignmentsTest, ARestartedMonitorGetsItsQueriesAgainExceptEndingOnes) {
  running("a");
  running("b");
  assignments.execute(end("b"));
  to_monitor();
  assignments.on_monitor_exit("killed");
  EXPECT_EQ(reported(), (Lines{"monitor ended: killed", "lost b"}));
  EXPECT_EQ(state_of("a"), v1::Assignment::STARTING);
  EXPECT_TRUE(assignments.needs_monitor());
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Lines{"assign a 1"});
}

v1::AgentCommand credit(uint64_t packets, uint64_t version) {
  v1::AgentCommand command;
  command.set_term(1);
  command.mutable_credit()->set_query("q");
  command.mutable_credit()->set_packets(packets);
  command.mutable_credit()->set_version(version);
  return command;
}

TEST_F(AssignmentsTest, ARestartedMonitorGetsOnlyTheUnusedPartOfAGrant) {
  v1::AgentCommand assign = assignment("q", 1);
  assign.mutable_assign()->mutable_plan()->mutable_limit()->set_packets(10);
  assign.mutable_assign()->mutable_plan()->mutable_limit()->set_leased(true);
  assignments.execute(assign);
  assignments.execute(credit(30, 1));
  EXPECT_EQ(to_monitor(), Lines{}) << "there is none yet";
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Lines{"assign q 1 packets 30 spent 0"});
  assignments.execute(credit(0, 2));
  EXPECT_EQ(to_monitor(), Lines{"credit q 0 2"});
  assignments.on_monitor_exit("killed");
  assignments.execute(credit(45, 3));
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Lines{"assign q 1 packets 45 spent 30"});
}

TEST_F(AssignmentsTest, ARestartedMonitorGetsTheLatestRateLimit) {
  v1::AgentCommand assign = assignment("q", 1), limit;
  assign.mutable_assign()->mutable_plan()->mutable_sampling()->set_mode(v1::Sampling::AUTO);
  limit.set_term(1);
  limit.mutable_limit()->set_query("q");
  limit.mutable_limit()->set_rate(0.25);
  assignments.monitor_ready();
  assignments.execute(assign);
  EXPECT_EQ(to_monitor(), Lines{"assign q 1"});
  assignments.execute(limit);
  EXPECT_EQ(to_monitor(), Lines{"limit q 0.250000"});
  assignments.on_monitor_exit("killed");
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Lines{"assign q 1 limit 0.250000"});
}

TEST_F(AssignmentsTest, EachMonitorLearnsThatSwitchesCopyForItsQuery) {
  v1::AgentCommand mirrored;
  mirrored.set_term(1);
  mirrored.mutable_mirrored()->set_query("q");
  mirrored.mutable_mirrored()->set_epoch(2);
  running("q");
  assignments.execute(mirrored);
  EXPECT_EQ(to_monitor(), Lines{}) << "for another assignment";
  mirrored.mutable_mirrored()->set_epoch(1);
  assignments.execute(mirrored);
  EXPECT_EQ(to_monitor(), Lines{"mirrored q"});
  assignments.on_monitor_exit("killed");
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), (Lines{"assign q 1", "mirrored q"}));
}

TEST_F(AssignmentsTest, LostCopiesGoToTheMonitorAndReceivedOnesToTheControlPlane) {
  v1::AgentCommand lost_command;
  lost_command.set_term(1);
  lost_command.mutable_copies_lost()->set_incarnation(7);
  lost_command.mutable_copies_lost()->set_packets(120);
  assignments.execute(lost_command);
  EXPECT_EQ(to_monitor(), Lines{}) << "there is none";
  running("q");
  assignments.execute(lost_command);
  EXPECT_EQ(to_monitor(), Lines{"lost 120"});
  v1::MonitorStatus received_status;
  received_status.mutable_copies()->set_packets(80);
  assignments.on_monitor_event(received_status);
  EXPECT_EQ(reported(), Lines{"copies 80"});
}

TEST_F(AssignmentsTest, AControlPlaneOfThePreviousVersionSendsPlansAsJson) {
  assignments.monitor_ready();
  v1::AgentCommand assign = assignment("q", 1);
  assign.mutable_assign()->clear_plan();
  assign.mutable_assign()->set_plan_json(R"({"query":"q","epoch":1,"limit":{"packets":10,"leased":true}})");
  assignments.execute(assign);
  EXPECT_EQ(to_monitor(), Lines{"assign q 1 packets 10 spent 0"});
  // A control plane with protocol 0 receives events as lines of JSON.
  EXPECT_EQ(for_protocol(0, added("q")).json(), R"({"event":"query_added","query":"q"})");
  EXPECT_EQ(for_protocol(1, added("q")).query_added().query(), "q");
}

// Checks messages against bytes that a control plane of the previous version writes and reads.
TEST_F(AssignmentsTest, FieldsOfThePreviousVersionKeepTheirNumbers) {
  v1::AssignCommand command;
  ASSERT_TRUE(command.ParseFromString(std::string("\x0a\x02{}\x12\x01q\x18\x07", 9)));
  EXPECT_EQ(command.plan_json(), "{}");
  EXPECT_EQ(command.query(), "q");
  EXPECT_EQ(command.epoch(), 7u);
  v1::MonitorStatus status;
  status.set_json("{}");
  status.set_epoch(7);
  EXPECT_EQ(status.SerializeAsString(), std::string("\x0a\x02{}\x10\x07", 6));
}

TEST_F(AssignmentsTest, NewQueriesAreRejectedIfNoMonitorStarts) {
  assignments.execute(assignment("new", 1));
  assignments.execute(assignment("moved", 2));
  v1::MonitorStatus::Failure failure;
  failure.set_message("there is no interface 'eth9'");
  failure.set_kind("user");
  assignments.on_monitor_exit("exit code 1");
  assignments.monitor_failed(failure);
  EXPECT_EQ(reported(), (Lines{"monitor ended: exit code 1", "refused new: there is no interface 'eth9'"}));
  EXPECT_EQ(state_of("moved"), v1::Assignment::STARTING) << "its results so far are kept";
  EXPECT_EQ(assignments.list().size(), 1u);
}

TEST_F(AssignmentsTest, AQueryThatRanWaitsForAMonitorThatStarts) {
  running("q");
  assignments.on_monitor_exit("killed");
  assignments.monitor_failed({});
  EXPECT_EQ(state_of("q"), v1::Assignment::STARTING);
}

TEST_F(AssignmentsTest, AQueryThatEndsBeforeAMonitorStartsNeverRan) {
  assignments.execute(assignment("q", 1));
  assignments.execute(end("q"));
  EXPECT_EQ(reported(), Lines{"lost q"});
  EXPECT_FALSE(assignments.needs_monitor());
  assignments.execute(end("unknown"));
  EXPECT_EQ(reported(), Lines{"lost unknown"});
}

TEST_F(AssignmentsTest, AbandonedQueriesCountAsLostEvenIfTheyFinish) {
  running("q");
  running("r");
  v1::AgentCommand command = end("q");
  command.mutable_end()->set_abandon(true);
  assignments.execute(command);
  EXPECT_EQ(to_monitor(), Lines{"abandon q"});
  assignments.on_monitor_event(ended("q"));
  EXPECT_EQ(reported(), Lines{"lost q"});
  assignments.end_all(true);
  EXPECT_EQ(to_monitor(), Lines{"abandon r"});
  assignments.on_monitor_event(ended("r"));
  EXPECT_EQ(reported(), Lines{"lost r"});
}

TEST_F(AssignmentsTest, ARejectedQueryIsForgotten) {
  assignments.monitor_ready();
  assignments.execute(assignment("q", 1));
  assignments.on_monitor_event(refused("q", "no"));
  EXPECT_EQ(reported(), Lines{"refused q: no"});
  EXPECT_TRUE(assignments.list().empty());
}

TEST_F(AssignmentsTest, AnUnreadableOrUnsendablePlanIsRejected) {
  assignments.monitor_ready();
  v1::AgentCommand no_json = assignment("q", 1);
  no_json.mutable_assign()->clear_plan();
  no_json.mutable_assign()->set_plan_json("{\"query\":\"q\"}\n{\"end\":\"other\"}");
  v1::AgentCommand too_long = assignment("q", 1);
  too_long.mutable_assign()->mutable_plan()->set_text(std::string(200'000, 'x'));
  for (const v1::AgentCommand& command : {no_json, too_long}) {
    assignments.execute(command);
    EXPECT_EQ(to_monitor(), Lines{});
    ASSERT_EQ(assignments.outbox().control_plane.size(), 1u);
    EXPECT_TRUE(assignments.outbox().control_plane[0].has_query_refused());
    assignments.outbox() = {};
    EXPECT_TRUE(assignments.list().empty());
  }
}

TEST_F(AssignmentsTest, AnEndingMonitorGetsNoQueries) {
  running("q");
  assignments.monitor_stopping();
  assignments.execute(assignment("r", 1));
  EXPECT_EQ(to_monitor(), Lines{});
  assignments.on_monitor_exit("idle");
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor().size(), 2u);
}

TEST_F(AssignmentsTest, EndedQueriesAreBounded) {
  for (size_t i = 0; i < Assignments::kMaxEnded + 10; i++) {
    assignments.execute(assignment("q" + std::to_string(i), 1));
  }
  assignments.end_all();
  EXPECT_EQ(assignments.list().size(), Assignments::kMaxEnded);
  EXPECT_FALSE(assignments.needs_monitor());
}

// Regardless of the order of events, the monitor must never be given a query that it already has, nor be asked to end
// one that it does not have.
TEST_F(AssignmentsTest, NeverContradictsTheMonitor) {
  for (uint32_t seed = 0; seed < 300; seed++) {
    std::mt19937 random(seed);
    Assignments tried;
    std::set<std::string> retained;
    bool alive = false;
    v1::AgentCommand command;
    for (int step = 0; step < 200; step++) {
      const std::string query(1, static_cast<char>('a' + random() % 3));
      switch (random() % 8) {
        case 0:
        case 1:
          tried.execute(assignment(query, 1 + random() % 4));
          break;
        case 2:
          command = end(query);
          command.mutable_end()->set_abandon(random() % 2 == 0);
          tried.execute(command);
          break;
        case 3:
          if (!alive) tried.monitor_ready();
          alive = true;
          break;
        case 4:
          if (alive && random() % 4 == 0) {
            tried.on_monitor_exit("killed");
            retained.clear();
            alive = false;
          }
          break;
        case 5:
          if (retained.contains(query)) tried.on_monitor_event(added(query));
          break;
        case 6:
          if (retained.erase(query) == 1) tried.on_monitor_event(ended(query));
          break;
        default:
          tried.on_monitor_event(v1::MonitorStatus());
      }
      for (const v1::MonitorCommand& monitor_command : std::exchange(tried.outbox().monitor, {})) {
        ASSERT_TRUE(alive) << "seed " << seed;
        if (monitor_command.has_assign()) {
          ASSERT_TRUE(retained.insert(monitor_command.assign().plan().query()).second)
              << "seed " << seed << " " << words(monitor_command);
        } else {
          ASSERT_TRUE(monitor_command.has_end() && retained.contains(monitor_command.end().query()))
              << "seed " << seed << " " << words(monitor_command);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tapline
