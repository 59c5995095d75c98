#include "parsers/postgres_query/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tapline::postgres {
namespace {

// A connection that was joined in the middle is considered to use another protocol if no PostgreSQL message is found
// within this many bytes.
constexpr uint64_t kMaxSeekBytes = 16 << 20;
// Maximum number of the server's bytes before the client's first byte.
constexpr size_t kMaxAheadBytes = 8 << 10;
constexpr size_t kKeptTextBytes = 256;

void trim(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptTextBytes) text.shrink_to_fit();
}

}  // namespace

bool Request::contradicts(const Response& response) const {
  const char type = response.first_type;
  if (skipped) return true;
  if (type == 'E') return false;
  switch (kind) {
    case Kind::kConnect:  // an R, perhaps after the byte that answers a request for encryption
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

// Suppresses transactions until the connection is known to use this protocol.
class Exchange::Filter final : public Exchange::Sink {
 public:
  Filter(Exchange& exchange, Sink& out) : exchange_(exchange), out_(out) {}
  void on_transaction(const Request* request, const Response* response) override {
    if (request != nullptr && response == nullptr && request->skipped) return skip(*request);
    if (exchange_.proven()) out_.on_transaction(request, response);
    if (request != nullptr && response != nullptr) exchange_.note_failure(*request, *response);
  }
  // Only skipped requests get no response.
  void on_silence(const Request& request, const Response& /*later*/) override { skip(request); }
  void on_client(Side side) override { out_.on_client(side); }
  void on_loss(LossReason reason) override {
    if (exchange_.proven()) out_.on_loss(reason);
  }

 private:
  // Emits a skipped request, with the time and position of the error before it as its response.
  void skip(const Request& request) {
    const Response& failed = exchange_.failed_;
    Response response;
    response.first_type = 'E';
    response.status = Status::kSkipped;
    response.first_ns = response.last_ns = failed.failed_ns;
    response.begin = response.end = failed.end;
    response.acked = failed.acked;
    response.acked_known = failed.acked_known;
    response.complete = true;
    if (exchange_.proven()) out_.on_transaction(&request, &response);
  }

  Exchange& exchange_;
  Sink& out_;
};

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  segment_ = segment;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (segment.offset < unit_end_[side] && is_overtaken(side, text, segment)) [[unlikely]]
    readers_[side].recycle();  // joins the stream here
  const bool mine = readers_[side].read(bytes, segment, *this) == UnitReader::Verdict::kFine;
  if (is_client(side)) pairing_.requests_settled(readers_[side].settled_offset(), *sink_);
  pass_skipped();
  if (mine && !over_) [[likely]]
    return ExchangeVerdict::kFine;
  pairing_.report_all(*sink_);
  return over_ ? ExchangeVerdict::kOver : ExchangeVerdict::kNotMine;
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  segment_ = segment;
  readers_[side].gap(bytes, segment, *this);
  if (is_client(side)) pairing_.requests_settled(readers_[side].settled_offset(), *sink_);
  pass_skipped();
  return ExchangeVerdict::kFine;
}

void Exchange::end(Side side, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  ended_[side] = true;
  const bool has_both = ended_[0] && ended_[1];
  if (has_both || is_server(side)) cut_response_off();
  if (is_server(side)) pairing_.server_ended(filter);
  if (has_both) pairing_.report_all(filter);
}

void Exchange::visit_pending(Sink& sink) const {
  if (proven()) pairing_.visit_pending(sink);
}

bool Exchange::has_failed() const {
  return !proven() && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes;
}

size_t Exchange::memory_bytes() const {
  return pairing_.memory_bytes() + statements_.memory_bytes() + portals_.memory_bytes() + text_.capacity() +
         readers_[0].memory_bytes() + readers_[1].memory_bytes();
}

void Exchange::recycle() {
  Exchange exchange;
  exchange.pairing_ = std::move(pairing_);
  exchange.pairing_.recycle();
  trim(text_);
  exchange.text_ = std::move(text_);
  *this = std::move(exchange);
}

void Exchange::set_client(Side side) { client_ = side; }

void Exchange::prove(uint8_t weight) {
  if (proven()) return;
  proof_ = static_cast<uint8_t>(proof_ + weight);
  if (proven()) sink_->on_client(static_cast<Side>(client_));
}

// Returns true if a length was misread: a message continues although the other side has already responded to it or sent
// the next request.
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
  pairing_.end_response(response->end, response->last_ns, *sink_, false);
}

void Exchange::note_unit(Side side, const Segment& first, uint64_t total) {
  unit_end_[side] = first.offset + total;
  unit_acked_[side] = first.peer_offset_known ? first.peer_offset : UINT64_MAX;
}

bool Exchange::may_resume(Side side, std::string_view bytes) {
  bool strong = false;
  uint64_t total = 0;
  const bool may_send_requests = !is_server(side) || !proven();
  if (may_send_requests && bytes.size() >= kStartupHeadBytes && read_startup(bytes, &total) != Startup::kNot) {
    if (total != bytes.size()) return false;
    starting_ = startup_late_ = true;
    set_client(side);
    return true;
  }
  if (may_send_requests && looks_like_requests(bytes, &strong) && (strong || !is_server(side))) {
    starting_ = encryption_requested_ = false;
    set_client(side);
    prove(strong ? kProof : 1);
    return true;
  }
  if ((is_client(side) && proven()) || !looks_like_responses(bytes, &strong)) return false;
  if (!strong && !is_server(side)) return false;
  // Bytes that acknowledge no more than the latest response did may be its middle, or respond to an earlier request.
  if (acked_known_ && segment_.peer_offset_known && segment_.peer_offset <= acked_) return false;
  set_client(other_side(side));
  cut_response_off();
  answering_ = described_ = false;
  prove(strong ? kProof : 1);
  return true;
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  if (is_client(side)) {
    starting_ = failed_known_ = false;
    return pairing_.hide_requests();
  }
  pairing_.hide_responses();
  over_ |= encrypting_;
  in_row_ = described_ = false;
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
  // The server's side may be the only one captured, or be captured first. It then begins with a request for
  // authentication.
  constexpr uint64_t kAuthenticationBytes = 9;
  const uint64_t responses = bytes[0] == 'N' ? 1 : 0;
  if (bytes.size() < responses + kAuthenticationBytes)
    return is_in(bytes[0], "RSGN") ? Unit::more(responses + kAuthenticationBytes) : Unit::none();
  const bool encrypted = bytes[0] == 'S' && bytes[1] == kTlsHandshake;
  if (encrypted && bytes.size() < kMaxAheadBytes) return Unit::more();  // the client's request may be late
  const std::string_view message = bytes.substr(responses);
  Head head;
  if (message[0] != 'R' || !read_server_head(message, &head) || head.total > kMaxNameBytes) return Unit::none();
  if (message.substr(kHeadBytes, 3) != std::string_view("\0\0\0", 3)) return Unit::none();
  set_client(other_side(side));
  prove(kProof);
  return server_unit(side, bytes, first);
}

// Examines the available part of a message as if it were the whole message.
Unit Exchange::on_cut(Side side, std::string_view bytes, const Segment& first, bool /*in_packet*/) {
  Head head;
  if (bytes.size() < kHeadBytes || client_ < 0 || (is_client(side) && starting_)) return Unit::none();
  if (!(is_client(side) ? read_client_head(bytes, &head) : read_server_head(bytes, &head))) return Unit::none();
  if (head.total <= bytes.size()) return Unit::none();
  const std::string_view payload = bytes.substr(kHeadBytes);
  is_client(side) ? client_message(head, payload, first, true) : server_message(head, payload, first);
  return Unit::taken(bytes.size(), head.total - bytes.size());
}

}  // namespace tapline::postgres
