#include "parsers/testing/dialogue.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tapline::testing {

Dialogue operator+(Dialogue first, const Dialogue& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Conversation spoken(const Dialogue& dialogue, uint16_t server_port, size_t cut, bool repeatedly, bool has_handshake) {
  Conversation::Options options;
  options.server_port = server_port;
  Conversation conversation(options);
  if (has_handshake) conversation.handshake();
  const auto send = [&](const Message& message, std::string_view bytes) {
    message.from_client ? conversation.client(bytes) : conversation.server(bytes);
  };
  for (const Message& message : dialogue) {
    std::string_view rest = message.bytes;
    while (rest.size() > cut) {
      send(message, rest.substr(0, cut));
      rest.remove_prefix(cut);
      if (!repeatedly) break;
    }
    send(message, rest);
  }
  return conversation;
}

void expect_at_every_cut(const Parse& parse, const Dialogue& dialogue, uint16_t server_port, const Lines& expected) {
  ASSERT_EQ(parse(spoken(dialogue, server_port).close().frames()), expected);
  size_t longest = 0;
  for (const Message& message : dialogue) longest = std::max(longest, message.bytes.size());
  for (size_t cut = 1; cut < longest; ++cut) {
    EXPECT_EQ(parse(spoken(dialogue, server_port, cut).close().frames()), expected) << "cut at " << cut;
  }
  EXPECT_EQ(parse(spoken(dialogue, server_port, 1, true).close().frames()), expected) << "cut into bytes";
}

void expect_at_every_cut(const Parse& parse, std::string_view requests, std::string_view responses,
                         const Lines& expected) {
  ASSERT_EQ(parse(Conversation().handshake().client(requests).server(responses).client_ack().close().frames()),
            expected);
  for (size_t cut = 1; cut < requests.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(requests.substr(0, cut)).client(requests.substr(cut)).server(responses).close();
    EXPECT_EQ(parse(conversation.frames()), expected) << "requests cut at " << cut;
  }
  for (size_t cut = 1; cut < responses.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(requests).server(responses.substr(0, cut)).server(responses.substr(cut)).close();
    EXPECT_EQ(parse(conversation.frames()), expected) << "responses cut at " << cut;
  }
  Conversation bytes;
  bytes.handshake().client_cut(requests, 1).server_cut(responses, 1).close();
  EXPECT_EQ(parse(bytes.frames()), expected) << "cut into bytes";
}

}  // namespace tapline::testing
