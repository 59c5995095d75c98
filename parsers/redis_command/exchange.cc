#include "parsers/redis_command/exchange.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "parsers/redis_command/beginning.h"
#include "parsers/redis_command/commands.h"
#include "parsers/redis_command/resp.h"

namespace tapline::redis {
namespace {

constexpr size_t kMaxWordBytes = 32;
constexpr size_t kMaxResumedLineBytes = 512;

Response response_of(std::string_view line, int64_t count) {
  Response response;
  response.type = line.front();
  const bool was_counted = is_bulk(response.type) || is_collection(response.type);
  response.null = response.type == '_' || (was_counted && count < 0);
  if (response.type != '+' && response.type != '-') return response;
  const std::string_view word = first_word(line.substr(1));
  response.word_bytes = static_cast<uint8_t>(std::min(word.size(), Response::kMaxWordBytes));
  std::copy_n(word.begin(), response.word_bytes, response.word);
  return response;
}

}  // namespace

bool Request::contradicts(const Response& response) const {
  if (response.is_error() || response.status() == "QUEUED") return false;
  const std::string_view types = answers_of(name());
  if (types.empty() || types.find(response.type) != std::string_view::npos) return false;
  return !(response.null && types.find('_') != std::string_view::npos) && !(response.null && response.type == '*');
}

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  if (judging_) [[unlikely]]
    return judge(side, bytes, segment, sink);
  return read(side, bytes, segment, boundary_ == 0, sink);
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  if (client_ >= 0) return OrderedExchange::gap(side, bytes, segment, sink);
  pieces_.keep_gap(side, bytes, segment);
  return ExchangeVerdict::kFine;
}

ExchangeVerdict Exchange::read(Side side, std::span<const uint8_t> bytes, const Segment& segment, bool begins,
                               Sink& sink) {
  segment_ = segment;
  if (side == client_ && segment.peer_offset_known) {
    const bool has_more = boundary_ > 0 && boundaries_[(boundary_ - 1) % boundaries_.size()] != segment.peer_offset;
    if (has_more || boundary_ == 0) boundaries_[boundary_++ % boundaries_.size()] = segment.peer_offset;
    new_turn_ = begins || has_more;
  }
  return OrderedExchange::data(side, bytes, segment, sink);
}

ExchangeVerdict Exchange::judge(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  const bool begins = judge_.see(side, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, segment);
  if (judge_.client() >= 0 && judge_.client() == client_) return read(side, bytes, segment, begins, sink);
  pieces_.keep(side, bytes, segment, begins);
  judged_bytes_ += bytes.size();
  if (judge_.client() < 0) return ExchangeVerdict::kFine;
  if (client_ >= 0) restart();
  take_client(static_cast<Side>(judge_.client()));
  sink.on_client(static_cast<Side>(client_));
  return read_held(sink);
}

ExchangeVerdict Exchange::read_held(Sink& sink) {
  for (const HeldPieces::Piece& piece : pieces_.take()) {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(piece.bytes.data()), piece.bytes.size());
    const ExchangeVerdict verdict = piece.missing > 0 ? gap(piece.side, piece.missing, piece.segment, sink)
                                                      : read(piece.side, bytes, piece.segment, piece.begins, sink);
    if (verdict != ExchangeVerdict::kFine) return verdict;
  }
  return ExchangeVerdict::kFine;
}

// Discards everything read so far, because client and server were mixed up.
void Exchange::restart() {
  ClientJudge judge = std::move(judge_);
  HeldPieces held = std::move(pieces_);
  recycle();
  judge_ = std::move(judge);
  pieces_ = std::move(held);
  for (const Side side : {Side{0}, Side{1}}) start_in_middle(side);
}

void Exchange::recycle() {
  OrderedExchange::recycle();
  Exchange exchange;
  static_cast<OrderedExchange&>(exchange) = std::move(static_cast<OrderedExchange&>(*this));
  request_.trim();
  exchange.request_ = std::move(request_);
  *this = std::move(exchange);
}

// Returns the offset before which all commands were read. A command whose name is incomplete does not count yet.
uint64_t Exchange::settled_offset() const {
  const bool unnamed = asking_ == RequestState::kName || asking_ == RequestState::kSubcommand;
  return unnamed ? request_first_.offset : OrderedExchange::settled_offset();
}

bool Exchange::is_boundary(uint64_t offset) const {
  return std::find(boundaries_.begin(), boundaries_.end(), offset) != boundaries_.end() ||
         pairing_.has_request_at(offset);
}

Unit Exchange::on_unit(Side side, std::string_view bytes, const Segment& first) {
  return side == client_ ? request_unit(side, bytes, first) : response_unit(side, bytes, first);
}

Unit Exchange::request_unit(Side side, std::string_view bytes, const Segment& first) {
  const size_t line_bytes = readers_[side].line_end(bytes);
  const bool starts = asking_ == RequestState::kStart;
  const char type = bytes.front();
  const bool was_counted = type == (starts ? '*' : '$');
  if (!was_counted && !starts) return Unit::none();
  if (line_bytes == std::string_view::npos) {
    if (was_counted) return bytes.size() < kMaxWordBytes ? Unit::more() : Unit::none();
    const bool may = confirmed_ || bytes == "\r" || is_name(bytes.substr(0, bytes.find_first_of(" \r\n")));
    return may ? Unit::more() : Unit::none();
  }
  const std::string_view line = bytes.substr(0, line_bytes);
  if (!was_counted) return inline_command(side, line, first);
  int64_t count;
  if (!parse_count(line, &count)) return Unit::none();
  if (!starts) {
    if (count < 0 || count > static_cast<int64_t>(kMaxBulkBytes)) return Unit::none();
    return element(bytes, line_bytes, static_cast<uint64_t>(count), first.offset);
  }
  if (count > static_cast<int64_t>(kMaxElements)) return Unit::none();
  if (count <= 0) return Unit::taken(line_bytes);
  elements_ = static_cast<uint64_t>(count);
  arguments_ = static_cast<uint32_t>(count) - 1;
  request_first_ = first;
  asking_ = RequestState::kName;
  begun_ = false;
  return Unit::taken(line_bytes);
}

Unit Exchange::inline_command(Side side, std::string_view line, const Segment& first) {
  if (line == "\r\n" || line == "\n") return confirmed_ || units_[side] > 0 ? Unit::taken(line.size()) : Unit::none();
  const std::string_view word = first_word(line);
  name_.clear();
  append_upper(&name_, word);
  if (!is_name(word) || (!confirmed_ && !is_common(name_))) return Unit::none();
  request_first_ = first;
  std::string_view rest = line.substr(word.size());
  const auto next_word = [&rest] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::string_view next = first_word(rest);
    rest.remove_prefix(next.size());
    return next;
  };
  arguments_ = 0;
  if (has_subcommands(name_)) {
    const std::string_view subcommand = next_word();
    if (!subcommand.empty() && subcommand.size() <= kMaxNameBytes) append_upper(&(name_ += ' '), subcommand);
  }
  elements_ = 0;
  const std::string_view argument = next_word();
  arguments_ = argument.empty() ? 0 : 1;
  while (!next_word().empty()) ++arguments_;
  name_ == "CLIENT REPLY" ? begin_reply_mode(argument) : begin_request(false);
  if (wants_key_ && !argument.empty()) keep_key(argument.substr(0, kMaxKeyBytes));
  element_read(first.offset + line.size());
  return Unit::taken(line.size());
}

// Reads one bulk string of a command.
Unit Exchange::element(std::string_view bytes, size_t line_bytes, uint64_t length, uint64_t begin) {
  const uint64_t whole = line_bytes + length + kLineEndBytes;
  const bool named = asking_ == RequestState::kName || asking_ == RequestState::kSubcommand;
  const bool reply = asking_ == RequestState::kArgument && name_ == "CLIENT REPLY" && !begun_;
  if (named && (length == 0 || length > kMaxNameBytes)) return Unit::none();
  const bool is_key = asking_ == RequestState::kArgument && begun_ && wants_key_;
  const uint64_t wanted = named || reply ? whole
                          : is_key       ? std::min<uint64_t>(whole, line_bytes + kMaxKeyBytes)
                                         : line_bytes;
  if (wanted > line_bytes && length > kMaxKeyBytes && reply) return Unit::none();
  if (bytes.size() < wanted) return Unit::more(wanted);
  const std::string_view text = bytes.substr(line_bytes, std::min<uint64_t>(length, wanted - line_bytes));
  --elements_;
  if (named) {
    if (!is_name(text)) return Unit::none();
    if (asking_ == RequestState::kName) name_.clear();
    if (asking_ == RequestState::kSubcommand) name_ += ' ';
    append_upper(&name_, text);
    const bool has_more = asking_ == RequestState::kName && has_subcommands(name_) && elements_ > 0;
    asking_ = has_more ? RequestState::kSubcommand : RequestState::kArgument;
    if (!has_more && !(name_ == "CLIENT REPLY" && elements_ > 0)) begin_request(true);
  } else if (reply) {
    begin_reply_mode(text);
  } else if (is_key) {
    keep_key(text);
  }
  if (wanted < whole) return Unit::taken(wanted, whole - wanted);
  if (elements_ == 0) element_read(begin + whole);
  return Unit::taken(whole);
}

// Begins the request once the command's name is known. Determines whether it gets a reply.
void Exchange::begin_request(bool certain) {
  const Side client = static_cast<Side>(client_);
  recognise(client, client, certain, certain);
  begun_ = true;
  wants_key_ = has_key(name_);
  answered_ = !silent_ && !std::exchange(skips_, false);
  if (name_.ends_with("SUBSCRIBE")) subscribed_ = true;
  Request& request = answered_ ? pairing_.begin_request(request_first_, *sink_) : request_;
  request.name_bytes = static_cast<uint32_t>(name_.size());
  request.unanswered = !answered_;
  request.arguments = arguments_;
  if (answered_) return pairing_.keep_text(request, name_);
  request.first_ns = request_first_.time_ns;
  request.begin = request_first_.offset;
  request.text = name_;
}

void Exchange::keep_key(std::string_view key) {
  wants_key_ = false;
  if (!answered_) {
    request_.text.append(key);
  } else if (Request* request = pairing_.reading()) {
    pairing_.keep_text(*request, key);
  }
}

// Begins a CLIENT REPLY command. CLIENT REPLY ON gets a reply; OFF and SKIP get none. SKIP has no effect in OFF mode.
// No other protocol has such a line, so it identifies Redis for certain.
void Exchange::begin_reply_mode(std::string_view word) {
  std::string mode;
  append_upper(&mode, word);
  if (mode == "ON") silent_ = false;
  if (mode == "OFF") silent_ = true;
  skips_ = mode == "SKIP";  // for this command and the next
  begin_request(true);
  skips_ = mode == "SKIP" && !silent_;
}

// Ends the request once the command has been read completely.
void Exchange::element_read(uint64_t end) {
  asking_ = RequestState::kStart;
  if (!begun_) return;
  begun_ = false;
  if (answered_) return pairing_.end_request(end);
  request_.end = end;
  request_.complete = true;
  sink_->on_transaction(&request_, nullptr);
}

Unit Exchange::response_unit(Side side, std::string_view bytes, const Segment& first) {
  if (answering_ == ResponseState::kFirstElement) return first_element(side, bytes, first);
  if (!is_type(bytes.front())) return Unit::none();
  // A server never sends first, although its replies may be captured first.
  const bool unasked = first.peer_offset_known && first.peer_offset == 0;
  if (unasked && first.offset == 0 && !middle_[side]) return Unit::none();
  const size_t line_bytes = readers_[side].line_end(bytes);
  if (line_bytes == std::string_view::npos) return Unit::more();
  const std::string_view line = bytes.substr(0, line_bytes);
  int64_t count = 0;
  if (!is_value_line(line, &count)) return Unit::none();
  const char type = line.front();
  const bool collection = is_collection(type);
  if (answering_ == ResponseState::kStart) {
    const bool certain = type == '$' || type == '*';
    recognise(other_side(side), side, certain, certain);
    value_first_ = first;
    response_ = response_of(line, count);
    values_ = 1;
    const bool may_push =
        type == '>' || (type == '*' && count >= 2 && count <= 4 && (subscribed_ || pairing_.next_request() == nullptr));
    answering_ = may_push ? ResponseState::kFirstElement : ResponseState::kResponse;
    if (type == '|') answering_ = ResponseState::kPush;  // attributes, before the value that they describe
    if (answering_ == ResponseState::kResponse) begin_response();
  }
  --values_;
  if (collection && count > 0) values_ += static_cast<uint64_t>(count) * (type == '%' || type == '|' ? 2 : 1);
  const bool bulk = is_bulk(type) && count >= 0;
  if (values_ == 0 && !bulk) value_read(side, first.offset + line_bytes);
  return Unit::taken(line_bytes, bulk ? static_cast<uint64_t>(count) + kLineEndBytes : 0);
}

// Reads the first element of an array or a push, which identifies messages to subscribers.
Unit Exchange::first_element(Side side, std::string_view bytes, const Segment& first) {
  const size_t line_bytes = readers_[side].line_end(bytes);
  if (line_bytes == std::string_view::npos) return bytes.size() < kMaxWordBytes ? Unit::more() : Unit::none();
  int64_t length = -1;
  const bool is_bulk = bytes.front() == '$' && parse_count(bytes.substr(0, line_bytes), &length);
  if (!is_bulk || length < 0 || length > static_cast<int64_t>(kMaxWordBytes)) {
    answering_ = response_.type == '>' ? ResponseState::kPush : ResponseState::kResponse;
    if (answering_ == ResponseState::kResponse) begin_response();
    return response_unit(side, bytes, first);
  }
  const uint64_t whole = line_bytes + static_cast<uint64_t>(length) + kLineEndBytes;
  if (bytes.size() < whole) return Unit::more(whole);
  answering_ =
      answers(bytes.substr(line_bytes, static_cast<size_t>(length))) ? ResponseState::kResponse : ResponseState::kPush;
  if (answering_ == ResponseState::kResponse) begin_response();
  if (--values_ == 0) value_read(side, first.offset + whole);
  return Unit::taken(whole);
}

// Returns true if an array, or a push, that begins with this word is a response.
bool Exchange::answers(std::string_view word) {
  if (!is_confirmation(word)) {
    return response_.type != '>' && word != "message" && word != "pmessage" && word != "smessage";
  }
  if (confirmations_ > 0) {
    --confirmations_;
    return false;
  }
  const Request* next = pairing_.next_request();
  if (next == nullptr || !is_subscription(next->name())) return false;
  confirmations_ = next->arguments > 1 ? next->arguments - 1 : 0;
  return true;
}

void Exchange::begin_response() {
  const Request* request = pairing_.begin_response(value_first_, response_, *sink_);
  if (request == nullptr) return;
  if (ends_responses(request->name()) && !response_.is_error()) over_ = true;
}

void Exchange::value_read(Side side, uint64_t end) {
  if (std::exchange(answering_, ResponseState::kStart) == ResponseState::kResponse) {
    pairing_.end_response(end, readers_[side].time_ns(), *sink_);
  }
  if (over_) readers_[side].become_opaque();
}

void Exchange::on_skipped(Side side, uint64_t end_offset, int64_t /*time_ns*/) {
  if (side == client_) {
    if (elements_ == 0) element_read(end_offset);
  } else if (values_ == 0) {
    value_read(side, end_offset);
  }
}

// Returns true if reading may resume here. A value may contain any bytes, so reading resumes only with a command at the
// beginning of a client's turn, or with a reply at a position where one must begin, as far as such positions are known.
bool Exchange::may_resume(Side side, std::string_view bytes) const {
  if (side == client_) {
    const Beginning::Kind kind = beginning_of(bytes).kind;
    return new_turn_ && (kind == Beginning::Kind::kCommand || kind == Beginning::Kind::kArray);
  }
  int64_t count = 0;
  if (!is_value_line(bytes.substr(0, bytes.substr(0, kMaxResumedLineBytes).find('\n') + 1), &count)) return false;
  // Commands may be captured after their replies.
  const bool is_late = segment_.peer_offset_known && segment_.peer_offset > settled_offset();
  return !confirmed_ || is_late || boundary_ == 0 || is_boundary(segment_.offset);
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  const uint64_t offset = readers_[side].seen_end();
  lose_step(side);
  if (side == client_) {
    if (begun_ && answered_) pairing_.end_request(offset, false);
    pairing_.forget_reading();
    pairing_.hide_requests();
    asking_ = RequestState::kStart;
    begun_ = false;
    return;
  }
  if (Response* response = pairing_.response()) {
    response->cut = true;
    pairing_.end_response(offset, readers_[side].time_ns(), *sink_, false);
  }
  answering_ = ResponseState::kStart;
  pairing_.hide_responses();
}

}  // namespace tapline::redis
