#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Lines;

const std::vector<std::string> kFields = {"command", "key", "status", "error", "partial"};

Lines parse(const std::vector<Frame>& frames) { return Harness({"redis_command"}).all(frames).lines(kFields); }

std::vector<Frame> one_connection(std::string_view commands, std::string_view responses) {
  return Conversation().handshake().client(commands).server(responses).client_ack().close().frames();
}

void expect_at_every_cut(std::string_view commands, std::string_view responses, const Lines& expected) {
  testing::expect_at_every_cut([](const auto& frames) { return parse(frames); }, commands, responses, expected);
}

// Writes a command, such as "SET a b", as an array of bulk strings.
std::string command(const std::string& words) {
  std::vector<std::string> all(1);
  for (const char c : words) {
    if (c == ' ') {
      all.emplace_back();
    } else {
      all.back().push_back(c);
    }
  }
  std::string text = "*" + std::to_string(all.size()) + "\r\n";
  for (const std::string& word : all) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return text;
}

TEST(RedisCommand, CommandsAndReplies) {
  expect_at_every_cut(
      command("SET a 1") + command("get a") + command("GET b") + command("LPUSH l x y") + command("LRANGE l 0 1") +
          command("HGET s f"),
      "+OK\r\n$1\r\n1\r\n$-1\r\n:2\r\n*2\r\n$1\r\ny\r\n$1\r\nx\r\n-WRONGTYPE Operation against\r\n",
      {"SET a ok  ", "GET a ok  ", "GET b nil  ", "LPUSH l ok  ", "LRANGE l ok  ", "HGET s error WRONGTYPE "});
}

TEST(RedisCommand, Resp3) {
  expect_at_every_cut(
      command("HELLO 3") + command("HGETALL h") + command("ZSCORE z m") + command("GET n") + command("SMEMBERS s"),
      "%1\r\n$5\r\nproto\r\n:3\r\n%2\r\n$1\r\na\r\n*1\r\n:1\r\n$1\r\nb\r\n#t\r\n,1.5\r\n_\r\n"
      "|1\r\n+ttl\r\n:9\r\n~2\r\n=5\r\ntxt:a\r\n(123\r\n",
      {"HELLO  ok  ", "HGETALL h ok  ", "ZSCORE z ok  ", "GET n nil  ", "SMEMBERS s ok  "});
}

TEST(RedisCommand, NestedAndEmptyReplies) {
  expect_at_every_cut(command("XINFO STREAM s") + command("KEYS x*") + command("EXEC") + command("PING"),
                      "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*-1\r\n*0\r\n*-1\r\n+PONG\r\n",
                      {"XINFO STREAM s ok  ", "KEYS  ok  ", "EXEC  nil  ", "PING  ok  "});
}

TEST(RedisCommand, InlineCommands) {
  expect_at_every_cut("PING\r\nset a b\r\n\r\nCONFIG GET maxmemory\r\n", "+PONG\r\n+OK\r\n*0\r\n",
                      {"PING  ok  ", "SET a ok  ", "CONFIG GET  ok  "});
}

TEST(RedisCommand, TransactionsAreQueued) {
  expect_at_every_cut(command("MULTI") + command("INCR n") + command("EXEC"), "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n",
                      {"MULTI  ok  ", "INCR n queued  ", "EXEC  ok  "});
}

TEST(RedisCommand, MessagesToSubscribersAreNotReplies) {
  const std::string message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
  expect_at_every_cut(command("SUBSCRIBE c d") + command("PING"),
                      "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n" + message +
                          "*2\r\n$4\r\npong\r\n$0\r\n\r\n" + message,
                      {"SUBSCRIBE c ok  ", "PING  ok  "});
  // In RESP3, pushes may come at any time.
  const std::string push = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
  expect_at_every_cut(command("SUBSCRIBE c") + command("GET a"),
                      ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" + push + "$1\r\nx\r\n" + push,
                      {"SUBSCRIBE c ok  ", "GET a ok  "});
}

TEST(RedisCommand, RepliesTurnedOff) {
  expect_at_every_cut(command("CLIENT REPLY SKIP") + command("SET a 1") + command("GET a") +
                          command("CLIENT REPLY OFF") + command("SET b 2") + command("CLIENT REPLY ON") +
                          command("GET b"),
                      "$1\r\n1\r\n+OK\r\n$1\r\n2\r\n",
                      {"CLIENT REPLY  unanswered - ", "SET a unanswered - ", "CLIENT REPLY  unanswered - ",
                       "SET b unanswered - ", "GET a ok  ", "CLIENT REPLY  ok  ", "GET b ok  "});
}

// Tests the same with inline commands. SKIP has no effect while replies are off, and ON gets a reply in any state.
TEST(RedisCommand, RepliesTurnedOffInline) {
  expect_at_every_cut(
      "PING\r\nCLIENT REPLY OFF\r\nPING\r\nclient reply skip\r\nPING\r\nCLIENT REPLY ON\r\nPING x\r\n"
      "CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\n",
      "+PONG\r\n+OK\r\n$1\r\nx\r\n+OK\r\n",
      {"CLIENT REPLY  unanswered - ", "PING  unanswered - ", "CLIENT REPLY  unanswered - ", "PING  unanswered - ",
       "CLIENT REPLY  unanswered - ", "PING  ok  ", "CLIENT REPLY  ok  ", "PING  ok  ", "CLIENT REPLY  ok  "});
}

TEST(RedisCommand, InlineSubscriptions) {
  expect_at_every_cut("PING\r\nSUBSCRIBE c d\r\nPING\r\n",
                      "+PONG\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n"
                      "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
                      {"PING  ok  ", "SUBSCRIBE c ok  ", "PING  ok  "});
}

TEST(RedisCommand, MonitorModeEndsPairing) {
  EXPECT_EQ(parse(one_connection(command("MONITOR"), "+OK\r\n+1.2 [0 x] \"GET\" \"a\"\r\n")), Lines{"MONITOR  ok  "});
}

TEST(RedisCommand, SecretsAreNotReported) {
  for (const std::string& secret :
       {command("AUTH hunter2"), command("AUTH user hunter2"), command("HELLO 3 AUTH user hunter2"),
        std::string("AUTH hunter2\r\n"), command("CONFIG SET requirepass hunter2"), command("ACL SETUSER bob >hunter2"),
        command("EVAL hunter2 0"), command("MIGRATE h 1 k 0 9 AUTH hunter2"),
        std::string("HELLO 3 AUTH user hunter2\r\n")}) {
    Harness run({"redis_command"});
    run.all(one_connection(secret, "-ERR hunter2 is wrong\r\n"));
    ASSERT_EQ(run.tuples().size(), 1u) << secret;
    for (const auto& [field, value] : run.tuples()[0].values) {
      EXPECT_EQ(value.find("hunter2"), std::string::npos) << field << " of " << secret;
      EXPECT_EQ(value.find("HUNTER2"), std::string::npos) << field << " of " << secret;
    }
  }
}

TEST(RedisCommand, LongKeysAndValuesAreBounded) {
  const std::string key(5000, 'k'), value(200'000, 'v');
  Conversation conversation;
  conversation.handshake().client_cut(command("SET " + key + " " + value), 1000).server("+OK\r\n");
  conversation.client(command("GET b")).server_cut("$200000\r\n" + value + "\r\n", 1000).close();
  Harness run({"redis_command"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 2u);
  EXPECT_EQ(run.tuples()[0]["key"], key.substr(0, 1024));
  EXPECT_EQ(run.tuples()[0]["request_bytes"], std::to_string(command("SET " + key + " " + value).size()));
  EXPECT_EQ(run.tuples()[1]["response_bytes"], "200011");
}

TEST(RedisCommand, OneWayCaptures) {
  std::vector<Frame> commands, answers;
  Conversation conversation;
  conversation.handshake()
      .client(command("SET a 1"))
      .server("+OK\r\n")
      .client(command("MGET a b"))
      .server("*2\r\n$1\r\n1\r\n$-1\r\n");
  conversation.client(command("GET a")).server("$1\r\n1\r\n").close();
  for (const Frame& frame : conversation.frames()) (frame.bytes[14 + 15] == 1 ? commands : answers).push_back(frame);
  EXPECT_EQ(parse(commands), (Lines{"SET a - - request", "MGET a - - request", "GET a - - request"}));
  EXPECT_EQ(parse(answers), (Lines{"- - ok  response", "- - ok  response", "- - ok  response"}));
}

TEST(RedisCommand, JoinsInMidStream) {
  Conversation conversation;
  conversation.handshake().client(command("SET a " + std::string(50, 'x'))).server("+OK\r\n");
  for (int i = 0; i < 3; ++i) conversation.client(command("GET a")).server("$1\r\nx\r\n");
  std::vector<Frame> frames = conversation.frames();
  frames.erase(frames.begin(), frames.begin() + 4);
  // The first reply alone could belong to any protocol.
  EXPECT_EQ(parse(frames), (Lines{"GET a ok  ", "GET a ok  ", "GET a ok  "}));
}

// Returns a connection whose replies have unique lengths, so that a wrong pair is detected.
std::vector<Frame> self_identifying(int batch) {
  Conversation conversation;
  conversation.handshake();
  for (int i = 20; i < 32; i += batch) {
    std::string commands, answers;
    for (int j = i; j < i + batch; ++j) {
      commands += command("GET k" + std::to_string(j));
      answers += "$" + std::to_string(j) + "\r\n" + std::string(static_cast<size_t>(j), 'v') + "\r\n";
    }
    conversation.client(commands).server_cut(answers, 20);
  }
  return conversation.client_ack().close().frames();
}

TEST(RedisCommand, NeverPairsWrongIfFramesAreLost) {
  for (const int batch : {1, 3}) {
    const std::vector<Frame> frames = self_identifying(batch);
    for (size_t first = 0; first < frames.size(); ++first) {
      for (size_t second = first; second < frames.size(); ++second) {
        std::vector<Frame> left;
        for (size_t i = 0; i < frames.size(); ++i) {
          if (i != first && i != second) left.push_back(frames[i]);
        }
        Harness run({"redis_command"});
        run.all(left);
        size_t pairs = 0;
        for (const testing::Tuple& tuple : run.tuples()) {
          if (!tuple["partial"].empty()) continue;
          ++pairs;
          if (tuple["response_bytes"] == "-") continue;  // its end was lost
          // A longer reply belongs to a later command.
          EXPECT_LE(std::stoi(tuple["response_bytes"]), std::stoi(tuple["key"].substr(1)) + 7)
              << first << " and " << second << " lost, batches of " << batch;
        }
        if (batch == 1) {
          EXPECT_GE(pairs, 9u) << first << " and " << second << " lost, batches of " << batch;
        }
      }
    }
  }
}

// Tests inline commands with each frame lost in turn.
TEST(RedisCommand, InlineCommandsAfterAGap) {
  Conversation conversation;
  conversation.handshake();
  for (int i = 0; i < 6; ++i) conversation.client("PING\r\n").server("+PONG\r\n");
  const std::vector<Frame> frames = conversation.client_ack().close().frames();
  for (size_t lost = 3; lost < 15; ++lost) {
    std::vector<Frame> left = frames;
    left.erase(left.begin() + static_cast<ptrdiff_t>(lost));
    const Lines lines = parse(left);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "PING  ok  "), 5) << lost << " lost";
  }
}

TEST(RedisCommand, RepliesCapturedBeforeTheirCommands) {
  Conversation conversation;
  conversation.handshake();
  for (int i = 0; i < 4; ++i) conversation.client(command("LPUSH l x")).server(":1\r\n");
  const std::vector<Frame> frames = conversation.client_ack().close().frames();
  for (size_t late = 3; late < 11; ++late) {
    for (size_t places = 1; places <= 3; ++places) {
      std::vector<Frame> moved_frames = frames;
      const auto late_frame = moved_frames.begin() + static_cast<ptrdiff_t>(late);
      std::rotate(late_frame, late_frame + 1, late_frame + 1 + static_cast<ptrdiff_t>(places));
      EXPECT_EQ(parse(moved_frames), Lines(4, "LPUSH l ok  ")) << late << " late by " << places;
    }
  }
}

TEST(RedisCommand, IgnoresOtherProtocols) {
  EXPECT_EQ(parse(one_connection("GET /a HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n")), Lines{});
  EXPECT_EQ(parse(one_connection("get a\r\n", "VALUE a 0 1\r\nx\r\nEND\r\n")), Lines{});
  Conversation mail;
  mail.handshake()
      .server("+OK POP3\r\n")
      .client("AUTH PLAIN\r\n")
      .server("+OK\r\n")
      .client("QUIT\r\n")
      .server("+OK\r\n")
      .close();
  EXPECT_EQ(parse(mail.frames()), Lines{});
}

}  // namespace
}  // namespace tapline
