// Reads the server's messages.
#include <algorithm>
#include <cstring>
#include <utility>

#include "parsers/postgres_query/exchange.h"

namespace tapline::postgres {
namespace {

// The single bytes that a server may send before its first message.
constexpr std::string_view kEncryptionResponses = "NSG";

}  // namespace

Unit Exchange::server_unit(Side side, std::string_view bytes, const Segment& first) {
  if (answering_ && is_in(bytes[0], kEncryptionResponses)) return encryption_response(bytes[0], first);
  answering_ = false;
  if (bytes.size() < kHeadBytes) return Unit::more(kHeadBytes);
  Head head;
  if (!read_server_head(bytes, &head)) return Unit::none();
  note_unit(side, first, head.total);
  const uint64_t wanted = looked_at(head, false);
  if (bytes.size() < wanted) return Unit::more(wanted);
  server_message(head, bytes.substr(kHeadBytes, wanted - kHeadBytes), first);
  return Unit::taken(wanted, head.total - wanted);
}

// Handles the single byte that states whether the client may continue with encryption. This byte or the client's
// request may be captured so late that the client has already continued.
Unit Exchange::encryption_response(char answered, const Segment& first) {
  if (answered == 'N') return Unit::taken(1);
  answer('R', first).status = answered == 'S' ? Status::kTls : Status::kGss;
  end_answer(first.offset + 1);
  over_ = true;
  return Unit::opaque(1);
}

void Exchange::server_message(const Head& head, std::string_view payload, const Segment& first) {
  const uint64_t end = first.offset + head.total;
  if (Response* response = pairing_.response()) {
    response->end = end;
    response->last_ns = segment_.time_ns;
  }
  switch (head.type) {
    case '1':
      return parsed(first, end);
    case 't':
    case 'T':
    case 'n':
      return described(head.type, first, end);
    case 'D':
    case 'd':
      in_row_ = head.total > kHeadBytes;
      answer(head.type, first);
      return row(first);
    case 'C':
    case 'I':
      return completed(take_name(&payload), end);
    case 's':
      answer('s', first).status = Status::kSuspended;
      return ends_at_ready() ? void() : end_answer(end);
    case '2':
      return bound(first);
    case 'R':
    case 'G':
    case 'H':
    case 'W':
    case 'V':
      answer(head.type, first);
      return;
    case 'E':
      return failed(payload, first, end);
    case 'Z':
      return ready(end);
    default:
      return;
  }
}

Response& Exchange::answer(char type, const Segment& first) {
  if (Response* response = pairing_.response()) return *response;
  Response response;
  response.first_type = response_type_ = type;
  const bool is_joined = std::exchange(middle_[other_side(static_cast<Side>(client_))], false);
  response.after_gap = is_joined || pairing_.responses_are_hidden();
  pairing_.begin_response(first, response, *sink_);
  acked_ = first.peer_offset;
  acked_known_ = first.peer_offset_known;
  return *pairing_.response();
}

void Exchange::end_answer(uint64_t end) { pairing_.end_response(end, segment_.time_ns, *sink_); }

// Returns true if the response ends with ReadyForQuery, as in the simple protocol. If no request is known, the
// response's first message shows which protocol it belongs to.
bool Exchange::ends_at_ready() const {
  if (const Request* request = pairing_.answered()) return !request->is_extended();
  return !is_in(response_type_, "12");
}

void Exchange::parsed(const Segment& first, uint64_t end) {
  described_ = false;
  // The open response has no known request, but that request can only have prepared a statement, so its response ends
  // here.
  if (pairing_.response() != nullptr && pairing_.answered() == nullptr) end_answer(first.offset);
  answer('1', first);
  const Request* request = pairing_.answered();
  if (request == nullptr || request->kind != Kind::kPrepare) return;
  pairing_.response()->status = Status::kOk;
  end_answer(end);
}

// Handles BindComplete. An open response with results but without a known request belongs to an earlier request, so it
// ends here.
void Exchange::bound(const Segment& first) {
  const Response* response = pairing_.response();
  if (response != nullptr && pairing_.answered() == nullptr && response->results > 0) end_answer(first.offset);
  answer('2', first);
}

// Handles a description of a statement's parameters or results, which the server sends after preparing the statement,
// or before its rows.
void Exchange::described(char type, const Segment& first, uint64_t end) {
  const bool after_prepare = std::exchange(described_, type == 't');
  if (pairing_.response() != nullptr || after_prepare || type != 'T') return;
  const Request* next = pairing_.next_request();
  if (next == nullptr || !next->is_extended()) answer('T', first).end = end;
}

void Exchange::row(const Segment& first) {
  Response& response = *pairing_.response();
  ++response.rows;
  if (response.first_row_ns == 0) response.first_row_ns = first.time_ns;
  response.last_row_ns = segment_.time_ns;
}

void Exchange::completed(std::string_view tag, uint64_t end) {
  Response& response = answer('C', segment_);
  if (response.status != Status::kError) response.status = Status::kOk;
  ++response.results;
  response.affected_rows += affected_rows(tag);
  const Request* request = pairing_.answered();
  executed_ = request != nullptr && request->kind == Kind::kBind;
  if (!ends_at_ready()) end_answer(end);
}

void Exchange::failed(std::string_view fields, const Segment& first, uint64_t end) {
  Response& response = answer('E', first);
  response.status = Status::kError;
  response.failed_ns = first.time_ns;
  const std::string_view code = sqlstate(fields);
  code.copy(response.sqlstate, code.size());
  response.sqlstate[code.size()] = '\0';
  const Request* request = pairing_.answered();
  if (request != nullptr && (request->is_extended() || request->kind == Kind::kConnect)) end_answer(end);
}

// Marks the requests that an error causes the server to skip. After an error, the server reads up to the next Sync and
// skips all requests before it, including those that arrive, or are captured, later.
void Exchange::note_failure(const Request& request, const Response& response) {
  if (response.status != Status::kError || !request.is_extended()) return;
  failed_ = response;
  failed_batch_ = request.batch;
  failed_known_ = failed_batch_ == batch_;
  pairing_.visit_requests([&](Request& queued_request) {
    const bool same =
        queued_request.batch == failed_batch_ && queued_request.is_extended() && !queued_request.after_hidden;
    queued_request.skipped |= same;
    failed_known_ &= same;
    return same;
  });
}

void Exchange::pass_skipped() {
  const auto is_complete = [&](const Request& next) { return next.skipped && next.batch != batch_; };
  pairing_.pass_silent_while(is_complete, failed_, *sink_);
}

void Exchange::ready(uint64_t end) {
  described_ = false;
  Response* response = pairing_.response();
  if (response == nullptr) return pairing_.pass_responses_to(end);
  if (response->status == Status::kNone) response->status = Status::kOk;
  const bool logged_in = response->first_type == 'R';
  end_answer(end);
  if (logged_in && segment_.peer_offset_known) pairing_.all_answered(segment_.peer_offset, end);
}

}  // namespace tapline::postgres
