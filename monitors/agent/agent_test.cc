// What an agent says when no control plane takes its host.
#include "monitors/agent/agent.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace tapline {
namespace {

std::string ReadAll(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t got = 1; (got = read(fd, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<size_t>(got));
  return all;
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
  std::this_thread::sleep_for(std::chrono::seconds(13));
  stop = true;
  run.join();
  close(said[1]);
  const std::string text = ReadAll(said[0]);
  close(said[0]);
  const size_t first = text.find("no control plane takes this host (127.0.0.1:1: ");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("; 127.0.0.1:2: "), std::string::npos) << text;
  EXPECT_EQ(text.find("no control plane", first + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace tapline
