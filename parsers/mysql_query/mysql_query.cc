#include <algorithm>
#include <memory>

#include "parsers/api/parser.h"
#include "parsers/mysql_query/exchange.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline {
namespace {

using mysql::Command;
using mysql::Response;
using mysql::Status;

std::string_view name_of(mysql::Status status) {
  switch (status) {
    case mysql::Status::kNone:
      return "";
    case mysql::Status::kOk:
      return "ok";
    case mysql::Status::kError:
      return "error";
    case mysql::Status::kTls:
      return "tls";
    case mysql::Status::kCompressed:
      return "compressed";
  }
  return "";
}

std::string_view kind_of(const Command* command, const Response* response) {
  if (command != nullptr) return mysql::kind_of(command->code);
  return response->greeting ? mysql::kind_of(mysql::code::kConnect) : "";
}

// Returns false if no command was seen, or if it executes a statement that was prepared before the capture or in a gap.
bool knows_text(const Command* command) {
  return command != nullptr && (command->code != mysql::code::kExecute || !command->text.empty());
}

// Returns the parts that were seen. A command that never gets a response is complete on its own.
Seen seen_of(const Command* command, Seen seen) {
  const bool never_answered = command != nullptr && !mysql::is_answered(command->code);
  return never_answered && seen != Seen::kLate ? Seen::kBoth : seen;
}

// Pairs MySQL and MariaDB commands with their responses.
class MysqlQuery final : public TransactionParser<mysql::Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void emit_transaction(const TupleHeader& header, const Command* command, const Response* response, Seen seen,
                        Emitter& out) override {
    static const Response kNoResponse;
    const Response& answer = response != nullptr ? *response : kNoResponse;
    const bool has_request = command != nullptr, answered = response != nullptr, whole = answered && !answer.cut;
    const auto since = [&](int64_t moment_ns) {
      return whole && moment_ns != 0 ? duration_of(command, moment_ns) : Value::absent(FieldType::kI64);
    };
    seen = seen_of(command, seen);
    out.emit(header,
             {text_if(has_request || answer.greeting, has_request || answer.greeting ? kind_of(command, response) : ""),
              text_if(knows_text(command), has_request ? command->text : ""),
              text_if(answer.status != Status::kNone, name_of(answer.status)),
              u64_if(whole || answer.error_code != 0, answer.error_code), u64_if(whole, answer.rows),
              u64_if(whole, answer.affected_rows), u64_if(whole, answer.results), time_to_first_byte(command, response),
              since(answer.first_row_ns), since(answer.last_row_ns), time_to_last_byte(command, response),
              u64_if(has_request && command->complete, has_request ? command->bytes() : 0), bytes_of(response),
              Value::boolean((has_request && command->cut) || answer.cut), Value::string(partial_of(seen)),
              Value::boolean(seen == Seen::kUnanswered)});
  }
};

const Schema& MysqlQuery::schema() const {
  static const Schema schema = {
      .name = "mysql_query",
      .description = "MySQL and MariaDB commands with their responses",
      .layer = Layer::kApplication,
      .fields =
          {optional({"kind", FieldType::kString, "", "connect, query, prepare, execute, fetch, close, ping, …"}),
           optional({"statement", FieldType::kString, "",
                     "SQL text as sent or, for a prepared statement, as prepared; without passwords", false,
                     TextKind::kSql}),
           optional({"status", FieldType::kString, "",
                     "ok or error; tls or compressed if the rest of the connection can't be read"}),
           optional({"error_code", FieldType::kU64, "", "The server's error code; 0 if there was no error"}),
           optional({"rows", FieldType::kU64, "rows", "Rows of all results", true}),
           optional({"affected_rows", FieldType::kU64, "rows", "Rows changed, as reported by the server", true}),
           optional(
               {"results", FieldType::kU64, "results",
                "Number of results (result sets and counts of affected rows); several if statements are sent together",
                true}),
           optional(
               {"first_byte_ns", FieldType::kI64, "ns", "First byte of the command to first byte of the response"}),
           optional(
               {"first_row_ns", FieldType::kI64, "ns", "First byte of the command to first byte of the first row"}),
           optional({"last_row_ns", FieldType::kI64, "ns", "First byte of the command to last byte of the last row"}),
           optional(
               {"response_time_ns", FieldType::kI64, "ns", "First byte of the command to last byte of the response"}),
           optional({"request_bytes", FieldType::kU64, "bytes",
                     "Bytes as transferred, with the client's part of a login or a file", true}),
           optional({"response_bytes", FieldType::kU64, "bytes", "As transferred", true}),
           {"cut", FieldType::kBool, "",
            "True if the statement was truncated or a part of the response was not captured"},
           partial_field(),
           unanswered_field()},
      .main_fields = {"statement"},
      .value_field = "response_time_ns",
      .duration = {.field = "response_time_ns"},
      .example = {"query", "SELECT * FROM item WHERE name = 'item-1'", "ok", "0", "1", "0", "1", "77000", "77000",
                  "77000", "77000", "45", "353", "false", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_mysql_query() { return std::make_unique<MysqlQuery>(); }

}  // namespace tapline
