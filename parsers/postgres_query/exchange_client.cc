// Reads the client's messages.
#include <algorithm>
#include <cstring>
#include <utility>

#include "parsers/postgres_query/exchange.h"
#include "parsers/sql/hide_secrets.h"

namespace tapline::postgres {

Unit Exchange::client_unit(Side side, std::string_view bytes, const Segment& first) {
  if (starting_) return startup_unit(side, bytes, first);
  if (bytes.size() < kHeadBytes) return Unit::more(kHeadBytes);
  Head head;
  if (!read_client_head(bytes, &head)) return Unit::none();
  note_unit(side, first, head.total);
  const uint64_t wanted = looked_at(head, true);
  if (bytes.size() < wanted) return Unit::more(wanted);
  client_message(head, bytes.substr(kHeadBytes, wanted - kHeadBytes), first, false);
  return Unit::taken(wanted, head.total - wanted);
}

Unit Exchange::startup_unit(Side side, std::string_view bytes, const Segment& first) {
  if (encryption_requested_ && bytes[0] == kTlsHandshake) {
    encrypting_ = true;
    over_ = !answering_ || !readers_[other_side(side)].in_step();
    return Unit::opaque(bytes.size());
  }
  if (bytes[0] != '\0') return Unit::none();
  if (bytes.size() < kStartupHeadBytes) return Unit::more(kStartupHeadBytes);
  uint64_t total = 0;
  const Startup startup = read_startup(bytes, &total);
  if (startup == Startup::kNot) return Unit::none();
  set_client(side);
  prove(kProof);
  connect(startup, total, first);
  return Unit::taken(kStartupHeadBytes, total - kStartupHeadBytes);
}

// Handles a startup message. An encryption request and the startup after it belong to the same connection attempt.
void Exchange::connect(Startup startup, uint64_t total, const Segment& first) {
  starting_ = startup == Startup::kTls || startup == Startup::kGss;
  encryption_requested_ = starting_;
  if (startup == Startup::kCancel) return report_unanswered(Kind::kCancel, first, total);
  if (!std::exchange(connecting_, true)) open(Kind::kConnect, first).cut = startup_late_;
  pairing_.end_request(first.offset + total);
}

void Exchange::client_message(const Head& head, std::string_view payload, const Segment& first, bool is_cut) {
  switch (head.type) {
    case 'Q':
      query(payload, first, is_cut);
      break;
    case 'P':
      parse(payload, first, is_cut);
      break;
    case 'B':
      bind(payload, first);
      break;
    case 'E':
      execute(payload, first);
      break;
    case 'C':
      close(payload);
      break;
    case 'F':
      open(Kind::kFunction, first);
      break;
    case 'd':
    case 'f':
      if (Request* request = pairing_.reading()) request->copies = true;
      break;
    case 'X':
      return report_unanswered(Kind::kTerminate, first, head.total);
    default:
      break;
  }
  // Everything between a request and Sync belongs to the request, such as copied data or a password.
  pairing_.end_request(first.offset + head.total);
  if (is_in(head.type, "QFS")) ++batch_;
}

Request& Exchange::open(Kind kind, const Segment& first) {
  // The client has received all of the last response, although its end was not found here.
  if (pairing_.response() != nullptr && !readers_[other_side(static_cast<Side>(client_))].in_step()) cut_response_off();
  Request& request = pairing_.begin_request(first, *sink_);
  request.kind = kind;
  request.parses = request.binds = request.copies = request.cut = false;
  request.batch = batch_;
  request.skipped = failed_known_ && batch_ == failed_batch_ && request.is_extended();
  return request;
}

// Returns the request to which messages of the current batch may still be added; null if there is none.
Request* Exchange::open_in_batch() {
  Request* request = pairing_.reading();
  return request != nullptr && request->is_extended() && request->batch == batch_ ? request : nullptr;
}

void Exchange::name(Request& request, std::string_view text, bool is_cut) {
  request.cut = is_cut;
  pairing_.keep_text(request, text);
}

void Exchange::query(std::string_view text, const Segment& first, bool is_cut) {
  const bool is_whole = !is_cut && text.ends_with('\0');
  text_.assign(take_name(&text));
  sql::hide_secrets(text_, quotes_in(text_), !is_whole);
  name(open(Kind::kQuery, first), text_, !is_whole);
}

void Exchange::parse(std::string_view payload, const Segment& first, bool is_cut) {
  latest_parsed_ = take_name(&payload);
  const bool is_whole = !is_cut && payload.find('\0') != std::string_view::npos;
  text_.assign(take_name(&payload).substr(0, kMaxStatementBytes));
  sql::hide_secrets(text_, quotes_in(text_), !is_whole);
  statements_.put(latest_parsed_, text_, !is_whole);
  Request& request = open(Kind::kPrepare, first);
  request.parses = true;
  name(request, text_, !is_whole);
}

void Exchange::bind(std::string_view payload, const Segment& first) {
  latest_bound_ = take_name(&payload);
  executed_ = false;
  const std::string_view statement = take_name(&payload);
  const NamedTexts::Text* text = statements_.find(statement);
  portals_.put(latest_bound_, text != nullptr ? text->text : "", text != nullptr && text->cut);
  Request* request = open_in_batch();
  if (request == nullptr || request->kind != Kind::kPrepare || latest_parsed_ != statement) {
    request = &open(Kind::kBind, first);
    if (text != nullptr) name(*request, text->text, text->cut);
  }
  request->kind = Kind::kBind;
  request->binds = true;
}

void Exchange::execute(std::string_view payload, const Segment& first) {
  const std::string_view portal = take_name(&payload);
  if (std::exchange(executed_, false) && latest_bound_ == portal) return;
  Request* request = open_in_batch();
  if (request == nullptr || request->kind != Kind::kBind || latest_bound_ != portal) {
    request = &open(Kind::kExecute, first);
    const NamedTexts::Text* text = portals_.find(portal);
    if (text != nullptr) name(*request, text->text, text->cut);
  }
  request->kind = Kind::kExecute;
}

void Exchange::close(std::string_view payload) {
  if (payload.empty()) return;
  const bool statement = payload[0] == 'S';
  payload.remove_prefix(1);
  (statement ? statements_ : portals_).forget(take_name(&payload));
}

void Exchange::report_unanswered(Kind kind, const Segment& first, uint64_t total) {
  unanswered_ = Request();
  unanswered_.kind = kind;
  unanswered_.first_ns = first.time_ns;
  unanswered_.begin = first.offset;
  unanswered_.end = first.offset + total;
  unanswered_.complete = true;
  sink_->on_transaction(&unanswered_, nullptr);
}

}  // namespace tapline::postgres
