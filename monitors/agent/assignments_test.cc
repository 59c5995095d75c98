#include "monitors/agent/assignments.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tapline {
namespace {

v1::AgentCommand Assign(const std::string& query, uint32_t epoch, uint64_t term = 1) {
  v1::AgentCommand command;
  command.set_term(term);
  command.mutable_assign()->set_query(query);
  command.mutable_assign()->set_epoch(epoch);
  command.mutable_assign()->mutable_plan()->set_query(query);
  command.mutable_assign()->mutable_plan()->set_epoch(epoch);
  return command;
}

v1::AgentCommand End(const std::string& query, uint64_t term = 1) {
  v1::AgentCommand command;
  command.set_term(term);
  command.mutable_end()->set_query(query);
  return command;
}

v1::MonitorStatus Added(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_added()->set_query(query);
  return event;
}
v1::MonitorStatus Ended(const std::string& query) {
  v1::MonitorStatus event;
  event.mutable_query_ended()->set_query(query);
  event.mutable_query_ended()->mutable_accounting()->set_packets_in(3);
  return event;
}
v1::MonitorStatus Refused(const std::string& query, const std::string& why) {
  v1::MonitorStatus event;
  event.mutable_query_refused()->set_query(query);
  event.mutable_query_refused()->set_message(why);
  event.mutable_query_refused()->set_kind("user");
  return event;
}

// As tests name commands: those for plans with the fields that matter here.
std::string Words(const v1::MonitorCommand& command) {
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

std::string Words(const v1::MonitorStatus& event) {
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

  Lines ToMonitor() {
    Lines lines;
    for (const v1::MonitorCommand& command : assignments.outbox().monitor) lines.push_back(Words(command));
    assignments.outbox().monitor.clear();
    return lines;
  }
  Lines Told() {
    Lines lines;
    for (const v1::MonitorStatus& status : assignments.outbox().control_plane) lines.push_back(Words(status));
    assignments.outbox().control_plane.clear();
    return lines;
  }
  // Makes a query run, with an empty outbox.
  void Running(const std::string& query, uint32_t epoch = 1) {
    assignments.MonitorReady();
    assignments.Obey(Assign(query, epoch));
    assignments.MonitorSaid(Added(query));
    assignments.outbox() = {};
  }
  v1::Assignment::State StateOf(const std::string& query) {
    for (const v1::Assignment& assignment : assignments.List()) {
      if (assignment.query() == query) return assignment.state();
    }
    ADD_FAILURE() << query << " is not there";
    return v1::Assignment::ENDED;
  }
};

TEST_F(AssignmentsTest, AQueryWaitsForTheMonitorAndGoesThroughItsLife) {
  EXPECT_TRUE(assignments.Obey(Assign("q", 1)));
  EXPECT_TRUE(assignments.needs_monitor());
  EXPECT_EQ(ToMonitor(), Lines{});
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{"assign q 1"});
  EXPECT_EQ(StateOf("q"), v1::Assignment::STARTING);
  assignments.MonitorSaid(Added("q"));
  EXPECT_EQ(StateOf("q"), v1::Assignment::RUNNING);
  assignments.Obey(End("q"));
  EXPECT_EQ(ToMonitor(), Lines{"end q"});
  EXPECT_EQ(StateOf("q"), v1::Assignment::ENDING);
  assignments.MonitorSaid(Ended("q"));
  EXPECT_EQ(Told(), (Lines{"added q", "ended q"}));
  EXPECT_FALSE(assignments.needs_monitor());
}

TEST_F(AssignmentsTest, AnEndIsRememberedUntilItWasHeard) {
  Running("q");
  assignments.MonitorSaid(Ended("q"));
  EXPECT_EQ(StateOf("q"), v1::Assignment::ENDED);
  Told();
  assignments.Obey(Assign("q", 1));
  EXPECT_EQ(Told(), Lines{"ended q"}) << "a control plane that did not hear of it wants it to run";
  EXPECT_EQ(ToMonitor(), Lines{});
  assignments.Obey(End("q"));
  EXPECT_TRUE(assignments.List().empty());
  EXPECT_EQ(Told(), Lines{});
}

TEST_F(AssignmentsTest, ALowerTermIsNotObeyed) {
  EXPECT_TRUE(assignments.Obey(Assign("q", 1, 7)));
  EXPECT_FALSE(assignments.Obey(End("q", 6)));
  EXPECT_FALSE(assignments.Obey(Assign("r", 1, 6)));
  EXPECT_EQ(assignments.List().size(), 1u);
  EXPECT_EQ(assignments.term(), 7u);
  EXPECT_TRUE(assignments.Obey(Assign("r", 1, 7)));
}

TEST_F(AssignmentsTest, AHigherEpochReplacesALowerOneOnceThatHasEnded) {
  Running("q", 1);
  assignments.Obey(Assign("q", 2));
  EXPECT_EQ(ToMonitor(), Lines{"abandon q"}) << "its stream goes on";
  assignments.Obey(Assign("q", 2));
  EXPECT_EQ(ToMonitor(), Lines{}) << "it is asked to end once";
  assignments.MonitorSaid(Ended("q"));
  EXPECT_EQ(ToMonitor(), Lines{"assign q 2"});
  EXPECT_EQ(assignments.outbox().control_plane.at(0).epoch(), 1u);
  EXPECT_EQ(assignments.List().at(0).epoch(), 2u);
}

TEST_F(AssignmentsTest, TheSameOrALowerEpochChangesNothing) {
  Running("q", 3);
  assignments.Obey(Assign("q", 2));
  assignments.Obey(Assign("q", 3));
  EXPECT_EQ(ToMonitor(), Lines{});
  EXPECT_EQ(Told(), (Lines{"added q", "added q"}));
  EXPECT_EQ(assignments.List().at(0).epoch(), 3u);
}

TEST_F(AssignmentsTest, AMonitorThatDiesGetsItsQueriesAgainAndLosesThoseThatWereEnding) {
  Running("a");
  Running("b");
  assignments.Obey(End("b"));
  ToMonitor();
  assignments.MonitorGone("killed");
  EXPECT_EQ(Told(), (Lines{"monitor ended: killed", "lost b"}));
  EXPECT_EQ(StateOf("a"), v1::Assignment::STARTING);
  EXPECT_TRUE(assignments.needs_monitor());
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{"assign a 1"});
}

v1::AgentCommand Credit(uint64_t packets, uint64_t version) {
  v1::AgentCommand command;
  command.set_term(1);
  command.mutable_credit()->set_query("q");
  command.mutable_credit()->set_packets(packets);
  command.mutable_credit()->set_version(version);
  return command;
}

TEST_F(AssignmentsTest, AMonitorGetsWhatWasGrantedAndNeverWhatAnEarlierOneMayHaveTaken) {
  v1::AgentCommand assign = Assign("q", 1);
  assign.mutable_assign()->mutable_plan()->mutable_limit()->set_packets(10);
  assign.mutable_assign()->mutable_plan()->mutable_limit()->set_leased(true);
  assignments.Obey(assign);
  assignments.Obey(Credit(30, 1));
  EXPECT_EQ(ToMonitor(), Lines{}) << "there is none yet";
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{"assign q 1 packets 30 spent 0"});
  assignments.Obey(Credit(0, 2));
  EXPECT_EQ(ToMonitor(), Lines{"credit q 0 2"});
  assignments.MonitorGone("killed");
  assignments.Obey(Credit(45, 3));
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{"assign q 1 packets 45 spent 30"});
}

TEST_F(AssignmentsTest, AMonitorThatIsStartedAnewKnowsWhatThePipelineTakesFromTheBeginning) {
  v1::AgentCommand assign = Assign("q", 1), limit;
  assign.mutable_assign()->mutable_plan()->mutable_sampling()->set_mode(v1::Sampling::AUTO);
  limit.set_term(1);
  limit.mutable_limit()->set_query("q");
  limit.mutable_limit()->set_rate(0.25);
  assignments.MonitorReady();
  assignments.Obey(assign);
  EXPECT_EQ(ToMonitor(), Lines{"assign q 1"});
  assignments.Obey(limit);
  EXPECT_EQ(ToMonitor(), Lines{"limit q 0.250000"});
  assignments.MonitorGone("killed");
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{"assign q 1 limit 0.250000"});
}

TEST_F(AssignmentsTest, EachMonitorHearsThatSwitchesCopyWhatItsQueryWants) {
  v1::AgentCommand mirrored;
  mirrored.set_term(1);
  mirrored.mutable_mirrored()->set_query("q");
  mirrored.mutable_mirrored()->set_epoch(2);
  Running("q");
  assignments.Obey(mirrored);
  EXPECT_EQ(ToMonitor(), Lines{}) << "another assignment is meant";
  mirrored.mutable_mirrored()->set_epoch(1);
  assignments.Obey(mirrored);
  EXPECT_EQ(ToMonitor(), Lines{"mirrored q"});
  assignments.MonitorGone("killed");
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), (Lines{"assign q 1", "mirrored q"}));
}

TEST_F(AssignmentsTest, WhatNeverCameIsForTheMonitorAndWhatDidIsForTheControlPlane) {
  v1::AgentCommand lost;
  lost.set_term(1);
  lost.mutable_copies_lost()->set_incarnation(7);
  lost.mutable_copies_lost()->set_packets(120);
  assignments.Obey(lost);
  EXPECT_EQ(ToMonitor(), Lines{}) << "there is none";
  Running("q");
  assignments.Obey(lost);
  EXPECT_EQ(ToMonitor(), Lines{"lost 120"});
  v1::MonitorStatus came;
  came.mutable_copies()->set_packets(80);
  assignments.MonitorSaid(came);
  EXPECT_EQ(Told(), Lines{"copies 80"});
}

TEST_F(AssignmentsTest, AControlPlaneOfTheVersionBeforeSendsPlansAsJson) {
  assignments.MonitorReady();
  v1::AgentCommand assign = Assign("q", 1);
  assign.mutable_assign()->clear_plan();
  assign.mutable_assign()->set_plan_json(R"({"query":"q","epoch":1,"limit":{"packets":10,"leased":true}})");
  assignments.Obey(assign);
  EXPECT_EQ(ToMonitor(), Lines{"assign q 1 packets 10 spent 0"});
  // In return it gets events as lines of JSON.
  EXPECT_EQ(ForProtocol(0, Added("q")).json(), R"({"event":"query_added","query":"q"})");
  EXPECT_EQ(ForProtocol(1, Added("q")).query_added().query(), "q");
}

// As the control plane of the version before made and read it.
TEST_F(AssignmentsTest, TheFieldsOfTheVersionBeforeKeepTheirPlacesOnTheWire) {
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

TEST_F(AssignmentsTest, QueriesThatNoMonitorHasRunAreRefusedIfNoneStarts) {
  assignments.Obey(Assign("new", 1));
  assignments.Obey(Assign("moved", 2));
  v1::MonitorStatus::Failure failure;
  failure.set_message("there is no interface 'eth9'");
  failure.set_kind("user");
  assignments.MonitorGone("exit code 1");
  assignments.MonitorFailed(failure);
  EXPECT_EQ(Told(), (Lines{"monitor ended: exit code 1", "refused new: there is no interface 'eth9'"}));
  EXPECT_EQ(StateOf("moved"), v1::Assignment::STARTING) << "its results so far are worth a wait";
  EXPECT_EQ(assignments.List().size(), 1u);
}

TEST_F(AssignmentsTest, AQueryThatRanWaitsForAMonitorThatStarts) {
  Running("q");
  assignments.MonitorGone("killed");
  assignments.MonitorFailed({});
  EXPECT_EQ(StateOf("q"), v1::Assignment::STARTING);
}

TEST_F(AssignmentsTest, WhatIsEndedBeforeAMonitorIsThereWasNeverThere) {
  assignments.Obey(Assign("q", 1));
  assignments.Obey(End("q"));
  EXPECT_EQ(Told(), Lines{"lost q"});
  EXPECT_FALSE(assignments.needs_monitor());
  assignments.Obey(End("unknown"));
  EXPECT_EQ(Told(), Lines{"lost unknown"});
}

TEST_F(AssignmentsTest, WhatIsAbandonedCountsAsLostHoweverWellItEnds) {
  Running("q");
  Running("r");
  v1::AgentCommand command = End("q");
  command.mutable_end()->set_abandon(true);
  assignments.Obey(command);
  EXPECT_EQ(ToMonitor(), Lines{"abandon q"});
  assignments.MonitorSaid(Ended("q"));
  EXPECT_EQ(Told(), Lines{"lost q"});
  assignments.EndAll(true);
  EXPECT_EQ(ToMonitor(), Lines{"abandon r"});
  assignments.MonitorSaid(Ended("r"));
  EXPECT_EQ(Told(), Lines{"lost r"});
}

TEST_F(AssignmentsTest, ARefusedQueryIsGone) {
  assignments.MonitorReady();
  assignments.Obey(Assign("q", 1));
  assignments.MonitorSaid(Refused("q", "no"));
  EXPECT_EQ(Told(), Lines{"refused q: no"});
  EXPECT_TRUE(assignments.List().empty());
}

TEST_F(AssignmentsTest, APlanThatCantBeReadOrSentIsRefused) {
  assignments.MonitorReady();
  v1::AgentCommand no_json = Assign("q", 1);
  no_json.mutable_assign()->clear_plan();
  no_json.mutable_assign()->set_plan_json("{\"query\":\"q\"}\n{\"end\":\"other\"}");
  v1::AgentCommand too_long = Assign("q", 1);
  too_long.mutable_assign()->mutable_plan()->set_text(std::string(200'000, 'x'));
  for (const v1::AgentCommand& command : {no_json, too_long}) {
    assignments.Obey(command);
    EXPECT_EQ(ToMonitor(), Lines{});
    ASSERT_EQ(assignments.outbox().control_plane.size(), 1u);
    EXPECT_TRUE(assignments.outbox().control_plane[0].has_query_refused());
    assignments.outbox() = {};
    EXPECT_TRUE(assignments.List().empty());
  }
}

TEST_F(AssignmentsTest, AMonitorThatEndsTakesNothingNew) {
  Running("q");
  assignments.MonitorStopping();
  assignments.Obey(Assign("r", 1));
  EXPECT_EQ(ToMonitor(), Lines{});
  assignments.MonitorGone("idle");
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor().size(), 2u);
}

TEST_F(AssignmentsTest, EndedOnesAreBounded) {
  for (size_t i = 0; i < Assignments::kMostEnded + 10; i++) {
    assignments.Obey(Assign("q" + std::to_string(i), 1));
  }
  assignments.EndAll();
  EXPECT_EQ(assignments.List().size(), Assignments::kMostEnded);
  EXPECT_FALSE(assignments.needs_monitor());
}

// Whatever the order of events, a monitor is never given a query that it has, nor asked to end one that it does not
// have.
TEST_F(AssignmentsTest, NeverContradictsTheMonitor) {
  for (uint32_t seed = 0; seed < 300; seed++) {
    std::mt19937 random(seed);
    Assignments tried;
    std::set<std::string> held;
    bool alive = false;
    v1::AgentCommand command;
    for (int step = 0; step < 200; step++) {
      const std::string query(1, static_cast<char>('a' + random() % 3));
      switch (random() % 8) {
        case 0:
        case 1:
          tried.Obey(Assign(query, 1 + random() % 4));
          break;
        case 2:
          command = End(query);
          command.mutable_end()->set_abandon(random() % 2 == 0);
          tried.Obey(command);
          break;
        case 3:
          if (!alive) tried.MonitorReady();
          alive = true;
          break;
        case 4:
          if (alive && random() % 4 == 0) {
            tried.MonitorGone("killed");
            held.clear();
            alive = false;
          }
          break;
        case 5:
          if (held.contains(query)) tried.MonitorSaid(Added(query));
          break;
        case 6:
          if (held.erase(query) == 1) tried.MonitorSaid(Ended(query));
          break;
        default:
          tried.MonitorSaid(v1::MonitorStatus());
      }
      for (const v1::MonitorCommand& each : std::exchange(tried.outbox().monitor, {})) {
        ASSERT_TRUE(alive) << "seed " << seed;
        if (each.has_assign()) {
          ASSERT_TRUE(held.insert(each.assign().plan().query()).second) << "seed " << seed << " " << Words(each);
        } else {
          ASSERT_TRUE(each.has_end() && held.contains(each.end().query())) << "seed " << seed << " " << Words(each);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tapline
