#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parsers/postgres_query/message.h"
#include "parsers/postgres_query/named_texts.h"
#include "parsers/transactions/halves.h"
#include "parsers/transactions/ordered_pairing.h"
#include "parsers/transactions/transaction_parser.h"
#include "parsers/transactions/unit_reader.h"

namespace tapline::postgres {

enum class Kind : uint8_t { kNone, kConnect, kQuery, kPrepare, kBind, kExecute, kFunction, kCancel, kTerminate };
enum class Status : uint8_t { kNone, kOk, kError, kSkipped, kSuspended, kTls, kGss };

struct Response : ResponseHalf {
  Status status = Status::kNone;
  char first_type = 0;     // type of its first message
  bool cut = false;        // a part of the response was not captured
  bool after_gap = false;  // the response's beginning may be missing
  char sqlstate[6] = {};
  uint32_t results = 0;  // number of executed statements
  uint64_t rows = 0;
  uint64_t affected_rows = 0;
  int64_t first_row_ns = 0;  // 0 if there are no rows
  int64_t last_row_ns = 0;
  int64_t failed_ns = 0;  // 0 if there was no error

  // Returns false for an error, because later requests in the same batch are then skipped.
  bool answers_one() const { return status != Status::kError; }
};

// A client's request: a query or, in the extended protocol, the messages from Parse or Bind up to Execute. Its text is
// the statement.
struct Request : RequestHalf {
  Kind kind = Kind::kNone;
  bool parses = false;   // its first message is a Parse
  bool binds = false;    // it has a Bind
  bool copies = false;   // it sent rows
  bool cut = false;      // the text was truncated
  bool skipped = false;  // an earlier request of its batch failed
  uint32_t batch = 0;    // requests between two Syncs have the same number

  bool is_extended() const { return kind == Kind::kPrepare || kind == Kind::kBind || kind == Kind::kExecute; }
  bool contradicts(const Response& response) const;
  bool may_be_silent() const { return skipped; }
  // Returns true if the response's beginning was lost: a client copies only when the server requests it.
  bool lacks_beginning(const Response& response) const { return copies && !binds && response.first_type != 'G'; }
};

// Reads both sides of one connection.
//
//   client: SSLRequest? ─▶ server: N ─▶ client: startup, password ─▶ server: R … Z ─▶ client: Q ─▶ server: T D… C Z
//           or, several at once:        client: P B D E … S ─▶ server: 1 2 T D… C … Z;  after an error, everything up
//           to S is skipped
//
// Notices, parameters and notifications may come at any time and belong to no request.
class Exchange {
 public:
  using Request = postgres::Request;
  using Response = postgres::Response;
  using Sink = TransactionSink<Request, Response>;

  void start_in_middle(Side side) {
    readers_[side].start_in_middle();
    middle_[side] = true;
  }
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  void end(Side side, Sink& sink);
  void visit_pending(Sink& sink) const;
  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    return proven() ? pairing_.report_overdue(before_ns, sink) : INT64_MAX;
  }
  bool has_failed() const;
  size_t memory_bytes() const;
  void recycle();

  // Called by UnitReader.
  Unit on_unit(Side side, std::string_view bytes, const Segment& first);
  void on_skipped(Side side, uint64_t end_offset, int64_t time_ns);
  Unit on_cut(Side side, std::string_view bytes, const Segment& first, bool in_packet);
  bool may_resume(Side side, std::string_view bytes);
  void on_hidden(Side side, uint64_t offset);
  void on_too_long(Side /*side*/) {}

 private:
  class Filter;
  static constexpr size_t kMaxUnitBytes = kHeadBytes + kMaxNameBytes + kMaxStatementBytes + 1;
  // One unmistakable message proves the protocol, and so do this many weaker ones.
  static constexpr uint8_t kProof = 3;
  static constexpr char kTlsHandshake = 0x16;  // the first byte of a TLS record

  bool is_client(Side side) const { return client_ == side; }
  bool is_server(Side side) const { return client_ >= 0 && client_ != side; }
  bool proven() const { return proof_ >= kProof; }
  void prove(uint8_t weight);
  void set_client(Side side);
  bool is_overtaken(Side side, std::string_view bytes, const Segment& segment) const;
  void cut_response_off();
  void note_unit(Side side, const Segment& first, uint64_t total);

  Unit client_unit(Side side, std::string_view bytes, const Segment& first);
  Unit startup_unit(Side side, std::string_view bytes, const Segment& first);
  void connect(Startup startup, uint64_t total, const Segment& first);
  void client_message(const Head& head, std::string_view payload, const Segment& first, bool is_cut);
  Request& open(Kind kind, const Segment& first);
  Request* open_in_batch();
  void name(Request& request, std::string_view text, bool is_cut);
  void query(std::string_view text, const Segment& first, bool is_cut);
  void parse(std::string_view payload, const Segment& first, bool is_cut);
  void bind(std::string_view payload, const Segment& first);
  void execute(std::string_view payload, const Segment& first);
  void close(std::string_view payload);
  void note_failure(const Request& request, const Response& response);
  void pass_skipped();
  void report_unanswered(Kind kind, const Segment& first, uint64_t total);

  Unit server_unit(Side side, std::string_view bytes, const Segment& first);
  Unit encryption_response(char answered, const Segment& first);
  void server_message(const Head& head, std::string_view payload, const Segment& first);
  void parsed(const Segment& first, uint64_t end);
  void bound(const Segment& first);
  void described(char type, const Segment& first, uint64_t end);
  Response& answer(char type, const Segment& first);
  void end_answer(uint64_t end);
  void row(const Segment& first);
  void completed(std::string_view tag, uint64_t end);
  void failed(std::string_view fields, const Segment& first, uint64_t end);
  void ready(uint64_t end);
  bool ends_at_ready() const;

  UnitReader readers_[2] = {UnitReader(0, kMaxUnitBytes), UnitReader(1, kMaxUnitBytes)};
  OrderedPairing<Request, Response> pairing_;
  NamedTexts statements_, portals_;
  Request unanswered_;    // being reported; its memory is reused
  Sink* sink_ = nullptr;  // during a call
  int client_ = -1;       // side, once known
  uint8_t proof_ = 0;
  bool over_ = false;
  bool starting_ = true;               // the client's next message has no type
  bool connecting_ = false;            // a connection attempt has begun, and may be over
  bool startup_late_ = false;          // earlier requests for encryption may have been lost
  bool encryption_requested_ = false;  // true if the client's latest message requested it
  bool encrypting_ = false;            // the client encrypts; the server's agreement may arrive late
  bool answering_ = true;              // true until the server has sent a message other than one-byte responses
  bool described_ = false;             // a prepared statement's description follows, and belongs to no request
  bool failed_known_ = false;          // future requests of failed_batch_ will be skipped
  bool executed_ = false;              // the latest portal was executed, although its Execute is late
  bool in_row_ = false;
  char response_type_ = 0;  // type of the first message of the response being read
  bool acked_known_ = false;
  bool ended_[2] = {false, false};
  bool middle_[2] = {false, false};  // joined in the middle, and no response has been read since then
  uint32_t batch_ = 0;               // number of the client's current batch of messages
  uint32_t failed_batch_ = 0;
  Response failed_;                  // the error that made failed_batch_ fail
  uint64_t acked_ = 0;               // acknowledgement in the latest response's first segment
  uint64_t unit_end_[2] = {0, 0};    // end of the message that began last
  uint64_t unit_acked_[2] = {0, 0};  // acknowledgement in its first segment
  Segment segment_ = {};             // the current segment
  std::string latest_parsed_;        // name of a statement
  std::string latest_bound_;         // name of a portal
  std::string text_;                 // scratch
};

}  // namespace tapline::postgres
