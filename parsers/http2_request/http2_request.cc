#include "parsers/http2_request/exchange.h"

namespace tapline {
namespace {

using http2::Exchange;
using http2::Request;
using http2::Response;

// Pairs unencrypted HTTP/2 and gRPC requests with their responses.
class Http2Request final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override;

 private:
  static std::string_view outcome_of(const Request* request, const Response* response) {
    if (response != nullptr && response->complete) return "complete";
    if (response != nullptr && !response->outcome.empty()) return response->outcome;
    return request != nullptr && !request->outcome.empty() ? request->outcome : "open";
  }
  static std::string_view grpc_method_of(const Request* request, const Response* response) {
    const bool grpc = request != nullptr && (request->grpc || (response != nullptr && response->grpc));
    if (!grpc || !request->path().starts_with('/')) return "";
    return request->path().substr(1);
  }
};

void Http2Request::emit_transaction(const TupleHeader& header, const Request* request, const Response* response,
                                    Seen seen, Emitter& out) {
  const bool has_request = request != nullptr, answered = response != nullptr;
  const bool grpc_known = answered && response->grpc_status_known;
  // A field is empty here if it refers to a table entry that was not captured (RFC 7541 section 2.3.2).
  const auto if_known = [](std::string_view text) { return text_if(!text.empty(), text); };
  out.emit(header,
           {if_known(has_request ? request->method() : ""), if_known(has_request ? request->host() : ""),
            if_known(has_request ? request->path() : ""),
            u64_if(answered && response->status != 0, answered ? response->status : 0),
            text_if(has_request, grpc_method_of(request, response)),
            text_if(answered, grpc_known ? http2::name_of_grpc_status(response->grpc_status) : ""),
            Value::u64(has_request ? request->stream : response->stream), Value::string(outcome_of(request, response)),
            time_to_first_byte(request, answered && response->begun ? response : nullptr),
            time_to_last_byte(request, response), u64_if(has_request, has_request ? request->bytes : 0),
            u64_if(answered, answered ? response->bytes : 0), Value::string(partial_of(seen)),
            Value::boolean(seen == Seen::kUnanswered)});
}

const Schema& Http2Request::schema() const {
  static const Schema schema = {
      .name = "http2_request",
      .description = "Unencrypted HTTP/2 and gRPC requests with their responses",
      .layer = Layer::kApplication,
      .fields =
          {optional({"method", FieldType::kString, "", "GET, POST, ..."}),
           optional({"host", FieldType::kString, "", ":authority, otherwise the host header"}),
           optional({"url", FieldType::kString, "", ":path as sent", false, TextKind::kUrl}),
           optional({"status", FieldType::kU64, "", "Status of the final response"}),
           optional({"grpc_method", FieldType::kString, "", "package.Service/Method of a gRPC call, otherwise empty"}),
           optional({"grpc_status", FieldType::kString, "",
                     "Status in gRPC's trailers, such as OK or NOT_FOUND, otherwise empty"}),
           {"stream_id", FieldType::kU64, "", "ID of the stream in its connection"},
           {"outcome", FieldType::kString, "",
            "complete, goaway, the error code of the reset that ended the stream (CANCEL, REFUSED_STREAM, ...), or "
            "open if its end was not seen"},
           optional(
               {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"}),
           optional(
               {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"}),
           optional({"request_bytes", FieldType::kU64, "bytes", "Compressed header blocks and body", true}),
           optional({"response_bytes", FieldType::kU64, "bytes", "Compressed header blocks and body", true}),
           partial_field(),
           unanswered_field()},
      .main_fields = {"url"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"GET", "10.6.0.66:8080", "/missing", "404", "", "", "1", "complete", "111000", "131000", "37", "203",
                  "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_http2_request() { return std::make_unique<Http2Request>(); }

}  // namespace tapline
