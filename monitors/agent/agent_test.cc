// What an agent says when no control plane takes its host.
#include "monitors/agent/agent.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace tapline {
namespace {

constexpr char kNotTaken[] = "no control plane takes this host (127.0.0.1:1: ";

// Appends what comes until it holds "text", or nothing has come for so long.
void ReadUntil(int fd, const std::string& text, std::chrono::milliseconds at_most, std::string* all) {
  pollfd readable{fd, POLLIN, 0};
  char buffer[4096];
  while ((text.empty() || all->find(text) == std::string::npos) &&
         poll(&readable, 1, static_cast<int>(at_most.count())) > 0) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return;
    all->append(buffer, static_cast<size_t>(got));
  }
}

TEST(AgentTest, SaysOnceThatNoControlPlaneTakesItsHost) {
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  AgentConfig config;
  config.name = "h1";
  config.interface = "lo";
  // Nobody listens at either.
  config.control_plane = {"127.0.0.1:1", "127.0.0.1:2"};
  Reporter reporter(said[1], Reporter::Format::kText);
  std::atomic<bool> stop{false};
  Agent agent(config, {.credentials = grpc::InsecureChannelCredentials(), .authorization = ""}, {"http_get"}, &reporter,
              &stop);
  std::thread run([&] { EXPECT_TRUE(agent.Run().ok()); });
  std::string text;
  ReadUntil(said[0], kNotTaken, std::chrono::seconds(60), &text);
  // Some more attempts.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  stop = true;
  run.join();
  close(said[1]);
  ReadUntil(said[0], "", std::chrono::seconds(1), &text);
  close(said[0]);
  const size_t first = text.find(kNotTaken);
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("; 127.0.0.1:2: "), std::string::npos) << text;
  EXPECT_EQ(text.find("no control plane", first + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace tapline
