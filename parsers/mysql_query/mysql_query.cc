#include <algorithm>
#include <memory>

#include "parsers/api/parser.h"
#include "parsers/mysql_query/exchange.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline {
namespace {

using mysql::Command;
using mysql::Response;

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

// What nobody answers is whole without an answer.
std::string_view partial_of(const Command* command, const Response* response) {
  if (command != nullptr && response == nullptr && !mysql::is_answered(command->code)) return "";
  return tapline::partial_of(static_cast<const void*>(command), static_cast<const void*>(response));
}

// Commands of MySQL and MariaDB with their responses, paired.
class MysqlQuery final : public TransactionParser<mysql::Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void tell(const TupleHeader& header, const Command* command, const Response* response, Emitter& out) override {
    static const Response kNoResponse;
    const Response& answer = response != nullptr ? *response : kNoResponse;
    const auto since = [&](int64_t moment_ns) {
      const bool known = command != nullptr && moment_ns != 0;
      return Value::i64(known ? std::max<int64_t>(moment_ns - command->first_ns, 0) : 0);
    };
    out.emit(header, {Value::string(kind_of(command, response)), Value::string(command != nullptr ? command->text : ""),
                      Value::string(name_of(answer.status)), Value::u64(answer.error_code), Value::u64(answer.rows),
                      Value::u64(answer.affected_rows), Value::u64(answer.results), since(answer.first_ns),
                      since(answer.first_row_ns), since(answer.last_row_ns), since(answer.last_ns),
                      Value::u64(command != nullptr ? command->bytes() : 0), Value::u64(answer.end - answer.begin),
                      Value::boolean((command != nullptr && command->cut) || answer.cut),
                      Value::string(partial_of(command, response))});
  }
};

const Schema& MysqlQuery::schema() const {
  static const Schema schema = {
      .name = "mysql_query",
      .description = "MySQL and MariaDB commands with their responses",
      .layer = Layer::kApplication,
      .fields = {{"kind", FieldType::kString, "",
                  "connect, query, prepare, execute, fetch, close, ping, …; empty if no command was seen"},
                 {"statement", FieldType::kString, "",
                  "SQL text as sent, of a prepared statement the text it was prepared with; without passwords", false,
                  TextKind::kSql},
                 {"status", FieldType::kString, "",
                  "ok, error; tls, compressed: what follows can't be read; empty if no response was seen"},
                 {"error_code", FieldType::kU64, "", "The server's, 0 without an error"},
                 {"rows", FieldType::kU64, "rows", "Rows of all results", true},
                 {"affected_rows", FieldType::kU64, "rows", "Changed, as the server says", true},
                 {"results", FieldType::kU64, "results",
                  "Result sets and counts of affected rows: several statements at once", true},
                 {"first_byte_ns", FieldType::kI64, "ns", "First byte of the command to first byte of the response"},
                 {"first_row_ns", FieldType::kI64, "ns", "First byte of the command to first byte of the first row"},
                 {"last_row_ns", FieldType::kI64, "ns", "First byte of the command to last byte of the last row"},
                 {"response_time_ns", FieldType::kI64, "ns", "First byte of the command to last byte of the response"},
                 {"request_bytes", FieldType::kU64, "bytes",
                  "As transferred, with the client's part of a login or a file", true},
                 {"response_bytes", FieldType::kU64, "bytes", "As transferred", true},
                 {"cut", FieldType::kBool, "", "The statement is longer, or part of the response was not captured"},
                 {"partial", FieldType::kString, "", "request = no response was seen, response = no command was seen"}},
      .main_fields = {"statement"},
      .value_field = "response_time_ns",
      .duration = {.field = "response_time_ns"},
      .example = {"query", "SELECT * FROM item WHERE name = 'item-1'", "ok", "0", "1", "0", "1", "77000", "77000",
                  "77000", "77000", "45", "353", "false", ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_mysql_query() { return std::make_unique<MysqlQuery>(); }

}  // namespace tapline
