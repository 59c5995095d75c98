// Tests floods of connections that are never used.
#include <map>

#include "parsers/engine/engine_fixture.h"

namespace tapline {
namespace {

TEST(Engine, SynFloodIsBoundedAndCountedAndSparesEstablishedConnections) {
  Harness harness({"tcp_conn_time"});
  Conversation conversation(at(kStart, 1000));
  harness.feed(conversation.handshake().frames());
  harness.feed(syn_flood(5000));
  conversation.wait_ns(1'000'000'000).close();
  harness.feed({conversation.frames().begin() + 3, conversation.frames().end()});
  EXPECT_EQ(incarnations(harness, "fin"), std::vector<uint32_t>{1000});
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), 5000u - 63u);
  EXPECT_EQ(harness.engine().stats().live_connections, 64u);
  harness.engine().end();
  // Each connection that began also ended, exactly once.
  EXPECT_EQ(incarnations(harness, "syn").size(), 5001u);
  EXPECT_EQ(incarnations(harness, "timeout").size(), 5000u);
  EXPECT_EQ(harness.engine().stats().live_connections, 0u);
}

// Runs a hundred connections, each with a transaction before, during and after a flood that would fill the table ten
// times. If `was_answered` is true, the server responds to each SYN of the flood.
void expect_connections_survive_a_flood(bool was_answered) {
  constexpr int kConnections = 100, kTableSize = 1000;
  EngineOptions options = Harness::small();
  options.max_connections = kTableSize;
  Harness harness({"http_get"}, options);
  std::vector<Conversation> conversations;
  for (int i = 0; i < kConnections; ++i) {
    Conversation::Options conversation_options = at(kStart, 1000);
    conversation_options.client_port = static_cast<uint16_t>(20000 + i);
    conversations.emplace_back(conversation_options);
  }
  std::vector<size_t> fed(kConnections, 0);
  const auto feed_all = [&](int64_t until_ns, auto&& say) {
    for (int i = 0; i < kConnections; ++i) {
      Conversation& conversation = conversations[static_cast<size_t>(i)];
      conversation.wait_ns(until_ns - conversation.now_ns());
      say(conversation, std::to_string(i));
      std::vector<Frame>& frames = conversation.frames();
      harness.feed({frames.begin() + static_cast<ptrdiff_t>(fed[static_cast<size_t>(i)]), frames.end()});
      fed[static_cast<size_t>(i)] = frames.size();
    }
  };
  const auto transaction = [](Conversation& conversation, const std::string& number) {
    conversation.client("GET /" + number + " HTTP/1.1\r\n\r\n").server("HTTP/1.1 204 No Content\r\n\r\n");
  };
  feed_all(kStart, [&](Conversation& conversation, const std::string& number) {
    conversation.handshake();
    transaction(conversation, number);
  });
  const std::vector<Frame> flood = syn_flood(10 * kTableSize);
  for (size_t i = 0; i < flood.size(); ++i) {
    Frame syn = flood[i];
    syn.time_ns += 1'000'000'000;
    harness.feed({syn});
    if (was_answered) {
      harness.feed({testing::tcp_frame({.src = "10.0.0.2",
                                        .dst = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250),
                                        .src_port = 80,
                                        .dst_port = 40000,
                                        .ack = static_cast<uint32_t>(i) + 1,
                                        .flags = tcp_flag::kSyn | tcp_flag::kAck},
                                       syn.time_ns + 500)});
    }
    if (i == flood.size() / 2) feed_all(syn.time_ns, transaction);
  }
  feed_all(kStart + 2'000'000'000, transaction);
  EXPECT_LE(harness.engine().stats().live_connections, static_cast<uint64_t>(kTableSize));
  harness.engine().end();
  EXPECT_EQ(harness.tuples().size(), 3u * kConnections);
  std::map<std::string, int> times;
  for (const testing::Tuple& tuple : harness.tuples()) {
    EXPECT_EQ(tuple["partial"], "");
    EXPECT_EQ(tuple["url"], "/" + std::to_string(tuple.header.src_port - 20000));
    ++times[tuple["url"]];
  }
  EXPECT_EQ(times.size(), static_cast<size_t>(kConnections));
  EXPECT_EQ(harness.lost(LossReason::kConnectionTableFull), flood.size() + kConnections - kTableSize);
}

TEST(Engine, EstablishedConnectionsSurviveAFloodOfSyns) { expect_connections_survive_a_flood(false); }
TEST(Engine, EstablishedConnectionsSurviveAFloodOfAnsweredSyns) { expect_connections_survive_a_flood(true); }

}  // namespace
}  // namespace tapline
