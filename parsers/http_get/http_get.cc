#include "parsers/http_get/exchange.h"

namespace tapline {
namespace {

using http::Exchange;
using http::Request;
using http::Response;

// HTTP/1 requests and responses of every method, paired, with time to first byte and in all.
class HttpGet final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) override {
    out.emit(header, {Value::string(request != nullptr ? request->method() : ""),
                      Value::string(request != nullptr ? request->host() : ""),
                      Value::string(request != nullptr ? request->url() : ""),
                      Value::u64(response != nullptr ? response->status : 0),
                      since_request(request, response, &ResponseHalf::first_ns),
                      since_request(request, response, &ResponseHalf::last_ns),
                      Value::u64(request != nullptr ? request->end - request->begin : 0),
                      Value::u64(response != nullptr ? response->end - response->begin : 0),
                      Value::string(partial_of(request, response))});
  }
};

const Schema& HttpGet::schema() const {
  static const Schema schema = {
      .name = "http_get",
      .description = "HTTP/1 requests and responses of every method, paired",
      .layer = Layer::kApplication,
      .fields = {{"method", FieldType::kString, "", "As sent, empty if no request was seen"},
                 {"host", FieldType::kString, "", "Host header, else the authority of an absolute URL"},
                 {"url", FieldType::kString, "", "Target as sent in the request line", false, TextKind::kUrl},
                 {"status", FieldType::kU64, "", "Status code of the final response, 0 if none was seen"},
                 {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"},
                 {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"},
                 {"request_bytes", FieldType::kU64, "bytes", "Head and body as transferred", true},
                 {"response_bytes", FieldType::kU64, "bytes", "Head and body as transferred", true},
                 {"partial", FieldType::kString, "", "request = no response was seen, response = no request was seen"}},
      .main_fields = {"url"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"GET", "pipe.test", "/v/9/page0759.html", "200", "90000", "112000", "52", "3142", ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_http_get() { return std::make_unique<HttpGet>(); }

}  // namespace tapline
