#include "parsers/postgres_query/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "parsers/sql/hide_secrets.h"

namespace tapline::postgres {
namespace {

// Joined in mid-stream and nothing like the protocol within this much: another one.
constexpr uint64_t kMaxSeekBytes = 16 << 20;
// The server's, before anything of the client's.
constexpr size_t kMaxAheadBytes = 8 << 10;
constexpr size_t kKeptTextBytes = 256;
constexpr char kTlsHandshake = 0x16;
// Before its first message the server sends nothing else that begins so.
constexpr std::string_view kEncryptionAnswers = "NSG";

bool is_in(char type, std::string_view types) { return types.find(type) != std::string_view::npos; }

void trim(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptTextBytes) text.shrink_to_fit();
}

}  // namespace

bool Request::contradicts(const Response& response) const {
  const char type = response.first_type;
  if (type == 'E') return false;
  switch (kind) {
    case Kind::kConnect:  // behind one byte that says whether the client may encrypt
      return type != 'R' || (response.after_gap && response.begin > peer_offset + 1);
    case Kind::kQuery:
      return is_in(type, "12RVs");
    case Kind::kFunction:
      return type != 'V';
    case Kind::kPrepare:
      return type != '1';
    default:
      if (parses) return type != '1';
      return binds ? type != '2' : is_in(type, "12TRV");
  }
}

// Keeps quiet until the connection is known to be of this protocol.
class Exchange::Filter final : public Exchange::Sink {
 public:
  Filter(const Exchange& exchange, Sink& out) : exchange_(exchange), out_(out) {}
  void on_transaction(const Request* request, const Response* response) override {
    if (exchange_.proven()) out_.on_transaction(request, response);
  }
  void on_silence(const Request& request, const Response& later) override {
    if (exchange_.proven()) out_.on_silence(request, later);
  }
  void on_client(Side side) override { out_.on_client(side); }
  void on_loss(LossReason reason) override {
    if (exchange_.proven()) out_.on_loss(reason);
  }

 private:
  const Exchange& exchange_;
  Sink& out_;
};

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  segment_ = segment;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (segment.offset < unit_end_[side] && is_overtaken(side, text, segment)) [[unlikely]]
    readers_[side].recycle();  // and so joins the stream here
  const bool mine = readers_[side].read(bytes, segment, *this) == UnitReader::Verdict::kFine;
  if (is_client(side)) pairing_.requests_settled(readers_[side].settled_offset(), *sink_);
  if (mine && !over_) [[likely]]
    return ExchangeVerdict::kFine;
  pairing_.tell_all(*sink_);
  return over_ ? ExchangeVerdict::kOver : ExchangeVerdict::kNotMine;
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  segment_ = segment;
  readers_[side].gap(bytes, segment, *this);
  if (is_client(side)) pairing_.requests_settled(readers_[side].settled_offset(), *sink_);
  return ExchangeVerdict::kFine;
}

void Exchange::end(Side side, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  ended_[side] = true;
  const bool both = ended_[0] && ended_[1];
  if (both || is_server(side)) cut_response_off();
  if (is_server(side)) pairing_.server_ended(filter);
  if (both) pairing_.tell_all(filter);
}

void Exchange::visit_pending(Sink& sink) const {
  if (proven()) pairing_.visit_pending(sink);
}

bool Exchange::hopeless() const {
  return !proven() && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes;
}

size_t Exchange::memory_bytes() const {
  return pairing_.memory_bytes() + statements_.memory_bytes() + portals_.memory_bytes() + text_.capacity() +
         readers_[0].memory_bytes() + readers_[1].memory_bytes();
}

void Exchange::recycle() {
  Exchange fresh;
  fresh.pairing_ = std::move(pairing_);
  fresh.pairing_.recycle();
  trim(text_);
  fresh.text_ = std::move(text_);
  *this = std::move(fresh);
}

void Exchange::set_client(Side side) { client_ = side; }

void Exchange::prove(uint8_t weight) {
  if (proven()) return;
  proof_ = static_cast<uint8_t>(proof_ + weight);
  if (proven()) sink_->on_client(static_cast<Side>(client_));
}

// A message goes on although the other side has answered it, or asked again: its length was read wrong.
bool Exchange::is_overtaken(Side side, std::string_view bytes, const Segment& segment) const {
  if (client_ < 0 || !segment.peer_offset_known || segment.peer_offset <= unit_acked_[side]) return false;
  if (is_server(side) && acked_known_ && segment.peer_offset <= acked_) return false;
  bool strong = false;
  is_client(side) ? looks_like_requests(bytes, &strong) : looks_like_responses(bytes, &strong);
  return strong;
}

void Exchange::cut_response_off() {
  Response* response = pairing_.response();
  if (response == nullptr) return;
  response->cut = true;
  pairing_.end_response(response->end, response->last_ns, *sink_);
}

void Exchange::note_unit(Side side, const Segment& first, uint64_t total) {
  unit_end_[side] = first.offset + total;
  unit_acked_[side] = first.peer_offset_known ? first.peer_offset : UINT64_MAX;
}

bool Exchange::may_resume(Side side, std::string_view bytes) {
  bool strong = false;
  uint64_t total = 0;
  const bool may_ask = !is_server(side) || !proven();
  if (may_ask && bytes.size() >= kStartupHeadBytes && read_startup(bytes, &total) != Startup::kNot) {
    if (total != bytes.size()) return false;
    starting_ = startup_late_ = true;
    set_client(side);
    return true;
  }
  if (may_ask && looks_like_requests(bytes, &strong) && (strong || !is_server(side))) {
    starting_ = encryption_asked_ = false;
    set_client(side);
    prove(strong ? kProof : 1);
    return true;
  }
  if ((is_client(side) && proven()) || !looks_like_responses(bytes, &strong)) return false;
  if (!strong && !is_server(side)) return false;
  // A response to what was asked before the one that was seen last can't begin now, nor can any in its middle.
  if (acked_known_ && segment_.peer_offset_known && segment_.peer_offset <= acked_) return false;
  set_client(other_side(side));
  cut_response_off();
  answering_ = described_ = skipping_ = false;
  prove(strong ? kProof : 1);
  return true;
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  if (is_client(side)) {
    starting_ = false;
    return pairing_.hide_requests();
  }
  pairing_.hide_responses();
  over_ |= encrypting_;
  in_row_ = described_ = skipping_ = false;
  if (Response* response = pairing_.response()) response->cut = true;
}

void Exchange::on_skipped(Side side, uint64_t /*end_offset*/, int64_t time_ns) {
  if (!is_server(side) || !std::exchange(in_row_, false)) return;
  if (Response* response = pairing_.response()) response->last_row_ns = response->last_ns = time_ns;
}

Unit Exchange::on_unit(Side side, std::string_view bytes, const Segment& first) {
  if (over_) return Unit::opaque(bytes.size());
  if (is_client(side)) return client_unit(side, bytes, first);
  if (is_server(side)) return server_unit(side, bytes, first);
  if (bytes[0] == '\0') return startup_unit(side, bytes, first);
  // Only what the server says may have been captured, or captured first: how the client is to prove who it is.
  constexpr uint64_t kAuthenticationBytes = 9;
  const uint64_t answers = bytes[0] == 'N' ? 1 : 0;
  if (bytes.size() < answers + kAuthenticationBytes)
    return is_in(bytes[0], "RSGN") ? Unit::more(answers + kAuthenticationBytes) : Unit::none();
  const bool encrypted = bytes[0] == 'S' && bytes[1] == kTlsHandshake;
  if (encrypted && bytes.size() < kMaxAheadBytes) return Unit::more();  // what the client asked for may come late
  const std::string_view message = bytes.substr(answers);
  Head head;
  if (message[0] != 'R' || !read_server_head(message, &head) || head.total > kMaxNameBytes) return Unit::none();
  if (message.substr(kHeadBytes, 3) != std::string_view("\0\0\0", 3)) return Unit::none();
  set_client(other_side(side));
  prove(kProof);
  return server_unit(side, bytes, first);
}

// What there is of a message is looked at as if it were whole.
Unit Exchange::on_cut(Side side, std::string_view bytes, const Segment& first, bool /*in_packet*/) {
  Head head;
  if (bytes.size() < kHeadBytes || client_ < 0 || (is_client(side) && starting_)) return Unit::none();
  if (!(is_client(side) ? read_client_head(bytes, &head) : read_server_head(bytes, &head))) return Unit::none();
  if (head.total <= bytes.size()) return Unit::none();
  const std::string_view payload = bytes.substr(kHeadBytes);
  is_client(side) ? client_message(head, payload, first, true) : server_message(head, payload, first);
  return Unit::taken(bytes.size(), head.total - bytes.size());
}

// The client

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
  if (encryption_asked_ && bytes[0] == kTlsHandshake) {
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

// The same connection, whether the server was asked for encryption before or not.
void Exchange::connect(Startup startup, uint64_t total, const Segment& first) {
  starting_ = startup == Startup::kTls || startup == Startup::kGss;
  encryption_asked_ = starting_;
  if (startup == Startup::kCancel) return tell_unanswered(Kind::kCancel, first, total);
  if (!std::exchange(connecting_, true)) open(Kind::kConnect, first).cut = startup_late_;
  pairing_.end_request(first.offset + total);
}

void Exchange::client_message(const Head& head, std::string_view payload, const Segment& first, bool cut) {
  switch (head.type) {
    case 'Q':
      query(payload, first, cut);
      break;
    case 'P':
      parse(payload, first, cut);
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
      return tell_unanswered(Kind::kTerminate, first, head.total);
    default:
      break;
  }
  // What follows a request belongs to it: what it copies, a password, up to Sync.
  pairing_.end_request(first.offset + head.total);
  if (is_in(head.type, "QFS")) ++batch_;
}

Request& Exchange::open(Kind kind, const Segment& first) {
  // The client has the whole of the last response, of which nobody here knows where it ended.
  if (pairing_.response() != nullptr && !readers_[other_side(static_cast<Side>(client_))].in_step()) cut_response_off();
  Request& request = pairing_.begin_request(first, *sink_);
  request.kind = kind;
  request.parses = request.binds = request.copies = request.cut = false;
  request.batch = batch_;
  return request;
}

// A request that other messages of the same batch may still be added to.
Request* Exchange::open_in_batch() {
  Request* request = pairing_.reading();
  return request != nullptr && request->is_extended() && request->batch == batch_ ? request : nullptr;
}

void Exchange::name(Request& request, std::string_view text, bool cut) {
  request.cut = cut;
  pairing_.keep_text(request, text);
}

void Exchange::query(std::string_view text, const Segment& first, bool cut) {
  const bool whole = !cut && text.ends_with('\0');
  text_.assign(take_name(&text));
  sql::hide_secrets(text_, quotes_in(text_), !whole);
  name(open(Kind::kQuery, first), text_, !whole);
}

void Exchange::parse(std::string_view payload, const Segment& first, bool cut) {
  latest_parsed_ = take_name(&payload);
  const bool whole = !cut && payload.find('\0') != std::string_view::npos;
  text_.assign(take_name(&payload).substr(0, kMaxStatementBytes));
  sql::hide_secrets(text_, quotes_in(text_), !whole);
  statements_.put(latest_parsed_, text_, !whole);
  Request& request = open(Kind::kPrepare, first);
  request.parses = true;
  name(request, text_, !whole);
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

void Exchange::tell_unanswered(Kind kind, const Segment& first, uint64_t total) {
  unanswered_ = Request();
  unanswered_.kind = kind;
  unanswered_.first_ns = first.time_ns;
  unanswered_.begin = first.offset;
  unanswered_.end = first.offset + total;
  sink_->on_transaction(&unanswered_, nullptr);
}

// The server

Unit Exchange::server_unit(Side side, std::string_view bytes, const Segment& first) {
  if (answering_ && is_in(bytes[0], kEncryptionAnswers)) return encryption_answer(bytes[0], first);
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

// One byte: whether the client may go on encrypted. It, or the client's question, may come so late that the client has
// gone on meanwhile.
Unit Exchange::encryption_answer(char answered, const Segment& first) {
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
    case 'R':
    case '2':
    case 'G':
    case 'H':
    case 'W':
    case 'V':
      answer(head.type, first);
      return;
    case 'E':
      return failed(payload, first, end);
    case 'Z':
      return ready(first, end);
    default:
      return;
  }
}

Response& Exchange::answer(char type, const Segment& first) {
  if (Response* response = pairing_.response()) return *response;
  Response response;
  response.first_type = response_type_ = type;
  response.after_gap = pairing_.responses_are_hidden();
  pairing_.begin_response(first, response, *sink_);
  acked_ = first.peer_offset;
  acked_known_ = first.peer_offset_known;
  return *pairing_.response();
}

void Exchange::end_answer(uint64_t end) { pairing_.end_response(end, segment_.time_ns, *sink_); }

// Where no request is known, the response's first message tells which protocol it is of.
bool Exchange::ends_at_ready() const {
  if (const Request* request = pairing_.answered()) return !request->is_extended();
  return !is_in(response_type_, "12");
}

void Exchange::parsed(const Segment& first, uint64_t end) {
  described_ = false;
  // Nobody knows the last one's request: it was a prepare alone.
  if (pairing_.response() != nullptr && pairing_.answered() == nullptr) end_answer(first.offset);
  answer('1', first);
  const Request* request = pairing_.answered();
  if (request == nullptr || request->kind != Kind::kPrepare) return;
  pairing_.response()->status = Status::kOk;
  end_answer(end);
}

// What a statement takes and returns is told after it was prepared, or before its rows.
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
  const std::string_view code = sqlstate(fields);
  code.copy(response.sqlstate, code.size());
  response.sqlstate[code.size()] = '\0';
  const Request* request = pairing_.answered();
  const bool extended = request != nullptr && request->is_extended();
  if (extended) skipped_batch_ = request->batch;
  if (extended || (request != nullptr && request->kind == Kind::kConnect)) end_answer(end);
  if (!extended) return;
  skipping_ = true;
  skip_batch(first, end);
}

// After an error the server reads on to the next Sync, and does nothing of what is asked before.
void Exchange::skip_batch(const Segment& first, uint64_t end) {
  const auto is_skipped = [&](const Request* next) {
    return next != nullptr && next->is_extended() && next->batch == skipped_batch_ &&
           (!segment_.peer_offset_known || next->begin < segment_.peer_offset);
  };
  while (!pairing_.responses_are_hidden() && is_skipped(pairing_.next_request())) {
    Response response;
    response.first_type = 'E';
    response.status = Status::kSkipped;
    Segment at = first;
    at.offset = end;
    const bool taken = pairing_.begin_response(at, response, *sink_) != nullptr;
    end_answer(end);
    if (!taken) return;
  }
}

void Exchange::ready(const Segment& first, uint64_t end) {
  described_ = false;
  if (std::exchange(skipping_, false)) skip_batch(first, first.offset);
  Response* response = pairing_.response();
  if (response == nullptr) return;
  if (response->status == Status::kNone) response->status = Status::kOk;
  end_answer(end);
}

}  // namespace tapline::postgres
