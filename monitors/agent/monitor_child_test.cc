#include "monitors/agent/monitor_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "monitors/agent/agent_config.h"

namespace tapline {
namespace {

constexpr char kKey[] = "00112233445566778899aabbccddeeff";
constexpr char kLogin[] = "web-1:a-password";

// Stands in for the monitor: prints its command line as others see it, then twice the contents of its key file.
constexpr char kTeller[] = R"(#!/bin/sh
tr '\0' ' ' </proc/$$/cmdline >&2
echo >&2
while [ "$1" != --hash-key-file ]; do shift; done
read -r first <"$2"
read -r second <"$2"
while [ "$1" != --broker-login-file ]; do shift; done
read -r login <"$2"
echo "$first $second $login" >&2
)";

class MonitorChildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    config_.monitor = folder_ + "/monitor";
    config_.interface = "eth0";
    std::ofstream(config_.monitor) << kTeller;
    std::filesystem::permissions(config_.monitor, std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // All lines until its end.
  std::vector<std::string> Lines() {
    std::unique_ptr<MonitorChild> child;
    std::vector<std::string> lines;
    const Status started = MonitorChild::Start(MonitorCommand(config_, "k:1", true),
                                               {std::string(kKey) + "\n", std::string(kLogin) + "\n"}, &child);
    EXPECT_TRUE(started.ok()) << started.message();
    if (!started.ok()) return lines;
    pollfd status = {child->status_fd(), POLLIN, 0};
    while (poll(&status, 1, 30'000) == 1 && child->Read(&lines)) continue;
    EXPECT_EQ(child->Reap(), "the monitor ended with exit code 0");
    return lines;
  }

  static std::string Secrets() { return std::string(kKey) + " " + kKey + " " + kLogin; }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("tapline-test-" + std::to_string(getpid()));
  AgentConfig config_;
};

TEST_F(MonitorChildTest, SecretsAreInFilesAndNotOnTheCommandLine) {
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("--hash-key-file /proc/self/fd/3"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find(kKey), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("--broker-login-file /proc/self/fd/4"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find(kLogin), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1], Secrets());
}

// The descriptors of an agent that has just lost a lease, or has plenty of them.
TEST_F(MonitorChildTest, WhicheverDescriptorsAreFree) {
  std::vector<int> held;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Lines().back(), Secrets()) << held.size() << " more descriptors";
    held.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  for (const int descriptor : held) close(descriptor);
}

}  // namespace
}  // namespace tapline
