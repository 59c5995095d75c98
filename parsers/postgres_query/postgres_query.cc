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

// Returns the request's kind. A statement that was bound and completed was executed, even if its Execute was not seen.
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

// Returns false if no request was seen, or if it runs a statement that was prepared before the capture or in a gap.
bool knows_text(const Request* request) {
  const bool bound = request != nullptr && (request->kind == Kind::kBind || request->kind == Kind::kExecute);
  return request != nullptr && (!bound || !request->text.empty());
}

// Returns the parts that were seen. A request that never gets a response is complete on its own.
Seen seen_of(const Request* request, Seen seen) {
  const bool never_answered =
      request != nullptr && (request->kind == Kind::kCancel || request->kind == Kind::kTerminate);
  return never_answered && seen != Seen::kLate ? Seen::kBoth : seen;
}

// Pairs PostgreSQL queries and prepared statements with their responses.
class PostgresQuery final : public TransactionParser<postgres::Exchange> {
 public:
  const Schema& schema() const override;

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override {
    static const Response kNoResponse;
    const Response& answer = response != nullptr ? *response : kNoResponse;
    const bool has_request = request != nullptr, answered = response != nullptr, whole = answered && !answer.cut;
    const bool is_cut =
        (has_request && request->cut) || answer.cut || (has_request && answered && request->lacks_beginning(answer));
    const auto since = [&](int64_t moment_ns) {
      return whole && moment_ns != 0 ? duration_of(request, moment_ns) : Value::absent(FieldType::kI64);
    };
    // The response to a login's password looks like the response to its startup message. Before the latter, the server
    // sends at most one byte.
    const bool begins_late = has_request && request->kind == Kind::kConnect && answer.after_gap &&
                             (answer.acked > request->end || answer.begin > request->peer_offset + 1);
    seen = seen_of(request, seen);
    out.emit(header,
             {text_if(has_request, name_of(kind_of(request, response))),
              text_if(knows_text(request), has_request ? request->text : ""),
              text_if(answer.status != Status::kNone, name_of(answer.status)),
              text_if(whole || answer.sqlstate[0] != '\0', answer.sqlstate), u64_if(whole, answer.rows),
              u64_if(whole, answer.affected_rows), u64_if(whole, answer.results),
              time_to_first_byte(request, begins_late ? nullptr : response), since(answer.first_row_ns),
              since(answer.last_row_ns), time_to_last_byte(request, response), bytes_of(request), bytes_of(response),
              Value::boolean(is_cut), Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered)});
  }
};

const Schema& PostgresQuery::schema() const {
  static const Schema schema = {
      .name = "postgres_query",
      .description = "PostgreSQL queries and prepared statements with their responses",
      .layer = Layer::kApplication,
      .fields =
          {optional(
               {"kind", FieldType::kString, "", "connect, query, prepare, bind, execute, function, cancel, terminate"}),
           optional({"statement", FieldType::kString, "",
                     "SQL text as sent or, for a prepared statement, as prepared; without passwords", false,
                     TextKind::kSql}),
           optional({"status", FieldType::kString, "",
                     "ok; error; skipped after an error; suspended if more rows may be fetched; tls or gss if the rest "
                     "can't be read"}),
           optional({"sqlstate", FieldType::kString, "", "Code of the error; empty if there was none"}),
           optional({"rows", FieldType::kU64, "rows", "Rows of all results and rows copied to the client", true}),
           optional(
               {"affected_rows", FieldType::kU64, "rows", "Rows changed or copied, as reported by the server", true}),
           optional({"results", FieldType::kU64, "results", "Statements that were completed", true}),
           optional(
               {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"}),
           optional(
               {"first_row_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the first row"}),
           optional({"last_row_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the last row"}),
           optional(
               {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"}),
           optional({"request_bytes", FieldType::kU64, "bytes", "Bytes as transferred, including copied data", true}),
           optional({"response_bytes", FieldType::kU64, "bytes", "As transferred", true}),
           {"cut", FieldType::kBool, "",
            "True if the statement was truncated or a part of the response was not captured"},
           partial_field(),
           unanswered_field()},
      .main_fields = {"statement"},
      .value_field = "response_time_ns",
      .duration = {.field = "response_time_ns"},
      .example = {"query", "select * from item where id = 17;", "ok", "", "1", "0", "1", "1303000", "1303000",
                  "1303000", "1303000", "39", "125", "false", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_postgres_query() { return std::make_unique<PostgresQuery>(); }

}  // namespace tapline
