#include "parsers/redis_command/exchange.h"

namespace tapline {
namespace {

using redis::Exchange;
using redis::Request;
using redis::Response;

// Commands of Redis and what they were answered: RESP2, RESP3 and inline.
class RedisCommand final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) override {
    const bool unanswered = request != nullptr && request->unanswered;
    out.emit(header, {Value::string(request != nullptr ? request->name() : ""),
                      Value::string(request != nullptr ? request->key() : ""),
                      Value::string(unanswered ? "unanswered" : status_of(response)),
                      Value::string(response != nullptr && response->is_error() ? response->status() : ""),
                      since_request(request, response, &ResponseHalf::first_ns),
                      since_request(request, response, &ResponseHalf::last_ns),
                      Value::u64(request != nullptr ? request->end - request->begin : 0),
                      Value::u64(response != nullptr ? response->end - response->begin : 0),
                      Value::string(unanswered ? "" : partial_of(request, response))});
  }

 private:
  static std::string_view status_of(const Response* response) {
    if (response == nullptr) return "";
    if (response->is_error()) return "error";
    if (response->null) return "nil";
    return response->status() == "QUEUED" ? "queued" : "ok";
  }
};

const Schema& RedisCommand::schema() const {
  static const Schema schema = {
      .name = "redis_command",
      .description = "Redis commands and their answers",
      .layer = Layer::kApplication,
      .fields = {{"command", FieldType::kString, "", "In upper case, with its subcommand: GET, CONFIG SET"},
                 {"key", FieldType::kString, "",
                  "First key or channel, at most 1,024 bytes; never a password or a script", false, TextKind::kKey},
                 {"status", FieldType::kString, "", "ok, nil, error, queued (within MULTI), unanswered (CLIENT REPLY)"},
                 {"error", FieldType::kString, "", "Code of an error: ERR, WRONGTYPE, MOVED, ..., without its message"},
                 {"first_byte_ns", FieldType::kI64, "ns", "First byte of the command to first byte of the answer"},
                 {"response_time_ns", FieldType::kI64, "ns", "First byte of the command to last byte of the answer"},
                 {"request_bytes", FieldType::kU64, "bytes", "Of the command on the wire", true},
                 {"response_bytes", FieldType::kU64, "bytes", "Of the answer on the wire", true},
                 {"partial", FieldType::kString, "", "request = no answer was seen, response = no command was seen"}},
      .main_fields = {"key"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"GET", "key:000000000410", "ok", "", "31000", "31000", "36", "9", ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_redis_command() { return std::make_unique<RedisCommand>(); }

}  // namespace tapline
