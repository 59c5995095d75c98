// Tests, for every transaction parser (one row each), that a request without a response has no response time, status or
// size, and is reported as unanswered if nothing else explains the missing response.
#include <gtest/gtest.h>

#include <set>

#include "parsers/mysql_query/dialogues.h"
#include "parsers/registry.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Dialogue;
using testing::Frame;
using testing::Harness;
using testing::Tuple;

constexpr int64_t kSecond = 1'000'000'000;

std::string number(uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

// The messages of one connection: complete exchanges (`before`), then a request, and the response that it would get.
struct Row {
  std::string parser;
  uint16_t port;
  Dialogue before;
  std::string request;
  std::string answer;
};

std::string http2_frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  return number(payload.size(), 3) + number(type, 1) + number(flags, 1) + number(stream, 4) + payload;
}
std::string kafka_heartbeat(uint32_t id) {
  const std::string body = number(12, 2) + number(3, 2) + number(id, 4) + number(2, 2) + "me" + number(5, 2) + "group" +
                           number(1, 4) + number(2, 2) + "id" + number(0xffff, 2);
  return number(body.size(), 4) + body;
}
std::string kafka_beat(uint32_t id) { return number(10, 4) + number(id, 4) + number(0, 4) + number(0, 2); }
std::string postgres_message(char type, const std::string& payload) {
  return type + number(payload.size() + 4, 4) + payload;
}
std::string postgres_startup() {
  const std::string payload = number(196608, 4) + std::string("user\0eve\0\0", 10);
  return number(payload.size() + 4, 4) + payload;
}
std::string tls_record(uint8_t type, const std::string& body) {
  const std::string message = number(type, 1) + number(body.size(), 3) + body;
  return number(22, 1) + number(0x0303, 2) + number(message.size(), 2) + message;
}
std::string client_hello() {
  return tls_record(1, number(0x0303, 2) + std::string(32, 'r') + number(0, 1) + number(2, 2) + number(0xc02f, 2) +
                           number(1, 1) + number(0, 1) + number(0, 2));
}
std::string server_hello() {
  return tls_record(
      2, number(0x0303, 2) + std::string(32, 's') + number(0, 1) + number(0xc02f, 2) + number(0, 1) + number(0, 2));
}

std::vector<Row> tcp_rows() {
  const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n", ok = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings = http2_frame(4, 0, 0, "");
  const std::string redis_get = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", get_key = "get key\r\n";
  const std::string postgres_ready = postgres_message('Z', "I"), select = std::string("select 1\0", 9);
  const std::string socks_request = number(0x0401, 2) + number(80, 2) + number(0x0a000003, 4) + number(0, 1);
  const std::string socks_reply = number(0x005a, 2) + number(0, 6);
  const std::string done = postgres_message('C', std::string("SELECT 1\0", 9)) + postgres_ready;
  return {
      {"http_get", 80, {{true, get}, {false, ok}}, get, ok},
      {"http2_request",
       80,
       {{true, preface + settings + http2_frame(1, 5, 1, "\x82\x84\x86")},
        {false, settings + http2_frame(1, 5, 1, "\x88")}},
       http2_frame(1, 5, 3, "\x82\x84\x86"),
       http2_frame(1, 5, 3, "\x88")},
      {"redis_command", 6379, {{true, redis_get}, {false, "$1\r\nv\r\n"}}, redis_get, "$1\r\nv\r\n"},
      {"memcached_get", 11211, {{true, get_key}, {false, "END\r\n"}}, get_key, "END\r\n"},
      {"mysql_query", 3306, mysql_test::logged_in(), mysql_test::query("select 1"), mysql_test::result_set(1)},
      {"postgres_query",
       5432,
       {{true, postgres_startup()}, {false, postgres_message('R', number(0, 4)) + postgres_ready}},
       postgres_message('Q', select),
       done},
      {"kafka_request", 9092, {{true, kafka_heartbeat(1)}, {false, kafka_beat(1)}}, kafka_heartbeat(2), kafka_beat(2)},
      {"tls_hello", 443, {}, client_hello(), server_hello()},
      {"socks_request", 1080, {}, socks_request, socks_reply},
  };
}

Conversation spoken(const Row& row) {
  Conversation conversation({.server_port = row.port});
  conversation.handshake();
  for (const auto& piece : row.before) {
    piece.from_client ? conversation.client(piece.bytes) : conversation.server(piece.bytes);
  }
  return conversation.client(row.request).server_ack();
}

// Expects all values of the response to be absent from the last tuple, and its `unanswered` to be as given. Returns
// this tuple.
Tuple expect_no_response(Harness& run, const std::string& unanswered) {
  if (run.tuples().empty()) {
    ADD_FAILURE() << "no tuple";
    return {};
  }
  const Tuple tuple = run.tuples().back();
  static const std::set<std::string> kOfAnswers = {
      "status", "first_byte_ns", "response_time_ns", "answer_time_ns", "answer_ns",    "handshake_ns", "response_bytes",
      "rows",   "rcode",         "answer_count",     "error_code",     "hit",          "rtt_ns",       "setup_time_ns",
      "error",  "sqlstate",      "results",          "affected_rows",  "first_row_ns", "last_row_ns",  "cipher_suite"};
  for (const auto& [name, value] : tuple.values) {
    if (kOfAnswers.contains(name)) EXPECT_EQ(value, "-") << name;
  }
  EXPECT_EQ(tuple.values.at("partial"), "request");
  EXPECT_EQ(tuple.values.at("unanswered"), unanswered);
  return tuple;
}

class Unanswered : public ::testing::TestWithParam<Row> {};

TEST_P(Unanswered, IfTheConnectionIsClosedWithoutAResponse) {
  Harness run({GetParam().parser});
  run.all(spoken(GetParam()).close().frames());
  expect_no_response(run, "true");
}

TEST_P(Unanswered, IfTheClientResets) {
  Harness run({GetParam().parser});
  run.all(spoken(GetParam()).client("", tcp_flag::kRst | tcp_flag::kAck).frames());
  expect_no_response(run, "true");
}

TEST_P(Unanswered, NotIfTheCaptureEndsFirst) {
  Harness run({GetParam().parser});
  run.all(spoken(GetParam()).frames());
  expect_no_response(run, "false");
}

TEST_P(Unanswered, NotIfTheResponseWasLost) {
  Conversation conversation = spoken(GetParam());
  const size_t answer = conversation.frames().size();
  conversation.server(GetParam().answer).client_ack().close();
  conversation.frames().erase(conversation.frames().begin() + static_cast<ptrdiff_t>(answer));
  Harness run({GetParam().parser});
  run.all(conversation.frames());
  expect_no_response(run, "false");
}

TEST_P(Unanswered, IsFalseForAnsweredRequests) {
  Harness run({GetParam().parser});
  run.all(spoken(GetParam()).server(GetParam().answer).client_ack().close().frames());
  ASSERT_FALSE(run.tuples().empty());
  for (const Tuple& tuple : run.tuples()) {
    EXPECT_EQ(tuple.values.at("partial"), "");
    EXPECT_EQ(tuple.values.at("unanswered"), "false");
  }
}

INSTANTIATE_TEST_SUITE_P(Parsers, Unanswered, ::testing::ValuesIn(tcp_rows()),
                         [](const auto& info) { return info.param.parser; });

// Datagram flows have no end, so only the elapsed time shows that a response is missing.

Frame dns_question(int64_t time_ns, uint16_t id) {
  return testing::udp_frame({.payload = number(id, 2) + number(0x0100, 2) + number(1, 2) + number(0, 6) +
                                        std::string("\1a\4test\0", 8) + number(1, 2) + number(1, 2)},
                            time_ns);
}
Frame memcached_request(int64_t time_ns, uint16_t id) {
  return testing::udp_frame(
      {.dst_port = 11211, .payload = number(id, 2) + number(0, 2) + number(1, 2) + number(0, 2) + "get key\r\n"},
      time_ns);
}
Frame echo(int64_t time_ns, uint16_t id) {
  return testing::icmp_frame("10.0.0.1", "10.0.0.2", number(8, 1) + number(0, 3) + number(id, 2) + number(1, 2),
                             time_ns);
}

struct DatagramRow {
  std::string parser;
  Frame (*make_request)(int64_t time_ns, uint16_t id);
  int64_t timeout_ns;
};

class UnansweredDatagrams : public ::testing::TestWithParam<DatagramRow> {};

TEST_P(UnansweredDatagrams, ASilentServerAndTheEndOfTheCapture) {
  const DatagramRow& row = GetParam();
  Harness run({row.parser});
  run.all({row.make_request(1000 * kSecond, 1), row.make_request(1000 * kSecond + 2 * row.timeout_ns, 2)});
  ASSERT_EQ(run.tuples().size(), 2u);
  std::multiset<std::string> reported;
  for (const Tuple& tuple : run.tuples()) reported.insert(tuple.values.at("unanswered"));
  EXPECT_EQ(reported, (std::multiset<std::string>{"false", "true"}));
  EXPECT_EQ(run.tuples()[0].values.at("unanswered"), "true") << "the older question comes first";
  expect_no_response(run, "false");
}

TEST_P(UnansweredDatagrams, AreReportedDuringTheCapture) {
  const DatagramRow& row = GetParam();
  Harness run({row.parser});
  run.feed({row.make_request(1000 * kSecond, 1)});
  // Time advances in steps of a second, as in a live monitor.
  for (int64_t passed_ns = 0; passed_ns <= 2 * row.timeout_ns; passed_ns += kSecond) {
    run.engine().advance(1000 * kSecond + passed_ns);
  }
  expect_no_response(run, "true");
}

INSTANTIATE_TEST_SUITE_P(Parsers, UnansweredDatagrams,
                         ::testing::Values(DatagramRow{"dns_query", dns_question, 15 * kSecond},
                                           DatagramRow{"memcached_get", memcached_request, 60 * kSecond},
                                           DatagramRow{"icmp", echo, 10 * kSecond}),
                         [](const auto& info) { return info.param.parser; });

TEST(UnansweredTable, ListsEveryParserOfTransactions) {
  std::set<std::string> tested = {"dns_query", "icmp"};
  for (const Row& row : tcp_rows()) tested.insert(row.parser);
  for (const std::string& name : parser_names()) {
    const Schema schema = make_parser(name)->schema();
    for (const Field& field : schema.fields) {
      if (field.name == "partial") EXPECT_TRUE(tested.contains(name)) << name;
    }
  }
}

}  // namespace
}  // namespace tapline
