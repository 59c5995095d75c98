#include <array>

#include "parsers/kafka_request/exchange.h"

namespace tapline {
namespace {

using kafka::Exchange;
using kafka::Request;
using kafka::Response;

// A topic's UUID as Kafka's tools write it: URL-safe base64 without padding.
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

// Pairs requests to Kafka brokers with their responses.
class KafkaRequest final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override;

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

void KafkaRequest::emit_transaction(const TupleHeader& header, const Request* request, const Response* response,
                                    Seen seen, Emitter& out) {
  TopicId id("");
  const bool has_request = request != nullptr, answered = response != nullptr;
  if (has_request && request->never_answered) seen = Seen::kBoth;
  out.emit(header,
           {text_if(has_request, has_request ? request->api->name : ""),
            u64_if(has_request, has_request ? static_cast<uint64_t>(request->version) : 0),
            text_if(has_request, has_request ? request->client_id() : ""),
            Value::i64(has_request ? request->correlation_id : response->correlation_id),
            text_if(has_request, has_request ? topic_of(*request, id) : ""),
            u64_if(has_request, has_request ? request->topics : 0),
            text_if(answered || (has_request && request->never_answered), error_of(request, response)),
            time_to_first_byte(request, response), time_to_last_byte(request, response),
            u64_if(has_request, has_request ? request->bytes : 0), u64_if(answered, answered ? response->bytes : 0),
            Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
}

const Schema& KafkaRequest::schema() const {
  static const Schema schema = {
      .name = "kafka_request",
      .description = "Requests to Kafka brokers and their responses",
      .layer = Layer::kApplication,
      .fields = {optional({"api", FieldType::kString, "", "Kind of request: Produce, Fetch, Metadata, ..."}),
                 optional({"api_version", FieldType::kU64, "", "Version of the request and of its response"}),
                 optional({"client_id", FieldType::kString, "", "The client's ID"}),
                 {"correlation_id", FieldType::kI64, "", "Correlation ID of request and response"},
                 optional({"topic", FieldType::kString, "",
                           "First topic of the request: its name, or its UUID if the request has no name"}),
                 optional({"topic_count", FieldType::kU64, "topics", "Number of topics that the request names", true}),
                 optional(
                     {"error", FieldType::kString, "",
                      "Error of the response: NONE, NOT_LEADER_OR_FOLLOWER, ...; unanswered for a Produce with "
                      "acks=0; absent without a response; empty if the error's position is unknown or not captured"}),
                 optional({"first_byte_ns", FieldType::kI64, "ns",
                           "First byte of the request to first byte of the response"}),
                 optional({"response_time_ns", FieldType::kI64, "ns",
                           "First byte of the request to last byte of the response"}),
                 optional({"request_bytes", FieldType::kU64, "bytes", "The request, with its length", true}),
                 optional({"response_bytes", FieldType::kU64, "bytes", "The response, with its length", true}),
                 partial_field(),
                 unanswered_field()},
      .main_fields = {"topic"},
      .value_field = "request_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"Produce", "7", "shop-1", "3", "orders", "1", "NONE", "125340000", "125340000", "155", "58", "",
                  "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_kafka_request() { return std::make_unique<KafkaRequest>(); }

}  // namespace tapline
