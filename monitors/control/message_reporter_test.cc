#include "monitors/control/message_reporter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace tapline {
namespace {

using Received = MessageSocket::Received;

struct MessageReporterTest : testing::Test {
  void SetUp() override { ASSERT_TRUE(MessageSocket::make_pair(&ends[0], &ends[1]).ok()); }
  void TearDown() override {
    for (const int end : ends) close(end);
  }
  int ends[2] = {-1, -1};
};

TEST_F(MessageReporterTest, EventsAreMessages) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  MessageSocket agent(ends[1]);
  reporter.ready();
  reporter.progress(3, 4, std::nullopt);
  reporter.query_refused("q", Status::resources("no \xff room"));
  v1::MonitorStatus got;
  ASSERT_EQ(agent.receive(&got), Received::kMessage);
  EXPECT_TRUE(got.has_ready());
  ASSERT_EQ(agent.receive(&got), Received::kMessage);
  EXPECT_EQ(got.progress().packets(), 3u);
  EXPECT_FALSE(got.progress().has_fraction());
  ASSERT_EQ(agent.receive(&got), Received::kMessage) << "bytes that are not UTF-8 would make it unreadable";
  EXPECT_EQ(got.query_refused().message(), "no \xEF\xBF\xBD room");
  EXPECT_EQ(got.query_refused().kind(), "resources");
}

TEST_F(MessageReporterTest, ASlowAgentLearnsTheNumberOfLostEvents) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  MessageSocket agent(ends[1]);
  const uint64_t reported = 2000;
  const std::string padding(10'000, 'x');
  for (uint64_t i = 0; i < reported; i++) {
    reporter.warning(padding);
    reporter.progress(i, 0, std::nullopt);
  }
  uint64_t read = 0, lost = 0;
  v1::MonitorStatus got;
  // Each report also sends queued messages.
  for (int turn = 0; turn < 2000 && lost == 0; turn++) {
    while (agent.receive(&got) == Received::kMessage) {
      read += got.has_warning();
      lost += got.events_lost().events();
    }
    reporter.progress(reported, 0, std::nullopt);
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(read + lost, reported) << "progress is superseded by the next report, so it is neither queued nor lost";
  reporter.query_added("q");
  bool was_added = false;
  while (agent.receive(&got) == Received::kMessage) was_added |= got.has_query_added();
  EXPECT_TRUE(was_added) << "no message arrived after the agent had resumed reading";
}

TEST_F(MessageReporterTest, ADisconnectedAgentIsHarmless) {
  MessageReporter reporter(ends[0], Reporter::Format::kText);
  close(std::exchange(ends[1], -1));
  for (int i = 0; i < 1000; i++) reporter.warning(std::string(10'000, 'x'));
}

}  // namespace
}  // namespace tapline
