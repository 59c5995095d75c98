#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parsers/kafka_request/api.h"
#include "parsers/testing/capture_file.h"
#include "parsers/testing/conversation.h"
#include "parsers/testing/harness.h"

namespace tapline {
namespace {

using testing::Conversation;
using testing::Frame;
using testing::Harness;
using Lines = std::vector<std::string>;

const Lines kFields = {"api", "api_version", "client_id", "correlation_id", "topic", "error", "partial"};

Lines parse(const std::vector<Frame>& frames, const Lines& fields = kFields) {
  return Harness({"kafka_request"}).all(frames).lines(fields);
}

// ---- writing Kafka ----

std::string number(int64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}
std::string text(const std::string& value) { return number(static_cast<int64_t>(value.size()), 2) + value; }
std::string compact(const std::string& value) { return number(static_cast<int64_t>(value.size()) + 1, 1) + value; }
std::string with_length(const std::string& message) {
  return number(static_cast<int64_t>(message.size()), 4) + message;
}
std::string request(int key, int version, int id, const std::string& body, bool flexible = false,
                    const std::string& client = "me") {
  return with_length(number(key, 2) + number(version, 2) + number(id, 4) + text(client) +
                     (flexible ? std::string(1, '\0') : "") + body);
}
std::string response(int id, const std::string& body, bool flexible = false) {
  return with_length(number(id, 4) + (flexible ? std::string(1, '\0') : "") + body);
}

constexpr int kProduce = 0, kMetadata = 3, kHeartbeat = 12, kSaslHandshake = 17, kApiVersions = 18;
std::string produce(int id, const std::string& topic, int acks = -1, size_t record_bytes = 20) {
  return request(kProduce, 7, id,
                 number(-1, 2) + number(acks, 2) + number(1000, 4) + number(1, 4) + text(topic) + number(1, 4) +
                     number(0, 4) + number(static_cast<int64_t>(record_bytes), 4) + std::string(record_bytes, 'r'));
}
std::string produced(int id, const std::string& topic, int error = 0, size_t more = 0) {
  return response(id, number(1, 4) + text(topic) + number(1, 4) + number(0, 4) + number(error, 2) + number(7, 8) +
                          number(-1, 8) + number(0, 8) + number(0, 4) + std::string(more, 'm'));
}
std::string heartbeat(int id) { return request(kHeartbeat, 3, id, text("group")); }
std::string beat(int id, int error = 0) { return response(id, number(0, 4) + number(error, 2)); }

std::vector<Frame> one_connection(const std::string& requests, const std::string& responses) {
  return Conversation().handshake().client(requests).server(responses).client_ack().close().frames();
}

// ---- messages ----

TEST(KafkaRequest, ErrorOfAResponseThatCameBeforeItsRequest) {
  std::vector<Frame> frames = Conversation()
                                  .handshake()
                                  .client(heartbeat(1))
                                  .server(beat(1))
                                  .client(produce(2, "orders"))
                                  .server(produced(2, "orders", 6))
                                  .client(heartbeat(3))
                                  .server(beat(3))
                                  .frames();
  std::swap(frames[5], frames[6]);
  EXPECT_EQ(parse(frames), (Lines{"Heartbeat 3 me 1  NONE ", "Produce 7 me 2 orders NOT_LEADER_OR_FOLLOWER ",
                                  "Heartbeat 3 me 3  NONE "}));
}

TEST(KafkaRequest, AResponseCapturedBeforeItsRequest) {
  std::vector<Frame> frames = Conversation()
                                  .handshake()
                                  .client(heartbeat(1))
                                  .server(beat(1, 27))
                                  .client(produce(2, "orders"))
                                  .server(produced(2, "orders"))
                                  .frames();
  std::swap(frames[3], frames[4]);
  EXPECT_EQ(parse(frames), (Lines{"Heartbeat 3 me 1  REBALANCE_IN_PROGRESS ", "Produce 7 me 2 orders NONE "}));
}

TEST(KafkaRequest, PairsAtEveryCutOfTheStream) {
  const std::string requests = request(kApiVersions, 3, 1, compact("lib") + compact("1.0") + '\0', true) +
                               produce(2, "orders", 1, 2000) + heartbeat(3);
  const std::string responses = response(1, number(0, 2) + number(1, 1)) + produced(2, "orders", 6, 1500) + beat(3, 27);
  const Lines expected = {"ApiVersions 3 me 1  NONE ", "Produce 7 me 2 orders NOT_LEADER_OR_FOLLOWER ",
                          "Heartbeat 3 me 3  REBALANCE_IN_PROGRESS "};
  ASSERT_EQ(parse(one_connection(requests, responses)), expected);
  for (size_t cut = 1; cut < requests.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(requests.substr(0, cut)).client(requests.substr(cut)).server(responses).close();
    ASSERT_EQ(parse(conversation.frames()), expected) << "requests cut at " << cut;
  }
  for (size_t cut = 1; cut < responses.size(); ++cut) {
    Conversation conversation;
    conversation.handshake().client(requests).server(responses.substr(0, cut)).server(responses.substr(cut)).close();
    ASSERT_EQ(parse(conversation.frames()), expected) << "responses cut at " << cut;
  }
  Conversation bytes;
  bytes.handshake().client_cut(requests, 1).server_cut(responses, 1).close();
  EXPECT_EQ(parse(bytes.frames()), expected) << "cut into single bytes";
}

TEST(KafkaRequest, FlexibleVersionsAndTopicIds) {
  const std::string id = "0123456789abcdef";
  const std::string metadata_request =
      request(kProduce, 13, 5, number(0, 1) + number(1, 2) + number(9, 4) + '\x02' + id + '\x01', true);
  const std::string metadata_response = response(5, '\x02' + id + '\x02' + number(0, 4) + number(100, 2), true);
  const std::string metadata = request(kMetadata, 12, 6,
                                       std::string("\x03", 1) + std::string(16, '\0') + compact("a") + '\0' +
                                           std::string(16, '\0') + compact("b") + '\0',
                                       true);
  EXPECT_EQ(parse(one_connection(metadata_request + metadata, metadata_response),
                  {"api", "topic", "topic_count", "error", "request_bytes", "response_bytes", "partial"}),
            (Lines{"Produce MDEyMzQ1Njc4OWFiY2RlZg 1 UNKNOWN_TOPIC_ID 42 33 ", "Metadata a 2 - 56 - request"}));
}

TEST(KafkaRequest, ErrorsAfterTheBrokersInMetadata) {
  const std::string broker = number(1, 4) + text("host") + number(9092, 4) + number(-1, 2);
  const std::string metadata_response = number(0, 4) + number(2, 4) + broker + broker + text("cluster") + number(1, 4) +
                                        number(1, 4) + number(3, 2) + text("t") + number(0, 1) + number(0, 4);
  EXPECT_EQ(parse(one_connection(request(kMetadata, 4, 9, number(1, 4) + text("t") + number(0, 1)),
                                 response(9, metadata_response))),
            Lines{"Metadata 4 me 9 t UNKNOWN_TOPIC_OR_PARTITION "});
}

TEST(KafkaRequest, AProduceRequestWithoutAcksIsCompleteWithoutAResponse) {
  EXPECT_EQ(parse(one_connection(produce(1, "a", 0) + produce(2, "a", 0, 3000) + produce(3, "a", 1), produced(3, "a"))),
            (Lines{"Produce 7 me 1 a unanswered ", "Produce 7 me 2 a unanswered ", "Produce 7 me 3 a NONE "}));
}

TEST(KafkaRequest, AnswersInAnyOrder) {
  EXPECT_EQ(parse(one_connection(heartbeat(1) + produce(2, "a") + heartbeat(3), beat(3) + produced(2, "a") + beat(1))),
            (Lines{"Heartbeat 3 me 3  NONE ", "Produce 7 me 2 a NONE ", "Heartbeat 3 me 1  NONE "}));
}

TEST(KafkaRequest, ADuplicateCorrelationIdIsNotPaired) {
  EXPECT_EQ(
      parse(one_connection(heartbeat(0) + produce(0, "a") + heartbeat(0), beat(0) + produced(0, "a") + beat(0)),
            {"api", "partial"}),
      (Lines{"Heartbeat request", "Produce request", "Heartbeat request", "- response", "- response", "- response"}));
}

TEST(KafkaRequest, UnknownVersionsAreNotParsed) {
  EXPECT_EQ(parse(one_connection(request(kProduce, 15, 4, std::string(40, '\x01'), true),
                                 response(4, std::string(40, '\x01'), true))),
            Lines{"Produce 15 me 4   "});
}

TEST(KafkaRequest, PasswordsAreNotReported) {
  const std::string secret("\0user\0secret", 12);
  const std::string plain = request(kSaslHandshake, 0, 1, text("PLAIN"));
  const auto frames = Conversation()
                          .handshake()
                          .client(plain)
                          .server(response(1, number(0, 2) + number(1, 4) + text("PLAIN")))
                          .client(with_length(secret))
                          .server(with_length(""))
                          .client(heartbeat(2))
                          .server(beat(2))
                          .close()
                          .frames();
  EXPECT_EQ(parse(frames), (Lines{"SaslHandshake 0 me 1  NONE ", "Heartbeat 3 me 2  NONE "}));
  const std::string authenticate = request(36, 1, 3, number(12, 4) + secret);
  Harness run({"kafka_request"});
  run.all(one_connection(authenticate, response(3, number(58, 2) + text("no") + number(0, 4) + number(0, 8))));
  EXPECT_EQ(run.lines(kFields), Lines{"SaslAuthenticate 1 me 3  SASL_AUTHENTICATION_FAILED "});
}

TEST(KafkaRequest, Times) {
  Conversation conversation;
  const std::string metadata_request = heartbeat(1), metadata_response = beat(1);
  conversation.handshake().client(metadata_request.substr(0, 5)).client(metadata_request.substr(5)).wait_ns(50'000'000);
  conversation.server(metadata_response.substr(0, 9)).wait_ns(20'000'000).server(metadata_response.substr(9)).close();
  EXPECT_EQ(parse(conversation.frames(), {"first_byte_ns", "response_time_ns"}), Lines{"52000000 73000000"});
}

// ---- losses ----

TEST(KafkaRequest, OneWayCaptures) {
  std::vector<Frame> metadata_request, metadata_response;
  const std::string requests = produce(1, "a", 1) + heartbeat(2);
  for (const Frame& frame : one_connection(requests, produced(1, "a") + beat(2))) {
    (frame.bytes[14 + 15] == 1 ? metadata_request : metadata_response).push_back(frame);
  }
  EXPECT_EQ(parse(metadata_request), (Lines{"Produce 7 me 1 a - request", "Heartbeat 3 me 2  - request"}));
  EXPECT_EQ(parse(metadata_response), Lines{}) << "a number and a length identify neither the request nor the protocol";
}

TEST(KafkaRequest, JoinsInMidStream) {
  Conversation conversation;
  const std::string large = produce(1, "a", 1, 4000);
  conversation.handshake().client(large.substr(0, 1400)).client(large.substr(1400)).server(produced(1, "a"));
  for (int id = 2; id < 5; ++id) conversation.client(produce(id, "b", 1)).server(produced(id, "b"));
  std::vector<Frame> frames = conversation.close().frames();
  frames.erase(frames.begin(), frames.begin() + 4);
  EXPECT_EQ(parse(frames), (Lines{"Produce 7 me 2 b NONE ", "Produce 7 me 3 b NONE ", "Produce 7 me 4 b NONE "}));
}

TEST(KafkaRequest, TruncatedCaptures) {
  std::vector<Frame> frames = one_connection(produce(1, "orders", 1, 900), produced(1, "orders", 0, 900));
  for (Frame& frame : frames) {
    if (frame.bytes.size() <= 120) continue;
    frame.wire_bytes = static_cast<uint32_t>(frame.bytes.size());
    frame.bytes.resize(120);
  }
  EXPECT_EQ(parse(frames), Lines{"Produce 7 me 1 orders NONE "});
}

// Each topic is requested once and its response has a unique length, so a wrong pair is detected.
TEST(KafkaRequest, NeverPairsWrongIfFramesAreLost) {
  for (const int batch : {1, 3}) {
    Conversation conversation;
    conversation.handshake();
    for (int i = 0; i < 12; i += batch) {
      std::string requests, answers;
      for (int id = i; id < i + batch; ++id) {
        requests += produce(id, "topic" + std::to_string(id), 1, 30);
        answers += produced(id, "t", 0, static_cast<size_t>(id));
      }
      conversation.client_cut(requests, 60).server_cut(answers, 40);
    }
    const std::vector<Frame> frames = conversation.close().frames();
    const size_t min = produced(0, "t").size();
    size_t pairs = 0;
    for (size_t first = 0; first < frames.size(); ++first) {
      for (size_t second = first; second < frames.size(); ++second) {
        std::vector<Frame> left;
        for (size_t i = 0; i < frames.size(); ++i) {
          if (i != first && i != second) left.push_back(frames[i]);
        }
        Harness run({"kafka_request"});
        run.all(left);
        for (const testing::Tuple& tuple : run.tuples()) {
          if (!tuple["partial"].empty()) continue;
          ++pairs;
          EXPECT_EQ(std::stoul(tuple["response_bytes"]), min + std::stoul(tuple["correlation_id"]));
          // A request may be reported without its topic if its middle was lost.
          if (!tuple["topic"].empty()) {
            EXPECT_EQ(tuple["topic"], "topic" + tuple["correlation_id"]);
          }
        }
      }
    }
    EXPECT_GT(pairs, frames.size() * (frames.size() + 1) / 2 * 9) << "of 12 per run";
  }
}

TEST(KafkaRequest, IgnoresOtherProtocols) {
  EXPECT_EQ(parse(one_connection("GET /a HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n")), Lines{});
  EXPECT_EQ(parse(one_connection("*1\r\n$4\r\nPING\r\n", "+PONG\r\n")), Lines{});
  const std::string startup = with_length(number(3, 2) + number(0, 2) + std::string("user\0al\0database\0d\0\0", 20));
  EXPECT_EQ(parse(one_connection(startup, "R" + number(8, 4) + number(0, 4))), Lines{});
  EXPECT_EQ(parse(one_connection(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), "\x16\x03\x03")),
            Lines{});
  EXPECT_EQ(parse(one_connection(std::string(300, '\0'), std::string(300, '\0'))), Lines{});
}

// ---- a real broker ----

// Returns a string that identifies a request: its client, API, API version and correlation ID.
std::string name_of(const testing::Tuple& tuple) {
  return tuple["client_id"] + " " + tuple["api"] + " " + tuple["api_version"] + " " + tuple["correlation_id"];
}
std::string name_of(const nlohmann::json& row) {
  const std::string api = row["api"] == "ApiVersion" ? "ApiVersions" : row["api"];  // librdkafka's name
  return row["client_id"].get<std::string>() + " " + api + " " + row["version"].dump() + " " +
         row["correlation_id"].dump();
}

// Compares the tuples with the clients' logs of their requests. Only librdkafka logs sizes, and its response sizes
// exclude the length field and the correlation ID.
TEST(KafkaRequest, MatchesTheLogOfTheClients) {
  const std::string folder = TAPLINE_SOURCE_DIR "/parsers/kafka_request/captures/";
  Harness run({"kafka_request"});
  run.all(testing::read_capture(folder + "kafka_small.pcap.zst"));
  std::multimap<std::string, const testing::Tuple*> seen;
  for (const testing::Tuple& tuple : run.tuples()) seen.emplace(name_of(tuple), &tuple);
  size_t requests = 0, sizes = 0, unanswered = 0;
  for (const std::string& line : testing::read_lines(folder + "kafka_small.jsonl")) {
    const nlohmann::json row = nlohmann::json::parse(line);
    const auto it = seen.find(name_of(row));
    ASSERT_NE(it, seen.end()) << line;
    const testing::Tuple& tuple = *it->second;
    EXPECT_EQ(tuple["partial"], "") << line;
    // Other requests without a response in the log got one after the client had closed.
    const bool never = !row["answered"].get<bool>() && row["api"] == "Produce";
    EXPECT_EQ(tuple["error"] == "unanswered", never) << line;
    unanswered += never;
    ++requests;
    if (row.contains("response_bytes") && row["answered"].get<bool>()) {
      ++sizes;
      EXPECT_EQ(tuple["request_bytes"], row["request_bytes"].dump());
      EXPECT_EQ(std::stoull(tuple["response_bytes"]), row["response_bytes"].get<uint64_t>() + 8);
      // The client includes the time that a request waits to be sent, and may read its clock a while after sending.
      EXPECT_LE(std::stod(tuple["response_time_ns"]), row["rtt_ms"].get<double>() * 1e6 + 10e6) << line;
    }
    seen.erase(it);
  }
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(requests, 172u);
  EXPECT_GT(sizes, 100u);
  EXPECT_EQ(unanswered, 6u);
}

}  // namespace
}  // namespace tapline
