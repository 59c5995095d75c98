// Tests that switch routes reach the monitor and its successor, and that each version is confirmed.
#include <gtest/gtest.h>

#include <vector>

#include "monitors/agent/assignments.h"

namespace tapline {
namespace {

v1::AgentCommand routes(uint64_t version, bool more = false) {
  v1::AgentCommand command;
  command.mutable_routes()->set_version(version);
  command.mutable_routes()->set_more(more);
  v1::SwitchRoutes* at_switch = command.mutable_routes()->add_switches();
  at_switch->set_name("s1");
  at_switch->add_routes()->set_mac(1);
  return command;
}

v1::MonitorStatus answer(uint64_t version) {
  v1::MonitorStatus event;
  event.mutable_routes()->set_version(version);
  return event;
}

struct AssignmentsRoutesTest : testing::Test {
  // Returns the versions of the routes sent to the monitor since the last call.
  std::vector<uint64_t> to_monitor() {
    std::vector<uint64_t> versions;
    for (const v1::MonitorCommand& command : assignments.outbox().monitor) {
      if (command.has_routes()) versions.push_back(command.routes().version());
    }
    assignments.outbox().monitor.clear();
    return versions;
  }
  // Returns the versions confirmed to the control plane since the last call.
  std::vector<uint64_t> confirmed() {
    std::vector<uint64_t> versions;
    for (const v1::MonitorStatus& status : assignments.outbox().control_plane) {
      if (status.has_routes()) versions.push_back(status.routes().version());
    }
    assignments.outbox().control_plane.clear();
    return versions;
  }

  Assignments assignments;
};

using Versions = std::vector<uint64_t>;

TEST_F(AssignmentsRoutesTest, TheMonitorConfirms) {
  assignments.monitor_ready();
  assignments.execute(routes(1));
  EXPECT_EQ(to_monitor(), Versions{1});
  EXPECT_EQ(confirmed(), Versions{});
  assignments.on_monitor_event(answer(1));
  EXPECT_EQ(confirmed(), Versions{1});
}

TEST_F(AssignmentsRoutesTest, WithoutAMonitorTheAgentConfirms) {
  assignments.execute(routes(1));
  EXPECT_EQ(to_monitor(), Versions{});
  EXPECT_EQ(confirmed(), Versions{1});
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Versions{1});
}

TEST_F(AssignmentsRoutesTest, APartIsNotConfirmed) {
  assignments.execute(routes(1, true));
  EXPECT_EQ(confirmed(), Versions{});
  assignments.execute(routes(1));
  EXPECT_EQ(confirmed(), Versions{1});
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), (Versions{1, 1}));
}

// A monitor that is ending still uses its routes to parse packets.
TEST_F(AssignmentsRoutesTest, AMonitorThatEndsConfirmsByItsExit) {
  assignments.monitor_ready();
  assignments.monitor_stopping();
  assignments.execute(routes(1));
  EXPECT_EQ(to_monitor(), Versions{});
  EXPECT_EQ(confirmed(), Versions{});
  assignments.on_monitor_exit("it was stopped");
  EXPECT_EQ(confirmed(), Versions{1});
}

TEST_F(AssignmentsRoutesTest, AMonitorThatDiesConfirmsByItsExit) {
  assignments.monitor_ready();
  assignments.execute(routes(1));
  assignments.on_monitor_exit("it crashed");
  EXPECT_EQ(confirmed(), Versions{1});
  assignments.on_monitor_exit("it crashed");
  EXPECT_EQ(confirmed(), Versions{});
}

TEST_F(AssignmentsRoutesTest, AProcessThatTakesOverGetsThem) {
  assignments.monitor_ready();
  assignments.execute(routes(1));
  to_monitor();
  v1::MonitorStatus restarted;
  restarted.mutable_restarted()->set_restarts(1);
  assignments.on_monitor_event(restarted);
  EXPECT_EQ(to_monitor(), Versions{1});
}

TEST_F(AssignmentsRoutesTest, WithoutALeaseTheMonitorForgetsThem) {
  assignments.monitor_ready();
  assignments.execute(routes(1));
  to_monitor();
  assignments.forget_routes();
  EXPECT_EQ(to_monitor(), Versions{0});
  assignments.on_monitor_exit("it was stopped");
  assignments.monitor_ready();
  EXPECT_EQ(to_monitor(), Versions{});
}

}  // namespace
}  // namespace tapline
