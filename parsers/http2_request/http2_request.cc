#include "parsers/http2_request/exchange.h"

namespace tapline {
namespace {

using http2::Exchange;
using http2::Request;
using http2::Response;

// Requests of HTTP/2 and gRPC with their responses, where they are not encrypted.
class Http2Request final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) override;

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

void Http2Request::tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) {
  const bool asked = request != nullptr, answered = response != nullptr;
  const Value first_byte_ns =
      answered && response->begun ? since_request(request, response, &ResponseHalf::first_ns) : Value::i64(0);
  out.emit(
      header,
      {Value::string(asked ? request->method() : ""), Value::string(asked ? request->host() : ""),
       Value::string(asked ? request->path() : ""), Value::u64(answered ? response->status : 0),
       Value::string(grpc_method_of(request, response)),
       Value::string(answered && response->grpc_status_known ? http2::name_of_grpc_status(response->grpc_status) : ""),
       Value::u64(asked ? request->stream : response->stream), Value::string(outcome_of(request, response)),
       first_byte_ns, since_request(request, response, &ResponseHalf::last_ns), Value::u64(asked ? request->bytes : 0),
       Value::u64(answered ? response->bytes : 0), Value::string(partial_of(request, response))});
}

const Schema& Http2Request::schema() const {
  static const Schema schema = {
      .name = "http2_request",
      .description = "HTTP/2 and gRPC requests with their responses, where they are not encrypted",
      .layer = Layer::kApplication,
      .fields = {{"method", FieldType::kString, "", "GET, POST, ..."},
                 {"host", FieldType::kString, "", ":authority, else the host header"},
                 {"url", FieldType::kString, "", ":path as sent", false, TextKind::kUrl},
                 {"status", FieldType::kU64, "", "Of the final response; 0 if none was seen, or it can't be known"},
                 {"grpc_method", FieldType::kString, "", "package.Service/Method of a call by gRPC, else empty"},
                 {"grpc_status", FieldType::kString, "", "OK, NOT_FOUND, ... of gRPC's trailers, else empty"},
                 {"stream_id", FieldType::kU64, "", "Number of the stream in its connection"},
                 {"outcome", FieldType::kString, "",
                  "complete, the error of the reset that ended it (CANCEL, REFUSED_STREAM, ...), goaway, or open = its "
                  "end was not seen"},
                 {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"},
                 {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"},
                 {"request_bytes", FieldType::kU64, "bytes", "Header blocks as compressed, and body", true},
                 {"response_bytes", FieldType::kU64, "bytes", "Header blocks as compressed, and body", true},
                 {"partial", FieldType::kString, "", "request = no response was seen, response = no request was seen"}},
      .main_fields = {"url"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"GET", "10.6.0.66:8080", "/missing", "404", "", "", "1", "complete", "111000", "131000", "37", "203",
                  ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_http2_request() { return std::make_unique<Http2Request>(); }

}  // namespace tapline
