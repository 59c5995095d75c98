#include <gtest/gtest.h>

#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Harness;

TEST(Sample, ReportsUrlsOfGetRequests) {
  Conversation conversation;
  conversation.handshake()
      .client("GET /a HTTP/1.1\r\n\r\n")
      .server("HTTP/1.1 200 OK\r\n\r\n")
      .client("POST /b HTTP/1.1\r\n\r\n")
      .client("GET /c");
  Harness harness({"sample"});
  harness.all(conversation.frames());
  EXPECT_EQ(harness.lines({"url"}), (std::vector<std::string>{"/a", "/c"}));
  EXPECT_EQ(harness.tuples()[0].endpoints(), "10.0.0.1:40000>10.0.0.2:80");
}

}  // namespace
}  // namespace tapline
