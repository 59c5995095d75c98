// Tests connections that are joined anywhere or degraded by mirrors: the parser identifies the client, and pairing
// always recovers.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "parsers/redis_command/client_judge.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/disorder.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::disordered;
using testing::Frame;
using testing::Harness;
using testing::Tuple;
using Words = std::vector<std::string>;

constexpr uint32_t kSeeds = 40;

// Writes a command, or a reply that is an array of bulk strings: both are identical on the wire.
std::string array(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return text;
}
std::string bulk(const std::string& value) { return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n"; }

// Returns a key. Every requested key is named key:NUMBER; stored values never are.
std::string key(int number) { return "key:" + std::to_string(number); }

struct ExchangeResult {
  std::string command, answer;
};

// Returns a command and its reply, an array that usually looks like a command itself.
ExchangeResult exchange_of(int number) {
  switch (number % 9) {
    case 0:
      return {array({"LRANGE", key(number), "0", "-1"}), array({"GET", "stored"})};
    case 1:
      return {array({"HGETALL", key(number)}), array({"type", "stored"})};
    case 2:
      return {array({"MGET", key(number), "other"}), array({"stored", "value"})};
    case 3:
      return {array({"LRANGE", key(number), "0", "9"}), array({"SET", "stored", "value"})};
    case 4:
      return {array({"smembers", key(number)}), array({"DEL", "stored", "values"})};
    case 5:
      return {array({"ZRANGE", key(number), "0", "1"}), array({"LRANGE", "stored", "0", "1"})};
    case 6:
      return {array({"HGETALL", key(number)}), array({"name", "stored", "set", "value"})};
    case 7:
      return {array({"XRANGE", key(number), "-", "+"}), "*1\r\n*2\r\n$3\r\n1-1\r\n" + array({"GET", "stored"})};
    default:
      return {array({"SORT", key(number)}), array({"ping"})};
  }
}

// Returns a connection whose client has the lower or the higher port.
std::vector<Frame> arrays_of(int count, bool low_client, const std::vector<int>& kinds = {}) {
  Conversation conversation({.client_port = static_cast<uint16_t>(low_client ? 4000 : 40000), .server_port = 6379});
  conversation.handshake();
  for (int number = 0; number < count; ++number) {
    const int kind = kinds.empty() ? number : kinds[static_cast<size_t>(number) % kinds.size()] + 9 * number;
    const ExchangeResult exchanged = exchange_of(kind);
    conversation.client(exchanged.command).server(exchanged.answer);
  }
  return conversation.client_ack().frames();
}

constexpr size_t kHandshake = 3;

// Expects that no stored value is reported as a key, as it would be if the server were mistaken for the client.
void expect_nothing_stored(const Harness& run, const std::string& context) {
  for (const Tuple& tuple : run.tuples()) {
    EXPECT_TRUE(tuple["key"] == "-" || tuple["key"].starts_with("key:")) << context << ": " << tuple["key"];
  }
}

size_t reported_pairs(const Harness& run) {
  return static_cast<size_t>(std::count_if(run.tuples().begin(), run.tuples().end(),
                                           [](const Tuple& tuple) { return tuple["partial"].empty(); }));
}

TEST(RedisCommand, ArraysAreRepliesWhereverTheCaptureStarts) {
  constexpr int kCount = 27;
  for (const bool low_client : {false, true}) {
    const std::vector<Frame> frames = arrays_of(kCount, low_client);
    for (size_t begin = kHandshake; begin < frames.size() - 5; ++begin) {
      Harness run({"redis_command"});
      run.all({frames.begin() + static_cast<ptrdiff_t>(begin), frames.end()});
      const std::string context = "from " + std::to_string(begin);
      expect_nothing_stored(run, context);
      const size_t exchanges = (frames.size() - 1 - begin) / 2;
      EXPECT_GE(reported_pairs(run), exchanges - 2) << context;
    }
  }
}

// Tests each kind of exchange separately. If either side's arrays could be replies to the other's, only the query
// decides.
TEST(RedisCommand, ArraysOfOneKindAreReplies) {
  for (int kind = 0; kind < 9; ++kind) {
    for (const bool low_client : {false, true}) {
      const std::vector<Frame> frames = arrays_of(8, low_client, {kind});
      for (size_t begin = kHandshake; begin < kHandshake + 4; ++begin) {
        const std::vector<Frame> captured(frames.begin() + static_cast<ptrdiff_t>(begin), frames.end());
        for (const bool by_query : {false, true}) {
          const ToSide to_side = (begin - kHandshake) % 2 == 0 ? ToSide::kDestination : ToSide::kSource;
          Harness run({"redis_command"});
          run.feed(captured, 1, 32, by_query ? to_side : ToSide::kUnknown);
          run.engine().end();
          const std::string context = "kind " + std::to_string(kind) + " from " + std::to_string(begin);
          expect_nothing_stored(run, context);
          const bool undecidable = kind == 5 || kind == 8;
          if (by_query || !undecidable) {
            EXPECT_GE(reported_pairs(run), (frames.size() - 1 - begin) / 2 - 2) << context << by_query;
          }
        }
      }
    }
  }
}

// A value contains commands, and each of its segments begins with one.
TEST(RedisCommand, CommandsWithinValuesAreIgnored) {
  std::string value;
  for (int i = 100; i < 160; ++i) value += array({"SET", "stored:" + std::to_string(i), "value"});
  const size_t command_bytes = array({"SET", "stored:100", "value"}).size();
  for (const bool low_client : {false, true}) {
    Conversation conversation({.client_port = static_cast<uint16_t>(low_client ? 4000 : 40000), .server_port = 6379});
    conversation.handshake();
    for (int number = 0; number < 3; ++number) {
      const std::string set = array({"SET", key(number), value});
      const size_t head = set.find(value);
      conversation.client(set.substr(0, head)).client_cut(set.substr(head), command_bytes).server("+OK\r\n");
      const std::string got = bulk(value);
      conversation.client(array({"GET", key(number)})).server(got.substr(0, got.find(value)));
      conversation.server_cut(got.substr(got.find(value)), command_bytes);
    }
    for (int number = 3; number < 9; ++number) conversation.client(array({"GET", key(number)})).server(bulk("x"));
    const std::vector<Frame> frames = conversation.client_ack().frames();
    for (size_t begin = kHandshake; begin + 20 < frames.size(); ++begin) {
      Harness run({"redis_command"});
      run.all({frames.begin() + static_cast<ptrdiff_t>(begin), frames.end()});
      expect_nothing_stored(run, "from " + std::to_string(begin));
      EXPECT_GE(reported_pairs(run), 5u) << begin;
    }
  }
}

// If there is only one direction, only the ports can distinguish stored commands from sent ones.
TEST(RedisCommand, StoredCommandsOfOneDirectionAreNotReported) {
  const std::vector<Frame> frames = arrays_of(18, false);
  std::vector<Frame> responses;
  for (size_t i = kHandshake; i < frames.size(); ++i) {
    if (frames[i].bytes[14 + 15] == 2) responses.push_back(frames[i]);
  }
  Harness run({"redis_command"});
  run.all(responses);
  expect_nothing_stored(run, "replies alone");
}

struct Score {
  std::set<std::string> right;
  size_t wrong = 0;
};

// Sends GET commands. The value of key:NUMBER has 10 + NUMBER % 50 bytes.
void send_gets(Conversation& conversation, int first, int count) {
  for (int number = first; number < first + count; ++number) {
    conversation.client(array({"GET", key(number)}));
    if (number % 3 == 0) conversation.server_ack();
    conversation.server(bulk(std::string(static_cast<size_t>(10 + number % 50), 'v')));
    if (number % 4 == 0) conversation.client_ack();
  }
}

Score score_of(const std::vector<Frame>& frames) {
  Harness run({"redis_command"});
  run.all(frames);
  Score score;
  for (const Tuple& tuple : run.tuples()) {
    if (!tuple["partial"].empty()) continue;
    const int number = std::stoi(tuple["key"].substr(4));
    const bool is_right = tuple["response_bytes"] == std::to_string(10 + number % 50 + 7);
    if (is_right) score.right.insert(tuple["key"]);
    score.wrong += !is_right;
  }
  return score;
}

TEST(RedisCommand, LateSegmentsShiftNoPairs) {
  constexpr int kCount = 150;
  Conversation conversation({.server_port = 6379});
  conversation.handshake();
  send_gets(conversation, 0, kCount);
  const std::vector<Frame> frames = conversation.close().frames();
  for (const uint32_t places : {10u, 20u}) {
    size_t right = 0;
    for (uint32_t seed = 0; seed < kSeeds; ++seed) {
      const Score score = score_of(disordered(frames, {.late = 0.1, .places = places}, seed));
      EXPECT_EQ(score.wrong, 0u) << places << " late, seed " << seed;
      right += score.right.size();
    }
    EXPECT_GE(static_cast<double>(right), 0.999 * kCount * kSeeds) << places << " late";
  }
}

TEST(RedisCommand, PairsAgainAfterAnyStart) {
  constexpr int kDamaged = 40, kClean = 4, kMore = 20;
  for (uint32_t seed = 0; seed < 4 * kSeeds; ++seed) {
    Conversation conversation({.server_port = 6379});
    if (seed % 2 == 0) conversation.handshake();
    send_gets(conversation, 0, kDamaged);
    const auto damaged = static_cast<ptrdiff_t>(conversation.frames().size());
    send_gets(conversation, kDamaged, kClean + kMore);
    const std::vector<Frame> frames = conversation.client_ack().close().frames();
    std::vector<Frame> captured_frames =
        disordered({frames.begin(), frames.begin() + damaged},
                   {.lost = 0.05 * (seed % 5), .late = 0.4, .places = 15u << seed % 3}, seed);
    captured_frames.insert(captured_frames.end(), frames.begin() + damaged, frames.end());
    const Score score = score_of(captured_frames);
    EXPECT_EQ(score.wrong, 0u) << seed;
    for (int number = kDamaged + kClean; number < kDamaged + kClean + kMore; ++number) {
      EXPECT_TRUE(score.right.contains(key(number))) << number << ", seed " << seed;
    }
  }
}

Segment turn(uint64_t offset, uint64_t peer_offset) {
  return {.time_ns = 0, .offset = offset, .peer_offset = peer_offset, .peer_offset_known = true};
}

TEST(RedisCommand, TheJudgeRevisesItsDecision) {
  redis::ClientJudge judge;
  // Side 1 replies with bytes that look like commands, and side 0 with bytes that look like values.
  for (uint64_t i = 1; i <= 3; ++i) {
    judge.see(1, array({"GET", "a"}), turn(i, i));
    judge.see(0, "$1\r\nx\r\n", turn(i, i + 1));
  }
  EXPECT_EQ(judge.client(), 1);
  uint64_t exchanges = 0;
  for (uint64_t i = 4; judge.client() == 1 && exchanges < 20; ++i, ++exchanges) {
    judge.see(0, array({"SET", "a", "b"}), turn(i, i));
    judge.see(1, "+OK\r\n", turn(i, i + 1));
  }
  EXPECT_EQ(judge.client(), 0);
}

TEST(RedisCommand, TheJudgeWaitsForEvidence) {
  redis::ClientJudge judge;
  judge.see(0, array({"hello there", "stored"}), turn(1, 1));
  judge.see(0, array({"GET", "stored"}), turn(50, 1));
  judge.see(0, array({"GET", "stored"}), turn(80, 1));
  judge.see(0, array({"GET", "stored"}), turn(110, 1));
  EXPECT_EQ(judge.client(), -1);
}

}  // namespace
}  // namespace tapline
