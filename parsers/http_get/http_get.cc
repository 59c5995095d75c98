#include "parsers/http_get/exchange.h"

namespace tapline {
namespace {

using http::Exchange;
using http::Request;
using http::Response;

// Pairs HTTP/1 requests and responses of every method, with time to first byte and total time.
class HttpGet final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override {
    const bool has_request = request != nullptr;
    out.emit(header, {text_if(has_request, has_request ? request->method() : ""),
                      text_if(has_request, has_request ? request->host() : ""),
                      text_if(has_request, has_request ? request->url() : ""),
                      u64_if(response != nullptr && response->status != 0, response != nullptr ? response->status : 0),
                      time_to_first_byte(request, response), time_to_last_byte(request, response), bytes_of(request),
                      bytes_of(response), Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
  }
};

const Schema& HttpGet::schema() const {
  static const Schema schema = {
      .name = "http_get",
      .description = "HTTP/1 requests and responses of every method, paired",
      .layer = Layer::kApplication,
      .fields = {optional({"method", FieldType::kString, "", "As sent"}),
                 optional({"host", FieldType::kString, "", "Host header, otherwise the authority of an absolute URL"}),
                 optional({"url", FieldType::kString, "", "Target as sent in the request line", false, TextKind::kUrl}),
                 optional({"status", FieldType::kU64, "", "Status code of the final response; none in HTTP/0.9"}),
                 optional({"first_byte_ns", FieldType::kI64, "ns",
                           "First byte of the request to first byte of the response"}),
                 optional({"response_time_ns", FieldType::kI64, "ns",
                           "First byte of the request to last byte of the response"}),
                 optional({"request_bytes", FieldType::kU64, "bytes", "Head and body as transferred", true}),
                 optional({"response_bytes", FieldType::kU64, "bytes", "Head and body as transferred", true}),
                 partial_field(), unanswered_field()},
      .main_fields = {"url"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"GET", "pipe.test", "/v/9/page0759.html", "200", "90000", "112000", "52", "3142", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_http_get() { return std::make_unique<HttpGet>(); }

}  // namespace tapline
