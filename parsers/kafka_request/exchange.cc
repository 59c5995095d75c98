#include "parsers/kafka_request/exchange.h"

#include <algorithm>

namespace tapline::kafka {
namespace {

constexpr uint64_t kMaxSeekBytes = 1 << 20;
constexpr size_t kKeptEarlyBytes = 256;
constexpr size_t kMaxEarly = 4;  // responses accepted before any request

std::string_view message_of(std::string_view bytes, uint64_t message) {
  return bytes.substr(0, std::min<uint64_t>({message, bytes.size(), kLookedAtBytes}));
}

void fill(Request& request, const RequestHead& head, const Findings& findings) {
  request.api = head.api;
  request.key = head.key;
  request.version = head.version;
  request.correlation_id = head.correlation_id;
  request.bytes = head.bytes;
  request.topics = findings.topics;
  request.client_id_bytes = static_cast<uint32_t>(head.client_id.size());
  request.topic_is_id = findings.topic_is_id;
  request.never_answered = head.key == kProduceKey && findings.acks_known && findings.acks == 0;
}

// Skips a message that is not examined: its available bytes, and those that have not arrived yet.
Unit stepped_over(std::string_view bytes, uint64_t message) {
  const uint64_t seen = std::min<uint64_t>(bytes.size(), message);
  return Unit::taken(seen, message - seen);
}

Findings findings_of(const RequestHead& head, std::string_view message) {
  if (head.head_bytes == 0 || head.version > head.api->latest) return {};
  return follow(head.api->request, message.substr(head.head_bytes), head.version, head.api->is_flexible(head.version));
}

bool is_topic(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

// Returns true if these bytes, on an unknown connection, are certainly a request.
bool is_certain(const RequestHead& head, std::string_view bytes) {
  if (head.version > head.api->latest) return false;
  const std::string_view message = message_of(bytes, head.bytes);
  const Findings findings = findings_of(head, message);
  if (head.client_id.empty() && findings.topic.empty()) return false;
  if (!findings.topic_is_id && !is_topic(findings.topic)) return false;
  if (head.key == kProduceKey && (findings.topic.empty() || findings.acks < -1 || findings.acks > 1)) return false;
  return findings.whole || message.size() < head.bytes;
}

}  // namespace

// Forwards only transactions that certainly belong to this protocol.
class Exchange::Filter final : public Sink {
 public:
  Filter(const Exchange& exchange, Sink& sink) : exchange_(exchange), sink_(sink) {}
  void on_transaction(const Request* request, const Response* response) override {
    if (exchange_.confirmed_ || (request != nullptr && response != nullptr)) sink_.on_transaction(request, response);
  }
  void on_silence(const Request& request, const Response& response) override { sink_.on_silence(request, response); }
  void on_client(Side side) override { sink_.on_client(side); }
  void on_loss(LossReason reason) override {
    if (exchange_.confirmed_) sink_.on_loss(reason);
  }

 private:
  const Exchange& exchange_;
  Sink& sink_;
};

void Exchange::start_in_middle(Side side) {
  readers_[side].start_in_middle();
  middle_[side] = true;
}

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  if (readers_[side].read(bytes, segment, *this) == UnitReader::Verdict::kNotMine) {
    pairing_.report_all(filter);
    return ExchangeVerdict::kNotMine;
  }
  if (side == client_) pairing_.requests_settled(readers_[side].settled_offset(), filter);
  return ExchangeVerdict::kFine;
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  Filter filter(*this, sink);
  sink_ = &filter;
  readers_[side].gap(bytes, segment, *this);
  if (side == client_) pairing_.requests_settled(readers_[side].settled_offset(), filter);
  return ExchangeVerdict::kFine;
}

void Exchange::end(Side side, Sink& sink) {
  Filter filter(*this, sink);
  ended_[side] = true;
  if (ended_[0] && ended_[1]) pairing_.report_all(filter);
}

void Exchange::visit_pending(Sink& sink) const {
  Filter filter(*this, sink);
  pairing_.visit_pending(filter);
}

bool Exchange::has_failed() const {
  return !confirmed_ && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes;
}

size_t Exchange::memory_bytes() const {
  return pairing_.memory_bytes() + readers_[0].memory_bytes() + readers_[1].memory_bytes();
}

void Exchange::recycle() {
  pairing_.recycle();
  alone_.trim();
  for (const Side side : {Side{0}, Side{1}}) {
    readers_[side].recycle();
    open_[side] = {};
    middle_[side] = ended_[side] = false;
  }
  expected_ = client_ = -1;
  confirmed_ = raw_tokens_ = false;
  distrust_ = 0;
  tokens_unanswered_ = 0;
}

Unit Exchange::on_unit(Side side, std::string_view bytes, const Segment& first) {
  if (may_send_requests(side)) return request(side, bytes, first);
  // The handshake identified the client, but no request was seen yet: the first responses may precede their requests.
  const bool is_early = client_ < 0 && !middle_[side] && pairing_.pending() < kMaxEarly;
  return client_ >= 0 || is_early ? response(side, bytes, first) : unasked(bytes);
}

Unit Exchange::request(Side side, std::string_view bytes, const Segment& first) {
  RequestHead head;
  size_t wanted = 0;
  switch (parse_request(bytes, &head, &wanted)) {
    case ParseResult::kMore:
      return Unit::more(wanted);
    case ParseResult::kNone:
      if (is_token(bytes)) return token(side, bytes);
      // The other side may be the client, and its requests may not have been captured.
      return client_ < 0 && middle_[other_side(side)] ? unasked(bytes) : Unit::none();
    case ParseResult::kRequest:
      break;
  }
  const size_t looked_at = std::min<size_t>(head.bytes, kLookedAtBytes);
  if (bytes.size() < looked_at) return Unit::more(looked_at);
  if (client_ < 0 && expected_ < 0 && !is_certain(head, bytes)) return unasked(bytes);
  begin(side, head, bytes, first);
  return take(side, head.bytes, bytes.size(), first);
}

void Exchange::begin(Side side, const RequestHead& head, std::string_view bytes, const Segment& first) {
  const Findings findings = findings_of(head, message_of(bytes, head.bytes));
  if (client_ < 0) {
    client_ = side;
    sink_->on_client(side);
  }
  confirmed_ = confirmed_ || !head.client_id.empty() || !findings.topic.empty();
  if (head.key == kSaslHandshakeKey && head.version == 0) raw_tokens_ = true;
  note_id(head.correlation_id);
  open_[side] = {true, head.correlation_id};
  alone_.never_answered = false;
  const bool is_alone = distrust_ > 0 || (head.key == kProduceKey && findings.acks_known && findings.acks == 0);
  Request& request = is_alone ? alone_ : pairing_.begin_request(head.correlation_id, first, *sink_);
  fill(request, head, findings);
  if (!is_alone) {
    pairing_.keep_text(request, head.client_id);
    pairing_.keep_text(request, findings.topic);
    if (Response* early = pairing_.find_response(head.correlation_id)) read_error(request, early->early, *early);
    return;
  }
  request.first_ns = first.time_ns;
  request.text.assign(head.client_id).append(findings.topic);
  open_[side].is_open = false;
  sink_->on_transaction(&request, nullptr);
}

// Distrusts correlation IDs once two open requests share one: it is unclear to which of them a response belongs until
// the client has counted up for a while.
void Exchange::note_id(int32_t id) {
  if (distrust_ > 0) distrust_ = int64_t{id} == int64_t{latest_id_} + 1 ? distrust_ - 1 : kDistrusted;
  latest_id_ = id;
  if (distrust_ > 0 || pairing_.find_request(id) == nullptr) return;
  distrust_ = kDistrusted;
  pairing_.report_all(*sink_);
}

Unit Exchange::response(Side side, std::string_view bytes, const Segment& first) {
  if (bytes.size() < kLengthBytes) return Unit::more(kLengthBytes);
  const uint64_t message = message_bytes(bytes);
  if (bytes.size() < std::min<uint64_t>(message, kResponseHeadBytes)) return Unit::more(kResponseHeadBytes);
  if (is_token(bytes)) return token(side, bytes);
  if (message < kResponseHeadBytes || message > kMaxResponseBytes) return Unit::none();
  const size_t looked_at = std::min<uint64_t>(message, kLookedAtBytes);
  if (bytes.size() < looked_at) return Unit::more(looked_at);
  answer(side, bytes, first);
  return take(side, message, bytes.size(), first);
}

void Exchange::answer(Side side, std::string_view bytes, const Segment& first) {
  const int32_t id = int32_at(bytes, kLengthBytes);
  open_[side] = {true, id};
  Response& response = pairing_.begin_response(id, first, *sink_);
  response.correlation_id = id;
  response.bytes = message_bytes(bytes);
  response.error_known = false;
  response.error = 0;
  response.early.clear();
  if (const Request* request = pairing_.find_request(id)) {
    confirmed_ = true;
    read_error(*request, bytes, response);
  } else {
    response.early = bytes.substr(0, kKeptEarlyBytes);
  }
}

void Exchange::read_error(const Request& request, std::string_view bytes, Response& response) {
  const Api& api = *request.api;
  if (request.version > api.latest || api.response.empty()) return;
  const bool flexible = api.is_flexible(request.version);
  const std::string_view body = response_body(message_of(bytes, response.bytes), request.key, flexible);
  const Findings findings = follow(api.response, body, request.version, flexible);
  response.error_known = findings.error_known;
  response.error = findings.error;
}

// Skips the message, including the part of it that has not arrived yet.
Unit Exchange::take(Side side, uint64_t message, size_t seen, const Segment& first) {
  if (seen < message) return Unit::taken(seen, message - seen);
  close(side, first.offset + message, readers_[side].time_ns());
  return Unit::taken(message);
}

void Exchange::close(Side side, uint64_t end, int64_t time_ns, bool complete) {
  if (!open_[side].is_open) return;
  open_[side].is_open = false;
  if (side == client_) {
    pairing_.end_request(open_[side].correlation_id, end, *sink_, complete);
  } else {
    pairing_.end_response(open_[side].correlation_id, end, time_ns, *sink_);
  }
}

// Handles a response while no client is known. It is not reported, because its correlation ID carries no information.
Unit Exchange::unasked(std::string_view bytes) const {
  if (bytes.size() < kResponseHeadBytes) return Unit::more(kResponseHeadBytes);
  const uint64_t message = message_bytes(bytes);
  if (message < kResponseHeadBytes || message > kMaxResponseBytes) return Unit::none();
  return stepped_over(bytes, message);
}

// Returns true for a SASL token. Each token gets a response, and tokens are not reported, since they contain passwords.
bool Exchange::is_token(std::string_view bytes) const {
  if (!raw_tokens_ || bytes.size() < kLengthBytes || message_bytes(bytes) > kMaxTokenBytes) return false;
  return bytes.size() < kResponseHeadBytes || pairing_.find_request(int32_at(bytes, kLengthBytes)) == nullptr;
}

Unit Exchange::token(Side side, std::string_view bytes) {
  if (side == client_) ++tokens_unanswered_;
  if (side != client_ && tokens_unanswered_-- == 0) return tokens_unanswered_ = 0, Unit::none();
  return stepped_over(bytes, message_bytes(bytes));
}

void Exchange::on_skipped(Side side, uint64_t end_offset, int64_t time_ns) { close(side, end_offset, time_ns); }

// Handles a cut message. Its end is known, since a message begins with its length.
Unit Exchange::on_cut(Side side, std::string_view bytes, const Segment& first, bool /*in_packet*/) {
  RequestHead head;
  size_t wanted = 0;
  if (client_ < 0 && !may_send_requests(side)) return Unit::none();
  if (may_send_requests(side)) {
    if (client_ < 0 && expected_ < 0) return Unit::none();
    if (parse_request(bytes, &head, &wanted) != ParseResult::kRequest || head.bytes <= bytes.size())
      return Unit::none();
    begin(side, head, bytes, first);
    return Unit::taken(bytes.size(), head.bytes - bytes.size());
  }
  if (bytes.size() < kResponseHeadBytes || is_token(bytes)) return Unit::none();
  const uint64_t message = message_bytes(bytes);
  if (message <= bytes.size() || message > kMaxResponseBytes) return Unit::none();
  answer(side, bytes, first);
  return Unit::taken(bytes.size(), message - bytes.size());
}

bool Exchange::may_resume(Side side, std::string_view bytes) const {
  if (client_ >= 0 && side != client_) {
    return bytes.size() >= kResponseHeadBytes && message_bytes(bytes) <= kMaxResponseBytes &&
           pairing_.find_request(int32_at(bytes, kLengthBytes)) != nullptr;
  }
  RequestHead head;
  size_t wanted = 0;
  return may_send_requests(side) && parse_request(bytes, &head, &wanted) == ParseResult::kRequest &&
         is_certain(head, bytes);
}

void Exchange::on_hidden(Side side, uint64_t offset) {
  middle_[side] = true;
  close(side, offset, readers_[side].time_ns(), false);
}

void Exchange::on_too_long(Side /*side*/) { sink_->on_loss(LossReason::kHeadTooLong); }

}  // namespace tapline::kafka
