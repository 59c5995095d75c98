#include "monitors/messages/message_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "schema/monitor.pb.h"

namespace tapline {
namespace {

using Received = MessageSocket::Received;

v1::MonitorStatus warning(const std::string& text) {
  v1::MonitorStatus status;
  status.mutable_warning()->set_message(text);
  return status;
}

struct MessageSocketTest : testing::Test {
  void SetUp() override { ASSERT_TRUE(MessageSocket::make_pair(&ends[0], &ends[1]).ok()); }
  void TearDown() override {
    for (const int end : ends) close(end);
  }
  int ends[2] = {-1, -1};
};

TEST_F(MessageSocketTest, APacketIsAMessage) {
  MessageSocket one(ends[0]), other(ends[1]);
  EXPECT_TRUE(MessageSocket::is(ends[0]));
  v1::MonitorStatus got;
  EXPECT_EQ(other.receive(&got), Received::kNothing);
  EXPECT_TRUE(one.send(warning("a")));
  EXPECT_TRUE(one.send(warning("b")));
  EXPECT_EQ(other.receive(&got), Received::kMessage);
  EXPECT_EQ(got.warning().message(), "a");
  EXPECT_EQ(other.receive(&got), Received::kMessage);
  EXPECT_EQ(got.warning().message(), "b");
  close(std::exchange(ends[0], -1));
  EXPECT_EQ(other.receive(&got), Received::kClosed);
  EXPECT_TRUE(other.send(warning("c"))) << "nothing happens to the sender";
  EXPECT_FALSE(other.has_unsent());
}

TEST_F(MessageSocketTest, APipeIsRejected) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_FALSE(MessageSocket::is(pipe_ends[0]));
  for (const int end : pipe_ends) close(end);
}

TEST_F(MessageSocketTest, TheLongestMessageFitsAndALongerOneIsRejectedByBothSides) {
  MessageSocket one(ends[0]), other(ends[1]);
  v1::MonitorStatus longest = warning(std::string(MessageSocket::kMaxMessageBytes - 16, 'x')), got;
  while (longest.ByteSizeLong() < MessageSocket::kMaxMessageBytes) *longest.mutable_warning()->mutable_message() += 'x';
  EXPECT_TRUE(one.send(longest));
  EXPECT_FALSE(one.has_unsent());
  EXPECT_EQ(other.receive(&got), Received::kMessage);
  *longest.mutable_warning()->mutable_message() += 'x';
  EXPECT_FALSE(one.send(longest));
  const std::string raw(MessageSocket::kMaxMessageBytes + 1, 'x');
  ASSERT_EQ(send(ends[0], raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
  EXPECT_EQ(other.receive(&got), Received::kTooLong);
  EXPECT_TRUE(one.send(warning("after it")));
  EXPECT_EQ(other.receive(&got), Received::kMessage) << "the next packet is not affected";
}

TEST_F(MessageSocketTest, AnInvalidPacketIsSkipped) {
  MessageSocket one(ends[0]), other(ends[1]);
  const std::string raw = "\xff\xff\xff";
  ASSERT_EQ(send(ends[0], raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
  EXPECT_TRUE(one.send(warning("after it")));
  v1::MonitorStatus got;
  EXPECT_EQ(other.receive(&got), Received::kMalformed);
  EXPECT_EQ(other.receive(&got), Received::kMessage);
}

TEST_F(MessageSocketTest, UnreadMessagesWaitInABoundedQueueAndKeepTheirOrder) {
  MessageSocket one(ends[0]), other(ends[1]);
  const std::string padding(10'000, 'x');
  size_t sent = 0;
  while (one.send(warning(std::to_string(sent) + padding))) sent++;
  EXPECT_TRUE(one.has_unsent());
  EXPECT_LT(sent * padding.size(), 2 * MessageSocket::kMaxUnsentBytes);
  v1::MonitorStatus got;
  for (size_t i = 0; i < sent; i++) {
    one.flush();
    ASSERT_EQ(other.receive(&got), Received::kMessage) << i;
    ASSERT_TRUE(got.warning().message().starts_with(std::to_string(i) + "x"));
  }
  EXPECT_EQ(other.receive(&got), Received::kNothing);
  EXPECT_FALSE(one.has_unsent());
}

}  // namespace
}  // namespace tapline
