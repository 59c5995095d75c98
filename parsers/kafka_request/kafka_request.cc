#include <array>

#include "parsers/kafka_request/exchange.h"

namespace tapline {
namespace {

using kafka::Exchange;
using kafka::Request;
using kafka::Response;

// A topic's UUID as Kafka's own tools write it: base64 for URLs, without padding.
struct TopicId {
  std::array<char, 22> text;

  explicit TopicId(std::string_view bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    int count = 0;
    auto out = text.begin();
    for (const char c : bytes.substr(0, 16)) {
      bits = bits << 8 | static_cast<uint8_t>(c);
      for (count += 8; count >= 6; count -= 6) *out++ = kDigits[bits >> (count - 6) & 63];
    }
    *out = kDigits[bits << (6 - count) & 63];
  }
};

// Requests to Kafka's brokers and their responses.
class KafkaRequest final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) override;

 private:
  static std::string_view topic_of(const Request& request, TopicId& id) {
    if (!request.topic_is_id) return request.topic();
    id = TopicId(request.topic());
    return {id.text.data(), id.text.size()};
  }
  static std::string_view error_of(const Request* request, const Response* response) {
    if (request != nullptr && request->never_answered) return "unanswered";
    if (response == nullptr || !response->error_known) return "";
    const std::string_view name = kafka::name_of_error(response->error);
    return name.empty() ? "other" : name;
  }
};

void KafkaRequest::tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) {
  TopicId id("");
  const bool asked = request != nullptr;
  const bool whole = asked && request->never_answered;
  out.emit(
      header,
      {Value::string(asked ? request->api->name : ""), Value::u64(asked ? static_cast<uint64_t>(request->version) : 0),
       Value::string(asked ? request->client_id() : ""),
       Value::i64(asked ? request->correlation_id : response->correlation_id),
       Value::string(asked ? topic_of(*request, id) : ""), Value::u64(asked ? request->topics : 0),
       Value::string(error_of(request, response)), since_request(request, response, &ResponseHalf::first_ns),
       since_request(request, response, &ResponseHalf::last_ns), Value::u64(asked ? request->bytes : 0),
       Value::u64(response != nullptr ? response->bytes : 0),
       Value::string(whole ? "" : partial_of(request, response))});
}

const Schema& KafkaRequest::schema() const {
  static const Schema schema = {
      .name = "kafka_request",
      .description = "Requests to Kafka brokers and their responses",
      .layer = Layer::kApplication,
      .fields =
          {{"api", FieldType::kString, "", "Kind of request: Produce, Fetch, Metadata, ..."},
           {"api_version", FieldType::kU64, "", "Version of the request and of its response"},
           {"client_id", FieldType::kString, "", "What the client calls itself"},
           {"correlation_id", FieldType::kI64, "", "Number that request and response bear"},
           {"topic", FieldType::kString, "", "First topic of the request: its name, or where it has none its UUID"},
           {"topic_count", FieldType::kU64, "topics", "How many topics the request names", true},
           {"error", FieldType::kString, "",
            "NONE, NOT_LEADER_OR_FOLLOWER, ... of the response; unanswered = a Produce that asks for no response; "
            "empty = not looked for, or not found"},
           {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"},
           {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"},
           {"request_bytes", FieldType::kU64, "bytes", "The request, with its length", true},
           {"response_bytes", FieldType::kU64, "bytes", "The response, likewise", true},
           {"partial", FieldType::kString, "", "request = no response was seen, response = no request was seen"}},
      .main_fields = {"topic"},
      .value_field = "request_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"Produce", "7", "shop-1", "3", "orders", "1", "NONE", "125340000", "125340000", "155", "58", ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_kafka_request() { return std::make_unique<KafkaRequest>(); }

}  // namespace tapline
