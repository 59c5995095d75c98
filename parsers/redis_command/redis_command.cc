#include "parsers/redis_command/exchange.h"

namespace tapline {
namespace {

using redis::Exchange;
using redis::Request;
using redis::Response;

// Pairs Redis commands with their replies: RESP2, RESP3 and inline.
class RedisCommand final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override {
    const bool has_request = request != nullptr, answered = response != nullptr;
    const bool never_answered = has_request && request->unanswered;
    if (never_answered) seen = Seen::kBoth;
    out.emit(header, {text_if(has_request, has_request ? request->name() : ""),
                      text_if(has_request, has_request ? request->key() : ""),
                      text_if(answered || never_answered, never_answered ? "unanswered" : status_of(response)),
                      text_if(answered, answered && response->is_error() ? response->status() : ""),
                      time_to_first_byte(request, response), time_to_last_byte(request, response), bytes_of(request),
                      bytes_of(response), Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
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
      .description = "Redis commands and their replies",
      .layer = Layer::kApplication,
      .fields =
          {optional({"command", FieldType::kString, "", "Command in upper case, with its subcommand: GET, CONFIG SET"}),
           optional({"key", FieldType::kString, "",
                     "First key or channel, at most 1,024 bytes; never a password or a script", false, TextKind::kKey}),
           optional({"status", FieldType::kString, "",
                     "ok, nil, error, queued (within MULTI), unanswered (CLIENT REPLY OFF or SKIP)"}),
           optional(
               {"error", FieldType::kString, "", "Code of an error: ERR, WRONGTYPE, MOVED, ..., without its message"}),
           optional({"first_byte_ns", FieldType::kI64, "ns", "First byte of the command to first byte of the reply"}),
           optional({"response_time_ns", FieldType::kI64, "ns", "First byte of the command to last byte of the reply"}),
           optional({"request_bytes", FieldType::kU64, "bytes", "Bytes of the command on the wire", true}),
           optional({"response_bytes", FieldType::kU64, "bytes", "Bytes of the reply on the wire", true}),
           partial_field(), unanswered_field()},
      .main_fields = {"key"},
      .value_field = "response_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"GET", "key:000000000410", "ok", "", "31000", "31000", "36", "9", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_redis_command() { return std::make_unique<RedisCommand>(); }

}  // namespace tapline
