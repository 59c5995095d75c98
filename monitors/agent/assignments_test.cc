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
  command.mutable_assign()->set_plan("{\"query\": \"" + query + "\", \"epoch\": " + std::to_string(epoch) + "}");
  return command;
}

v1::AgentCommand End(const std::string& query, uint64_t term = 1) {
  v1::AgentCommand command;
  command.set_term(term);
  command.mutable_end()->set_query(query);
  return command;
}

std::string Added(const std::string& query) { return "{\"event\":\"query_added\",\"query\":\"" + query + "\"}"; }
std::string EndedLine(const std::string& query) {
  return "{\"accounting\":{},\"event\":\"query_ended\",\"query\":\"" + query + "\"}";
}
std::string Lost(const std::string& query) {
  return "{\"event\":\"query_ended\",\"lost\":true,\"query\":\"" + query + "\"}";
}

using Lines = std::vector<std::string>;

struct AssignmentsTest : testing::Test {
  Assignments assignments;

  Lines ToMonitor() { return std::exchange(assignments.outbox().monitor, {}); }
  Lines Told() {
    Lines lines;
    for (const v1::MonitorStatus& status : assignments.outbox().control_plane) lines.push_back(status.json());
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
  EXPECT_EQ(ToMonitor(), Lines{"{\"add\":{\"epoch\":1,\"query\":\"q\"}}"});
  EXPECT_EQ(StateOf("q"), v1::Assignment::STARTING);
  assignments.MonitorSaid(Added("q"));
  EXPECT_EQ(StateOf("q"), v1::Assignment::RUNNING);
  assignments.Obey(End("q"));
  EXPECT_EQ(ToMonitor(), Lines{"{\"end\":\"q\"}"});
  EXPECT_EQ(StateOf("q"), v1::Assignment::ENDING);
  assignments.MonitorSaid(EndedLine("q"));
  EXPECT_EQ(Told(), (Lines{Added("q"), EndedLine("q")}));
  EXPECT_FALSE(assignments.needs_monitor());
}

TEST_F(AssignmentsTest, AnEndIsRememberedUntilItWasHeard) {
  Running("q");
  assignments.MonitorSaid(EndedLine("q"));
  EXPECT_EQ(StateOf("q"), v1::Assignment::ENDED);
  Told();
  assignments.Obey(Assign("q", 1));
  EXPECT_EQ(Told(), Lines{EndedLine("q")}) << "a control plane that did not hear of it wants it to run";
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
  EXPECT_EQ(ToMonitor(), Lines{"{\"abandon\":\"q\"}"}) << "its stream goes on";
  assignments.Obey(Assign("q", 2));
  EXPECT_EQ(ToMonitor(), Lines{}) << "it is asked to end once";
  assignments.MonitorSaid(EndedLine("q"));
  EXPECT_EQ(ToMonitor(), Lines{"{\"add\":{\"epoch\":2,\"query\":\"q\"}}"});
  EXPECT_EQ(assignments.outbox().control_plane.at(0).epoch(), 1u);
  EXPECT_EQ(assignments.List().at(0).epoch(), 2u);
}

TEST_F(AssignmentsTest, TheSameOrALowerEpochChangesNothing) {
  Running("q", 3);
  assignments.Obey(Assign("q", 2));
  assignments.Obey(Assign("q", 3));
  EXPECT_EQ(ToMonitor(), Lines{});
  EXPECT_EQ(Told(), (Lines{Added("q"), Added("q")}));
  EXPECT_EQ(assignments.List().at(0).epoch(), 3u);
}

TEST_F(AssignmentsTest, AMonitorThatDiesGetsItsQueriesAgainAndLosesThoseThatWereEnding) {
  Running("a");
  Running("b");
  assignments.Obey(End("b"));
  ToMonitor();
  assignments.MonitorGone("killed");
  EXPECT_EQ(Told(), (Lines{"{\"event\":\"monitor_ended\",\"message\":\"killed\"}", Lost("b")}));
  EXPECT_EQ(StateOf("a"), v1::Assignment::STARTING);
  EXPECT_TRUE(assignments.needs_monitor());
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{"{\"add\":{\"epoch\":1,\"query\":\"a\"}}"});
}

v1::AgentCommand Credit(uint64_t packets, uint64_t version) {
  v1::AgentCommand command;
  command.set_term(1);
  command.mutable_credit()->set_query("q");
  command.mutable_credit()->set_packets(packets);
  command.mutable_credit()->set_version(version);
  return command;
}

std::string AddedWith(const std::string& limit) {
  return R"({"add":{"epoch":1,"limit":{"leased":true,)" + limit + R"(},"query":"q"}})";
}

TEST_F(AssignmentsTest, AMonitorGetsWhatWasGrantedAndNeverWhatAnEarlierOneMayHaveTaken) {
  v1::AgentCommand assign = Assign("q", 1);
  assign.mutable_assign()->set_plan(R"({"query": "q", "epoch": 1, "limit": {"packets": 10, "leased": true}})");
  assignments.Obey(assign);
  assignments.Obey(Credit(30, 1));
  EXPECT_EQ(ToMonitor(), Lines{}) << "there is none yet";
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{AddedWith(R"("packets":30,"spent":0)")});
  assignments.Obey(Credit(0, 2));
  EXPECT_EQ(ToMonitor(), Lines{R"({"credits":{"packets":0,"query":"q","version":2}})"});
  assignments.MonitorGone("killed");
  assignments.Obey(Credit(45, 3));
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{AddedWith(R"("packets":45,"spent":30)")});
}

TEST_F(AssignmentsTest, AMonitorThatIsStartedAnewKnowsWhatThePipelineTakesFromTheBeginning) {
  v1::AgentCommand assign = Assign("q", 1), limit;
  assign.mutable_assign()->set_plan(R"({"query": "q", "epoch": 1, "sampling": {"mode": "AUTO"}})");
  limit.set_term(1);
  limit.mutable_limit()->set_query("q");
  limit.mutable_limit()->set_rate(0.25);
  assignments.MonitorReady();
  assignments.Obey(assign);
  EXPECT_EQ(ToMonitor(), Lines{R"({"add":{"epoch":1,"query":"q","sampling":{"mode":"AUTO"}}})"});
  assignments.Obey(limit);
  EXPECT_EQ(ToMonitor(), Lines{R"({"limit":{"query":"q","rate":0.25}})"});
  assignments.MonitorGone("killed");
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), Lines{R"({"add":{"epoch":1,"query":"q","sampling":{"limit":0.25,"mode":"AUTO"}}})"});
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
  EXPECT_EQ(ToMonitor(), Lines{R"({"mirrored":"q"})"});
  assignments.MonitorGone("killed");
  assignments.MonitorReady();
  EXPECT_EQ(ToMonitor(), (Lines{R"({"add":{"epoch":1,"query":"q"}})", R"({"mirrored":"q"})"}));
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
  EXPECT_EQ(ToMonitor(), Lines{R"({"lost":{"incarnation":7,"packets":120}})"});
  const std::string came = R"({"event":"copies","incarnation":7,"packets":80,"until_ns":9})";
  assignments.MonitorSaid(came);
  EXPECT_EQ(Told(), Lines{came});
}

TEST_F(AssignmentsTest, PlansOfAnyShapeAreLeftToTheMonitor) {
  assignments.MonitorReady();
  for (const std::string plan : {"[]", "7", R"({"limit":7})", R"({"limit":{"leased":[]}})"}) {
    v1::AgentCommand assign = Assign("q" + plan, 1);
    assign.mutable_assign()->set_plan(plan);
    assignments.Obey(assign);
    EXPECT_EQ(ToMonitor(), Lines{"{\"add\":" + plan + "}"});
  }
}

TEST_F(AssignmentsTest, WhatIsEndedBeforeAMonitorIsThereWasNeverThere) {
  assignments.Obey(Assign("q", 1));
  assignments.Obey(End("q"));
  EXPECT_EQ(Told(), Lines{Lost("q")});
  EXPECT_FALSE(assignments.needs_monitor());
  assignments.Obey(End("unknown"));
  EXPECT_EQ(Told(), Lines{Lost("unknown")});
}

TEST_F(AssignmentsTest, WhatIsAbandonedCountsAsLostHoweverWellItEnds) {
  Running("q");
  Running("r");
  v1::AgentCommand command = End("q");
  command.mutable_end()->set_abandon(true);
  assignments.Obey(command);
  EXPECT_EQ(ToMonitor(), Lines{"{\"abandon\":\"q\"}"});
  assignments.MonitorSaid(EndedLine("q"));
  EXPECT_EQ(Told(), Lines{Lost("q")});
  assignments.EndAll(true);
  EXPECT_EQ(ToMonitor(), Lines{"{\"abandon\":\"r\"}"});
  assignments.MonitorSaid(EndedLine("r"));
  EXPECT_EQ(Told(), Lines{Lost("r")});
}

TEST_F(AssignmentsTest, ARefusedQueryIsGone) {
  assignments.MonitorReady();
  assignments.Obey(Assign("q", 1));
  const std::string refused = R"({"event":"query_refused","kind":"user","message":"no","query":"q"})";
  assignments.MonitorSaid(refused);
  EXPECT_EQ(Told(), Lines{refused});
  EXPECT_TRUE(assignments.List().empty());
}

TEST_F(AssignmentsTest, APlanThatIsNoJsonIsRefusedAndNotSentOn) {
  assignments.MonitorReady();
  v1::AgentCommand command = Assign("q", 1);
  command.mutable_assign()->set_plan("{\"query\":\"q\"}\n{\"end\":\"other\"}");
  assignments.Obey(command);
  EXPECT_EQ(ToMonitor(), Lines{});
  ASSERT_EQ(Told().size(), 1u);
  EXPECT_TRUE(assignments.List().empty());
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
          if (held.erase(query) == 1) tried.MonitorSaid(EndedLine(query));
          break;
        default:
          tried.MonitorSaid("not JSON");
      }
      for (const std::string& line : std::exchange(tried.outbox().monitor, {})) {
        ASSERT_TRUE(alive) << "seed " << seed;
        const size_t at = line.find("\"query\":\"");
        const std::string name = line.substr(at == std::string::npos ? line.size() - 3 : at + 9, 1);
        if (line.starts_with("{\"add\"")) {
          ASSERT_TRUE(held.insert(name).second) << "seed " << seed << " step " << step << " " << line;
        } else {
          ASSERT_TRUE(held.contains(name)) << "seed " << seed << " step " << step << " " << line;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tapline
