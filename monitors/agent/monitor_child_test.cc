#include "monitors/agent/monitor_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "monitors/agent/agent_config.h"

namespace tapline {
namespace {

constexpr char kKey[] = "00112233445566778899aabbccddeeff";
constexpr char kLogin[] = "web-1:a-password";

// A stand-in for the monitor. Writes to a file in the same folder: its command line (as other users see it), its key
// file's contents twice, and its login. Then reports `ready` (a two-byte event).
constexpr char kTeller[] = R"(#!/bin/sh
exec 2>"$0.told"
tr '\0' ' ' </proc/$$/cmdline >&2
echo >&2
while [ "$1" != --hash-key-file ]; do shift; done
read -r first <"$2"
read -r second <"$2"
while [ "$1" != --broker-login-file ]; do shift; done
read -r login <"$2"
echo "$first $second $login" >&2
printf '\032\000' >&0
)";

class MonitorChildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    config_.monitor = folder_ + "/monitor";
    config_.interface = "eth0";
    install(kTeller);
  }
  void install(const std::string& script) {
    std::ofstream(config_.monitor) << script;
    std::filesystem::permissions(config_.monitor, std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<MonitorChild> start() {
    std::unique_ptr<MonitorChild> child;
    const Status started = MonitorChild::start(monitor_command(config_, "k:1", true),
                                               {std::string(kKey) + "\n", std::string(kLogin) + "\n"}, &child);
    EXPECT_TRUE(started.ok()) << started.message();
    return child;
  }

  // Returns all events until the monitor ends. Expects the cause `end`.
  static std::vector<v1::MonitorStatus> events_until(MonitorChild* child, const std::string& end) {
    std::vector<v1::MonitorStatus> events;
    pollfd status = {child->fd(), POLLIN, 0};
    while (poll(&status, 1, 30'000) == 1 && child->read(&events)) continue;
    EXPECT_EQ(child->reap(), end);
    return events;
  }

  // Runs the stand-in. Returns the lines that it wrote.
  std::vector<std::string> lines_of_log() {
    const auto events = events_until(start().get(), "the monitor ended with exit code 0");
    EXPECT_EQ(events.size(), 1u);
    EXPECT_TRUE(!events.empty() && events[0].has_ready());
    std::vector<std::string> lines;
    std::ifstream log(config_.monitor + ".told");
    for (std::string line; std::getline(log, line);) lines.push_back(line);
    return lines;
  }

  static std::string secrets() { return std::string(kKey) + " " + kKey + " " + kLogin; }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("tapline-test-" + std::to_string(getpid()));
  AgentConfig config_;
};

TEST_F(MonitorChildTest, SecretsAreInFilesAndNotOnTheCommandLine) {
  const std::vector<std::string> lines = lines_of_log();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("--hash-key-file /proc/self/fd/3"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find(kKey), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("--broker-login-file /proc/self/fd/4"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find(kLogin), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1], secrets());
}

// The agent's lowest free descriptor can be any number, for example after it has lost a lease or with many open files.
TEST_F(MonitorChildTest, WorksWithAnyFreeDescriptors) {
  std::vector<int> descriptors;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(lines_of_log().back(), secrets()) << descriptors.size() << " more descriptors";
    descriptors.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  for (const int descriptor : descriptors) close(descriptor);
}

TEST_F(MonitorChildTest, AKilledMonitorIsReaped) {
  install("#!/bin/sh\nkill -9 $$\n");
  EXPECT_TRUE(events_until(start().get(), "the monitor was killed by signal 9").empty());
}

TEST_F(MonitorChildTest, AMonitorIsReplacedIfItsEventsAreUnreadableOrLost) {
  install("#!/bin/sh\nprintf '\\377\\377' >&0\nexec sleep 60\n");
  events_until(start().get(), "the monitor sent an invalid event");
  // events_lost {events: 3}
  install("#!/bin/sh\nprintf '\\172\\002\\010\\003' >&0\nexec sleep 60\n");
  events_until(start().get(), "events of the monitor were lost");
}

TEST_F(MonitorChildTest, ReplacesAMonitorThatDoesNotReadItsCommands) {
  install("#!/bin/sh\nexec sleep 60\n");
  const std::unique_ptr<MonitorChild> child = start();
  v1::MonitorCommand command;
  command.mutable_end()->set_query(std::string(10'000, 'q'));
  for (int i = 0; i < 1000; i++) child->send(command);
  events_until(child.get(), "the monitor stopped reading its commands");
}

TEST_F(MonitorChildTest, TheMonitorReadsEndOfFileWhenItsAgentEnds) {
  const std::string ended = folder_ + "/ended";
  // dd returns at the end of its input.
  install("#!/bin/sh\nprintf '\\032\\000' >&0\ndd bs=1000 count=1 of=/dev/null 2>/dev/null\ntouch " + ended + "\n");
  if (const pid_t agent = fork(); agent == 0) {
    const std::unique_ptr<MonitorChild> child = start();
    pollfd status = {child->fd(), POLLIN, 0};
    poll(&status, 1, 30'000);
    // The agent's destructor does not run, as if the agent had been killed.
    _exit(0);
  } else {
    ASSERT_GT(agent, 0);
    waitpid(agent, nullptr, 0);
  }
  for (int i = 0; i < 3000 && !std::filesystem::exists(ended); i++) usleep(10'000);
  EXPECT_TRUE(std::filesystem::exists(ended));
}

}  // namespace
}  // namespace tapline
