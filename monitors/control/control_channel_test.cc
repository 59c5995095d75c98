// Tests valid and invalid commands, as messages and as lines, and a controller that disconnects.
#include "monitors/control/control_channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tapline {
namespace {

using Received = MessageSocket::Received;

// Records the commands, and refuses those for the query "none".
class Notes final : public QueryControl {
 public:
  Status add_query(const v1::Plan& plan) override { return note("add", plan.query()); }
  Status end_query(const std::string& name) override { return note("end", name); }
  Status abandon_query(const std::string& name) override { return note("abandon", name); }
  void abandon_all() override { static_cast<void>(note("abandon all", "")); }
  Status limit_query(const std::string& name, double rate) override {
    return note("limit " + std::to_string(rate), name);
  }
  Status credit_query(const std::string& name, uint64_t packets, uint64_t version) override {
    return note("credit " + std::to_string(packets) + " " + std::to_string(version), name);
  }
  Status confirm_copies(const std::string& name) override { return note("mirrored", name); }
  Status lose_copies(uint64_t incarnation, uint64_t packets) override {
    return note("lost " + std::to_string(incarnation) + " " + std::to_string(packets), "");
  }
  void change_triggers(const v1::TriggersCommand& command) override {
    static_cast<void>(note("triggers " + std::to_string(command.version()), command.query()));
  }
  void change_routes(const v1::RoutesCommand& command) override {
    static_cast<void>(note("routes " + std::to_string(command.version()) + " of " + command.switches(0).name(), ""));
  }
  bool look() override { return false; }
  bool forward_events() override {
    const int waiting = waiting_.exchange(0);
    forwarded += waiting;
    return waiting > 0;
  }

  // Adds an event that waits to be forwarded.
  void add_event() { ++waiting_; }
  std::atomic<int> forwarded{0};

  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  Status note(const std::string& what, const std::string& query) {
    const std::lock_guard lock(mutex_);
    all_.push_back(what + (query.empty() ? "" : " " + query));
    return query == "none" ? Status::invalid("no query 'none' is running") : Status();
  }

  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::vector<std::string> all_;
};

const std::vector<std::string> kAll = {"add q",        "limit 0.250000 q", "credit 500 7 q", "mirrored q", "lost 9 42",
                                       "triggers 3 q", "routes 5 of s1",   "abandon q",      "end none"};

std::vector<v1::MonitorCommand> commands() {
  std::vector<v1::MonitorCommand> commands(9);
  commands[0].mutable_assign()->mutable_plan()->set_query("q");
  commands[1].mutable_limit()->set_query("q");
  commands[1].mutable_limit()->set_rate(0.25);
  commands[2].mutable_credit()->set_query("q");
  commands[2].mutable_credit()->set_packets(500);
  commands[2].mutable_credit()->set_version(7);
  commands[3].mutable_mirrored()->set_query("q");
  commands[4].mutable_copies_lost()->set_incarnation(9);
  commands[4].mutable_copies_lost()->set_packets(42);
  commands[5].mutable_triggers()->set_query("q");
  commands[5].mutable_triggers()->set_version(3);
  commands[6].mutable_routes()->set_version(5);
  commands[6].mutable_routes()->add_switches()->set_name("s1");
  commands[7].mutable_end()->set_query("q");
  commands[7].mutable_end()->set_abandon(true);
  commands[8].mutable_end()->set_query("none");
  return commands;
}

struct ControlChannelTest : testing::Test {
  void SetUp() override { ASSERT_TRUE(MessageSocket::make_pair(&ends[0], &ends[1]).ok()); }
  void TearDown() override {
    for (const int end : ends) close(end);
  }

  // Waits for the monitor's next event.
  v1::MonitorStatus await(MessageSocket* agent) {
    v1::MonitorStatus event;
    pollfd readable = {agent->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, 30'000), 1);
    EXPECT_EQ(agent->receive(&event), Received::kMessage);
    return event;
  }

  void await_stop() {
    for (int i = 0; i < 3000 && !stop; i++) usleep(10'000);
    EXPECT_TRUE(stop);
  }

  int ends[2] = {-1, -1};
  Notes notes;
  EventBell bell;
  std::atomic<bool> stop{false};
};

TEST_F(ControlChannelTest, CommandsAreExecutedAndReported) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  const ControlChannel channel(ends[0], &bell, &notes, &reporter, &stop);
  MessageSocket agent(ends[1]);
  for (const v1::MonitorCommand& command : commands()) ASSERT_TRUE(agent.send(command));
  EXPECT_EQ(await(&agent).query_added().query(), "q");
  const v1::MonitorStatus refused_status = await(&agent);
  EXPECT_EQ(refused_status.query_refused().query(), "none");
  EXPECT_EQ(refused_status.query_refused().kind(), "user");
  EXPECT_EQ(notes.all(), kAll);
}

TEST_F(ControlChannelTest, AnUnreadableMessageIsRejectedAndTheNextOneIsExecuted) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  const ControlChannel channel(ends[0], &bell, &notes, &reporter, &stop);
  MessageSocket agent(ends[1]);
  const std::string malformed = "\xff\xff", oversized(MessageSocket::kMaxMessageBytes + 1, 'x');
  // a command from a later version
  const std::string unknown = "\xfa\x3f\x01x";
  for (const std::string& raw : {malformed, oversized, unknown}) {
    ASSERT_EQ(send(ends[1], raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
    const v1::MonitorStatus refused_status = await(&agent);
    EXPECT_EQ(refused_status.query_refused().query(), "");
    EXPECT_NE(refused_status.query_refused().message(), "");
  }
  ASSERT_TRUE(agent.send(commands()[0]));
  EXPECT_EQ(await(&agent).query_added().query(), "q");
  EXPECT_FALSE(stop);
}

TEST_F(ControlChannelTest, EventsAreForwardedBetweenCommands) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  const ControlChannel channel(ends[0], &bell, &notes, &reporter, &stop);
  MessageSocket agent(ends[1]);
  std::thread lane([this] {
    for (int i = 0; i < 10'000; ++i) {
      notes.add_event();
      bell.ring();
    }
  });
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(agent.send(commands()[0]));
    EXPECT_EQ(await(&agent).query_added().query(), "q");
  }
  lane.join();
  for (int i = 0; i < 3000 && notes.forwarded < 10'000; i++) usleep(10'000);
  EXPECT_EQ(notes.forwarded, 10'000);
}

TEST_F(ControlChannelTest, WithoutItsAgentTheMonitorAbandonsAllQueriesAndEnds) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  const ControlChannel channel(ends[0], &bell, &notes, &reporter, &stop);
  close(std::exchange(ends[1], -1));
  await_stop();
  EXPECT_EQ(notes.all(), std::vector<std::string>{"abandon all"});
}

struct LinesTest : ControlChannelTest {
  void SetUp() override { ASSERT_EQ(pipe(ends), 0); }
  void write(const std::string& text) {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
};

TEST_F(LinesTest, LinesOfJsonAreEquivalentCommands) {
  MessageReporter reporter(-1, Reporter::Format::kJson);
  const ControlChannel channel(ends[0], &bell, &notes, &reporter, &stop);
  write(R"({"assign":{"plan":{"query":"q"}}}
{"limit":{"query":"q","rate":0.25}}
{"credit":{"query":"q","packets":500,"version":7}}
{"mirrored":{"query":"q"}}
{"copies_lost":{"incarnation":9,"pack)");
  write(R"(ets":42}}
{"triggers":{"query":"q","version":3}}
{"routes":{"version":5,"switches":[{"name":"s1","routes":[{"mac":1,"ports":[2]}]}]}}
{"end":{"query":"q","abandon":true}}
no JSON
{"do":"something"}
{}
{"end":{"query":"none"}}
)");
  close(std::exchange(ends[1], -1));
  await_stop();
  std::vector<std::string> expected = kAll;
  expected.push_back("abandon all");
  EXPECT_EQ(notes.all(), expected);
}

TEST_F(LinesTest, AnUnterminatedLineEndsTheInput) {
  MessageReporter reporter(-1, Reporter::Format::kJson);
  const ControlChannel channel(ends[0], &bell, &notes, &reporter, &stop);
  const std::string piece(10'000, 'x');
  for (size_t written = 0; written <= CommandReader::kMaxLineBytes; written += piece.size()) write(piece);
  await_stop();
}

}  // namespace
}  // namespace tapline
