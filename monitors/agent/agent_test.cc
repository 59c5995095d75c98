// The agent's output while no control plane accepts its host.
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

// Appends output until it contains "text", or nothing has come for `at_most`.
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

// The agent's output on this interface until "text" and for that long after it, with control planes that don't listen.
std::string Says(const std::string& interface, const std::string& text, std::chrono::milliseconds after) {
  int said[2];
  EXPECT_EQ(pipe(said), 0);
  AgentConfig config;
  config.name = "h1";
  config.interface = interface;
  config.control_plane = {"127.0.0.1:1", "127.0.0.1:2"};
  Reporter reporter(said[1], Reporter::Format::kText);
  std::atomic<bool> stop{false};
  Agent agent(config, {.credentials = grpc::InsecureChannelCredentials(), .authorization = ""}, {"http_get"}, &reporter,
              &stop);
  std::thread run([&] { EXPECT_TRUE(agent.Run().ok()); });
  std::string all;
  ReadUntil(said[0], text, std::chrono::seconds(60), &all);
  std::this_thread::sleep_for(after);
  stop = true;
  run.join();
  close(said[1]);
  ReadUntil(said[0], "", std::chrono::seconds(1), &all);
  close(said[0]);
  return all;
}

TEST(AgentTest, SaysOnceThatNoControlPlaneTakesItsHost) {
  // Some more attempts follow it.
  const std::string said = Says("lo", kNotTaken, std::chrono::seconds(3));
  const size_t first = said.find(kNotTaken);
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_NE(said.find("; 127.0.0.1:2: "), std::string::npos) << said;
  EXPECT_EQ(said.find("no control plane", first + 1), std::string::npos) << said;
  EXPECT_EQ(said.find("interface"), std::string::npos) << said;
}

TEST(AgentTest, SaysThatItsInterfaceIsNotThere) {
  constexpr char kMissing[] = "there is no interface 'nosuch0' on this host";
  const std::string said = Says("nosuch0", kMissing, std::chrono::milliseconds(0));
  EXPECT_NE(said.find(kMissing), std::string::npos) << said;
}

}  // namespace
}  // namespace tapline
