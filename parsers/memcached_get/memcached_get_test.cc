#include <gtest/gtest.h>

#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using testing::Lines;

const std::vector<std::string> kFields = {"command", "key", "hit", "status", "value_bytes", "partial"};

Lines parse(const std::vector<Frame>& frames) { return Harness({"memcached_get"}).all(frames).lines(kFields); }

std::vector<Frame> one_connection(std::string_view requests, std::string_view responses) {
  return Conversation().handshake().client(requests).server(responses).client_ack().close().frames();
}

void expect_at_every_cut(std::string_view requests, std::string_view responses, const Lines& expected) {
  testing::expect_at_every_cut([](const auto& frames) { return parse(frames); }, requests, responses, expected);
}

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

std::string binary(uint8_t magic, uint8_t opcode, uint16_t status, uint32_t opaque, const std::string& extras,
                   const std::string& key, const std::string& value) {
  return big_endian(magic, 1) + big_endian(opcode, 1) + big_endian(key.size(), 2) + big_endian(extras.size(), 1) +
         big_endian(0, 1) + big_endian(status, 2) + big_endian(extras.size() + key.size() + value.size(), 4) +
         big_endian(opaque, 4) + big_endian(0, 8) + extras + key + value;
}
std::string binary_request(uint8_t opcode, uint32_t opaque, const std::string& key = "", const std::string& extras = "",
                           const std::string& value = "") {
  return binary(0x80, opcode, 0, opaque, extras, key, value);
}
std::string answer(uint8_t opcode, uint32_t opaque, uint16_t status = 0, const std::string& value = "",
                   const std::string& key = "") {
  return binary(0x81, opcode, status, opaque, opcode == 0 || !key.empty() ? std::string(4, '\0') : "", key, value);
}

TEST(MemcachedGet, HitsAndMisses) {
  expect_at_every_cut("get a\r\nget b\r\ngets c\r\ngat 10 d\r\n",
                      "VALUE a 0 5\r\nhello\r\nEND\r\nEND\r\nVALUE c 1 0 99\r\n\r\nEND\r\nEND\r\n",
                      {"get a 1 hit 5 ", "get b 0 miss 0 ", "gets c 1 hit 0 ", "gat d 0 miss 0 "});
}

TEST(MemcachedGet, EachKeyOfAMultiGet) {
  expect_at_every_cut(
      "get a b  c d\r\nget e f\r\n", "VALUE b 0 2\r\nbb\r\nVALUE d 0 3\r\nEND\r\nEND\r\nEND\r\n",
      {"get a 0 miss 0 ", "get b 1 hit 2 ", "get c 0 miss 0 ", "get d 1 hit 3 ", "get e 0 miss 0 ", "get f 0 miss 0 "});
  // A proxy may return values in another order, and a key may be requested twice.
  EXPECT_EQ(
      parse(one_connection("get a b a\r\n", "VALUE b 0 1\r\nb\r\nVALUE a 0 2\r\naa\r\nVALUE a 0 2\r\naa\r\nEND\r\n")),
      (Lines{"get a 1 hit 2 ", "get b 1 hit 1 ", "get a 1 hit 2 "}));
}

TEST(MemcachedGet, OtherCommands) {
  expect_at_every_cut(
      "set a 0 0 5\r\nget b\r\nadd a 0 0 1\r\nx\r\ncas a 0 0 1 7\r\nx\r\nincr n 1\r\ndecr n 1\r\ndelete a\r\ntouch a "
      "9\r\n"
      "version\r\nflush_all\r\nstats items\r\n",
      "STORED\r\nNOT_STORED\r\nEXISTS\r\n12\r\nNOT_FOUND\r\nDELETED\r\nTOUCHED\r\nVERSION 1.6\r\nOK\r\n"
      "STAT a 1\r\nSTAT END 2\r\nEND\r\n",
      {"set a 0 stored 5 ", "add a 0 not_stored 1 ", "cas a 0 exists 1 ", "incr n 0 ok 0 ", "decr n 0 not_found 0 ",
       "delete a 0 deleted 0 ", "touch a 0 touched 0 ", "version  0 ok 0 ", "flush_all  0 ok 0 ", "stats  0 ok 0 "});
}

TEST(MemcachedGet, ErrorsCountAsResponses) {
  EXPECT_EQ(parse(one_connection("get a\r\nset b 0 0 2\r\nxx\r\nget c\r\n",
                                 "SERVER_ERROR out of memory\r\nCLIENT_ERROR bad data chunk\r\nEND\r\n")),
            (Lines{"get a 0 server_error 0 ", "set b 0 client_error 2 ", "get c 0 miss 0 "}));
}

TEST(MemcachedGet, NoReplyIsReportedAtOnce) {
  expect_at_every_cut("set a 0 0 1 noreply\r\nx\r\nget a\r\ndelete a noreply\r\nquit\r\n",
                      "VALUE a 0 1\r\nx\r\nEND\r\n",
                      {"set a 0 unanswered 1 ", "delete a 0 unanswered 0 ", "quit  0 unanswered 0 ", "get a 1 hit 1 "});
}

TEST(MemcachedGet, MetaCommands) {
  expect_at_every_cut("mg a v\r\nmg b\r\nmg c t\r\nms d 3 T0\r\nabc\r\nmd e\r\nma n\r\nmn\r\n",
                      "VA 2 f0\r\nxx\r\nEN\r\nHD t9\r\nHD\r\nNF\r\nHD\r\nMN\r\n",
                      {"mg a 1 hit 2 ", "mg b 0 miss 0 ", "mg c 1 hit 0 ", "ms d 0 stored 3 ", "md e 0 not_found 0 ",
                       "ma n 0 ok 0 ", "mn  0 ok 0 "});
}

TEST(MemcachedGet, QuietMetaCommands) {
  expect_at_every_cut("mg a v q k\r\nmg b v q k\r\nmg c v q O7\r\nmn\r\n", "VA 1 kb\r\nx\r\nMN\r\n",
                      {"mg a 0 miss 0 ", "mg b 1 hit 1 ", "mg c 0 miss 0 ", "mn  0 ok 0 "});
}

TEST(MemcachedGet, BinaryProtocol) {
  const std::string set_extras(8, '\0');
  expect_at_every_cut(
      binary_request(0, 1, "a") + binary_request(0, 2, "b") + binary_request(1, 3, "c", set_extras, "value") +
          binary_request(4, 4, "d") + binary_request(0x0a, 5),
      answer(0, 1, 0, "hello") + answer(0, 2, 1, "Not found") + answer(1, 3) + answer(4, 4, 1) + answer(0x0a, 5),
      {"get a 1 hit 5 ", "get b 0 miss 0 ", "set c 0 stored 5 ", "delete d 0 not_found 0 ", "noop  0 ok 0 "});
}

TEST(MemcachedGet, QuietBinaryGets) {
  const std::string set_extras(8, '\0');
  expect_at_every_cut(
      binary_request(0x0d, 0, "a") + binary_request(0x0d, 1, "b") + binary_request(0x09, 2, "c") +
          binary_request(0x11, 3, "d", set_extras, "v") + binary_request(0x0a, 4),
      answer(0x0d, 1, 0, "xx", "b") + answer(0x0a, 4),
      {"getkq a 0 miss 0 ", "getkq b 1 hit 2 ", "getq c 0 miss 0 ", "setq d 0 stored 1 ", "noop  0 ok 0 "});
}

TEST(MemcachedGet, BinaryStatisticsAreOneResponse) {
  EXPECT_EQ(parse(one_connection(binary_request(0x10, 1) + binary_request(0, 2, "a"),
                                 answer(0x10, 1, 0, "1", "pid") + answer(0x10, 1, 0, "2", "uptime") + answer(0x10, 1) +
                                     answer(0, 2, 0, "x"))),
            (Lines{"stat  0 ok 0 ", "get a 1 hit 1 "}));
}

TEST(MemcachedGet, SecretsAndValuesAreNotReported) {
  Harness run({"memcached_get"});
  run.all(one_connection(binary_request(0x21, 1, "PLAIN", "", std::string("\0user\0secret", 12)),
                         answer(0x21, 1, 0, "secret")));
  ASSERT_EQ(run.tuples().size(), 1u);
  for (const auto& [field, value] : run.tuples()[0].values) {
    EXPECT_EQ(value.find("secret"), std::string::npos) << field;
    EXPECT_NE(value, "12") << field;
  }
}

TEST(MemcachedGet, Times) {
  Conversation conversation;
  conversation.handshake().client("get").client(" a\r\n").wait_ns(50'000'000);
  conversation.server("VALUE a 0 1\r\n").wait_ns(20'000'000).server("x\r\nEND\r\n").close();
  Harness run({"memcached_get"});
  run.all(conversation.frames());
  ASSERT_EQ(run.tuples().size(), 1u);
  EXPECT_EQ(run.tuples()[0]["first_byte_ns"], "52000000");
  EXPECT_EQ(run.tuples()[0]["response_time_ns"], "73000000");
}

// Makes a get of ten keys with two misses, answered in segments of 100 bytes, and then another get.
std::vector<Frame> long_multi_get() {
  std::string request = "get", answer;
  for (int i = 0; i < 10; ++i) {
    const std::string key = "k" + std::to_string(i);
    request += " " + key;
    if (i == 3 || i == 6) continue;
    answer += "VALUE " + key + " 0 " + std::to_string(60 + i) + "\r\n" + std::string(static_cast<size_t>(60 + i), 'v') +
              "\r\n";
  }
  Conversation conversation;
  conversation.handshake()
      .client(request + "\r\n")
      .server_cut(answer + "END\r\n", 100)
      .client("get z\r\n")
      .server("END\r\n");
  return conversation.client_ack().close().frames();
}

TEST(MemcachedGet, AGapInAMultiGetHidesOnlyItsKeys) {
  const std::vector<Frame> frames = long_multi_get();
  const size_t first_response = 4, end = frames.size() - 6;
  for (size_t lost = first_response; lost < end; ++lost) {
    for (size_t offset = lost; offset < end; ++offset) {
      std::vector<Frame> left;
      for (size_t i = 0; i < frames.size(); ++i) {
        if (i != lost && i != offset) left.push_back(frames[i]);
      }
      Harness run({"memcached_get"});
      run.all(left);
      size_t unknown = 0, last = 0;
      for (const testing::Tuple& tuple : run.tuples()) {
        const std::string& key = tuple["key"];
        if (key == "z" || key.empty()) {
          last += tuple["status"] == "miss" && tuple["partial"].empty();
          continue;
        }
        unknown += !tuple["partial"].empty();
        if (!tuple["partial"].empty()) continue;
        const bool missed = key == "k3" || key == "k6";
        EXPECT_EQ(tuple["status"], missed ? "miss" : "hit") << key << ", " << lost << " and " << offset << " lost";
        EXPECT_EQ(tuple["value_bytes"], missed ? "0" : std::to_string(60 + key[1] - '0')) << key;
      }
      EXPECT_EQ(last, 1u) << lost << " and " << offset << " lost";
      // A response without its first segment can't be paired. Any other segment contains the heads of at most two
      // values, with one miss between them, so it hides at most three keys.
      if (lost == first_response) continue;
      EXPECT_LE(unknown, lost == offset ? 3u : 6u) << lost << " and " << offset << " lost";
    }
  }
}

// If the frame with the value is lost, only END remains of the response, which does not prove a miss.
TEST(MemcachedGet, AnEndAfterAGapIsNotAMiss) {
  for (const char* request : {"get a\r\n", "get a b\r\n"}) {
    Conversation conversation;
    conversation.handshake().client("get y\r\n").server("END\r\n").client(request);
    conversation.server("VALUE a 0 5\r\nhello\r\n").server("END\r\n").client("get z\r\n").server("END\r\n");
    std::vector<Frame> frames = conversation.client_ack().close().frames();
    constexpr size_t kValue = 6;
    frames.erase(frames.begin() + kValue);
    Harness run({"memcached_get"});
    run.all(frames);
    for (const testing::Tuple& tuple : run.tuples()) {
      const bool is_complete = tuple["key"] == "y" || tuple["key"] == "z";
      EXPECT_EQ(tuple["status"] == "miss", is_complete) << request << tuple["key"];
      if (tuple["key"] == "-") continue;  // the half that only has the response
      EXPECT_EQ(tuple["partial"], is_complete ? "" : "request") << request << tuple["key"];
    }
  }
}

TEST(MemcachedGet, OneWayCaptures) {
  std::vector<Frame> requests, answers;
  Conversation conversation;
  conversation.handshake().client("get a b\r\n").server("VALUE a 0 1\r\nx\r\nEND\r\n").client("set c 0 0 1\r\nx\r\n");
  conversation.server("STORED\r\n").close();
  for (const Frame& frame : conversation.frames()) (frame.bytes[14 + 15] == 1 ? requests : answers).push_back(frame);
  EXPECT_EQ(parse(requests), (Lines{"get a - - - request", "get b - - - request", "set c - - 1 request"}));
  EXPECT_EQ(parse(answers), (Lines{"- a 1 hit 1 response", "- - 0 stored - response"}));
}

TEST(MemcachedGet, JoinsInMidStream) {
  Conversation conversation;
  conversation.handshake().client("set a 0 0 50\r\n" + std::string(20, 'x')).client(std::string(30, 'x') + "\r\n");
  conversation.server("STORED\r\n").client("get b\r\n").server("END\r\n").client("get c\r\n").server("END\r\n").close();
  std::vector<Frame> frames = conversation.frames();
  frames.erase(frames.begin(), frames.begin() + 4);
  EXPECT_EQ(parse(frames), (Lines{"- - 0 stored - response", "get b 0 miss 0 ", "get c 0 miss 0 "}));
}

// Makes requests for distinct keys, each with a value of unique length, so that wrong pairs are detected.
std::vector<Frame> self_identifying(bool is_binary, int batch) {
  Conversation conversation;
  conversation.handshake();
  for (int i = 0; i < 12; i += batch) {
    std::string requests, answers;
    for (int j = i; j < i + batch; ++j) {
      const std::string key = "k" + std::to_string(j), value(static_cast<size_t>(j + 1), 'v');
      const std::string head = "VALUE " + key + " 0 " + std::to_string(j + 1) + "\r\n";
      requests += is_binary ? binary_request(0, 7, key) : "get " + key + "\r\n";
      answers += is_binary ? answer(0, 7, 0, value) : head + value + "\r\nEND\r\n";
    }
    conversation.client(requests).server_cut(answers, 40);
  }
  return conversation.client_ack().close().frames();
}

TEST(MemcachedGet, NeverPairsWrongIfFramesAreLost) {
  for (const bool is_binary : {false, true}) {
    for (const int batch : {1, 3}) {
      const std::vector<Frame> frames = self_identifying(is_binary, batch);
      for (size_t first = 0; first < frames.size(); ++first) {
        for (size_t second = first; second < frames.size(); ++second) {
          std::vector<Frame> left;
          for (size_t i = 0; i < frames.size(); ++i) {
            if (i != first && i != second) left.push_back(frames[i]);
          }
          Harness run({"memcached_get"});
          run.all(left);
          for (const testing::Tuple& tuple : run.tuples()) {
            if (!tuple["partial"].empty()) continue;
            EXPECT_EQ(std::stoi(tuple["value_bytes"]), std::stoi(tuple["key"].substr(1)) + 1)
                << first << " and " << second << " lost, batches of " << batch;
          }
        }
      }
    }
  }
}

Frame datagram(bool from_client, uint16_t id, uint16_t number, uint16_t total, const std::string& message, int64_t ms) {
  const std::string payload =
      big_endian(id, 2) + big_endian(number, 2) + big_endian(total, 2) + std::string(2, '\0') + message;
  return testing::udp_frame({.src = from_client ? "10.0.0.1" : "10.0.0.2",
                             .dst = from_client ? "10.0.0.2" : "10.0.0.1",
                             .src_port = static_cast<uint16_t>(from_client ? 5000 : 11211),
                             .dst_port = static_cast<uint16_t>(from_client ? 11211 : 5000),
                             .payload = payload},
                            1'000'000'000'000 + ms * 1'000'000);
}

TEST(MemcachedGet, Datagrams) {
  Harness run({"memcached_get"});
  run.all({datagram(true, 1, 0, 1, "get a\r\n", 0), datagram(true, 2, 0, 1, "get b c\r\n", 1),
           datagram(false, 2, 0, 2, "VALUE c 0 6\r\nabc", 3), datagram(false, 1, 0, 1, "END\r\n", 4),
           datagram(false, 2, 1, 2, "def\r\nEND\r\n", 5), datagram(true, 3, 0, 1, "set d 0 0 1\r\nx\r\n", 6),
           datagram(true, 4, 0, 1, binary_request(0, 9, "e"), 7), datagram(false, 4, 0, 1, answer(0, 9, 1), 8)});
  EXPECT_EQ(run.lines(kFields),
            (Lines{"get a 0 miss 0 ", "get b 0 miss 0 ", "get c 1 hit 6 ", "get e 0 miss 0 ", "set d - - 1 request"}));
  EXPECT_EQ(run.tuples()[1]["first_byte_ns"], "2000000");
  EXPECT_EQ(run.tuples()[1]["response_time_ns"], "4000000");
}

TEST(MemcachedGet, DuplicateDatagramsAreReportedOnce) {
  Harness run({"memcached_get"});
  run.all({datagram(true, 1, 0, 1, "get a\r\n", 0), datagram(true, 1, 0, 1, "get a\r\n", 0),
           datagram(false, 1, 0, 1, "END\r\n", 1), datagram(false, 1, 0, 1, "END\r\n", 1)});
  EXPECT_EQ(run.lines(kFields), Lines{"get a 0 miss 0 "});
}

TEST(MemcachedGet, IgnoresOtherProtocols) {
  EXPECT_EQ(parse(one_connection("GET /a HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n")), Lines{});
  EXPECT_EQ(parse(one_connection("get foo\r\n", "$3\r\nbar\r\n")), Lines{});
  EXPECT_EQ(parse(one_connection("quit\r\n", "221 bye\r\n")), Lines{});
  EXPECT_EQ(parse(one_connection("version\r\nstats\r\n", "")), Lines{});
  Conversation greeted;
  greeted.handshake().server("220 ftp\r\n").client("stats\r\n").server("END\r\n").close();
  EXPECT_EQ(parse(greeted.frames()), Lines{});
}

TEST(MemcachedGet, LinesAreBounded) {
  Conversation conversation;
  conversation.handshake().client("get a\r\n").server("END\r\n");
  conversation.client_cut("get " + std::string(100'000, 'x'), 1000).close();
  Harness run({"memcached_get"});
  run.all(conversation.frames());
  EXPECT_EQ(run.lines(kFields), Lines{"get a 0 miss 0 "});
  EXPECT_EQ(run.lost(LossReason::kHeadTooLong), 1u);
}

}  // namespace
}  // namespace tapline
