#include <gtest/gtest.h>

#include "parsers/api/socks.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Harness;
using Lines = std::vector<std::string>;
using namespace std::string_literals;

const Lines kAll = {"version", "command", "target_host", "target_port", "status", "setup_time_ns", "partial"};
const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const std::string kName5 = "\5\1\0\3\x08www.test\0\x50"s, kGranted5 = "\5\0\0\1\0\0\0\0\0\0"s;

// Sends messages from the two sides in turn, starting with the client.
Conversation talk(const Lines& messages) {
  Conversation conversation;
  conversation.handshake();
  for (size_t i = 0; i < messages.size(); ++i) {
    i % 2 == 0 ? conversation.client(messages[i]) : conversation.server(messages[i]);
  }
  return conversation;
}

Lines parsed(const Lines& messages) {
  return Harness({"socks_request"}).all(talk(messages).close().frames()).lines(kAll);
}

TEST(SocksRequest, EveryVersion) {
  EXPECT_EQ(parsed({"\5\1\0"s, "\5\0"s, kName5, kGranted5, kGet, kOk}),
            Lines{"5 connect www.test 80 granted 3000000 "});
  EXPECT_EQ(
      parsed({"\5\2\0\2"s, "\5\2"s, "\1\1u\2pw"s, "\1\0"s, "\5\1\0\1\x0a\0\0\1\x01\xbb"s, "\5\5\0\1\0\0\0\0\0\0"s}),
      Lines{"5 connect 10.0.0.1 443 refused 5000000 "});
  EXPECT_EQ(parsed({"\5\1\0"s, "\5\0"s, "\5\3\0\4\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\1\0\x35"s, kGranted5}),
            Lines{"5 udp-associate 2001:db8::1 53 granted 3000000 "});
  EXPECT_EQ(parsed({"\4\1\0\x50\x0a\0\0\1user\0"s, "\0\x5a\0\0\0\0\0\0"s}),
            Lines{"4 connect 10.0.0.1 80 granted 1000000 "});
  EXPECT_EQ(parsed({"\4\1\0\x50\0\0\0\1\0www.test\0"s, "\0\x5b\0\0\0\0\0\0"s}),
            Lines{"4 connect www.test 80 rejected 1000000 "});
}

TEST(SocksRequest, WithoutAReply) {
  EXPECT_EQ(parsed({"\5\1\0"s, "\5\0"s, kName5}), Lines{"5 connect www.test 80 - - request"});
  EXPECT_EQ(parsed({"\5\1\0"s, "\5\xff"s}), Lines{});
}

TEST(SocksRequest, IgnoresOtherStreams) {
  EXPECT_EQ(parsed({kGet, kOk}), Lines{});
  EXPECT_EQ(parsed({"\5\1\0\1"s, "\5\0"s, kName5, kGranted5}), Lines{}) << "no greeting: one byte too many";
  EXPECT_EQ(parsed({std::string(500, '\4'), std::string(500, '\5')}), Lines{});
}

// http_get sees the traffic through the proxy, with or without the TCP handshake.
TEST(SocksRequest, TheProxiedProtocolIsParsed) {
  const Lines handshakes[] = {{"\5\1\0"s, "\5\0"s, kName5, kGranted5},
                              {"\4\1\0\x50\x0a\0\0\1\0"s, "\0\x5a\0\0\0\0\0\0"s}};
  for (Lines messages : handshakes) {
    const size_t handshake = messages.size();
    messages.insert(messages.end(), {kGet, kOk, kGet, kOk});
    for (const size_t left_out : {size_t{0}, size_t{3}}) {
      Conversation conversation = talk(messages);
      std::vector<testing::Frame> frames = conversation.close().frames();
      frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(left_out));
      EXPECT_EQ(Harness({"http_get"}).all(frames).lines({"url", "status", "partial"}), (Lines{"/a 200 ", "/a 200 "}))
          << handshake << " messages, without " << left_out << " packets";
    }
  }
}

TEST(Socks, TruncatedMessagesAreRejected) {
  for (const std::string& whole : {"\5\1\0"s, "\4\1\0\x50\0\0\0\1u\0www.test\0"s}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      socks::Step step = socks::Step::kStart;
      socks::Message message;
      EXPECT_EQ(socks::take_message(std::string_view(whole).substr(0, size), true, &step, &message), 0u);
      EXPECT_EQ(step, socks::Step::kOver);
    }
  }
}

}  // namespace
}  // namespace tapline
