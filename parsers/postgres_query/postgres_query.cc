#include <algorithm>
#include <memory>

#include "parsers/api/parser.h"
#include "parsers/postgres_query/exchange.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline {
namespace {

using postgres::Kind;
using postgres::Request;
using postgres::Response;
using postgres::Status;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "";
    case Kind::kConnect:
      return "connect";
    case Kind::kQuery:
      return "query";
    case Kind::kPrepare:
      return "prepare";
    case Kind::kBind:
      return "bind";
    case Kind::kExecute:
      return "execute";
    case Kind::kFunction:
      return "function";
    case Kind::kCancel:
      return "cancel";
    case Kind::kTerminate:
      return "terminate";
  }
  return "";
}

// What was bound and completed was executed, whether that was seen or not.
Kind kind_of(const Request* request, const Response* response) {
  if (request == nullptr) return Kind::kNone;
  return request->kind == Kind::kBind && response != nullptr && response->results > 0 ? Kind::kExecute : request->kind;
}

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kNone:
      return "";
    case Status::kOk:
      return "ok";
    case Status::kError:
      return "error";
    case Status::kSkipped:
      return "skipped";
    case Status::kSuspended:
      return "suspended";
    case Status::kTls:
      return "tls";
    case Status::kGss:
      return "gss";
  }
  return "";
}

// What nobody answers is whole without an answer.
std::string_view partial_of(const Request* request, const Response* response) {
  const bool unanswered = request != nullptr && (request->kind == Kind::kCancel || request->kind == Kind::kTerminate);
  return unanswered ? "" : tapline::partial_of(static_cast<const void*>(request), static_cast<const void*>(response));
}

// Queries and prepared statements of PostgreSQL with their responses, paired.
class PostgresQuery final : public TransactionParser<postgres::Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void tell(const TupleHeader& header, const Request* request, const Response* response, Emitter& out) override {
    static const Response kNoResponse;
    const Response& answer = response != nullptr ? *response : kNoResponse;
    const bool both = request != nullptr && response != nullptr;
    const bool cut = (request != nullptr && request->cut) || answer.cut || (both && request->lacks_beginning(answer));
    const auto since = [&](int64_t moment_ns) {
      const bool known = request != nullptr && moment_ns != 0;
      return Value::i64(known ? std::max<int64_t>(moment_ns - request->first_ns, 0) : 0);
    };
    out.emit(
        header,
        {Value::string(name_of(kind_of(request, response))), Value::string(request != nullptr ? request->text : ""),
         Value::string(name_of(answer.status)), Value::string(answer.sqlstate), Value::u64(answer.rows),
         Value::u64(answer.affected_rows), Value::u64(answer.results), since(answer.first_ns),
         since(answer.first_row_ns), since(answer.last_row_ns), since(answer.last_ns),
         Value::u64(request != nullptr ? request->end - request->begin : 0), Value::u64(answer.end - answer.begin),
         Value::boolean(cut), Value::string(partial_of(request, response))});
  }
};

const Schema& PostgresQuery::schema() const {
  static const Schema schema = {
      .name = "postgres_query",
      .description = "PostgreSQL queries and prepared statements with their responses",
      .layer = Layer::kApplication,
      .fields = {{"kind", FieldType::kString, "",
                  "connect, query, prepare, bind, execute, function, cancel, terminate; empty if no request was seen"},
                 {"statement", FieldType::kString, "",
                  "SQL text as sent, of a prepared statement the text it was prepared with; without passwords", false,
                  TextKind::kSql},
                 {"status", FieldType::kString, "",
                  "ok, error, skipped: after an error; suspended: more rows may be fetched; tls, gss: what follows "
                  "can't be read; empty if no response was seen"},
                 {"sqlstate", FieldType::kString, "", "Code of the error, empty without one"},
                 {"rows", FieldType::kU64, "rows", "Rows of all results, and those copied to the client", true},
                 {"affected_rows", FieldType::kU64, "rows", "Changed or copied, as the server says", true},
                 {"results", FieldType::kU64, "results", "Statements that were completed", true},
                 {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"},
                 {"first_row_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the first row"},
                 {"last_row_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the last row"},
                 {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"},
                 {"request_bytes", FieldType::kU64, "bytes", "As transferred, with what it copies", true},
                 {"response_bytes", FieldType::kU64, "bytes", "As transferred", true},
                 {"cut", FieldType::kBool, "", "The statement is longer, or part of the response was not captured"},
                 {"partial", FieldType::kString, "", "request = no response was seen, response = no request was seen"}},
      .main_fields = {"statement"},
      .value_field = "response_time_ns",
      .duration = {.field = "response_time_ns"},
      .example = {"query", "select * from item where id = 17;", "ok", "", "1", "0", "1", "1303000", "1303000",
                  "1303000", "1303000", "39", "125", "false", ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_postgres_query() { return std::make_unique<PostgresQuery>(); }

}  // namespace tapline
