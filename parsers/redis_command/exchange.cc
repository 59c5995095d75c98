#include "parsers/redis_command/exchange.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "parsers/redis_command/commands.h"

namespace tapline::redis {
namespace {

constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxWordBytes = 32;
constexpr uint64_t kMaxElements = 1 << 20;
constexpr uint64_t kMaxBulkBytes = uint64_t{512} << 20;
constexpr uint64_t kLineEnd = 2;
constexpr std::string_view kTypes = "+-:$*_,#!=(%~>|";
constexpr std::string_view kBulks = "$=!";
constexpr std::string_view kCollections = "*%~>|";

// "*3\r\n", "$-1\r\n": the number behind the type. False: there is none.
bool parse_count(std::string_view line, int64_t* count) {
  if (line.size() < 4 || !line.ends_with("\r\n")) return false;
  const char* end = line.data() + line.size() - 2;
  const auto [behind, error] = std::from_chars(line.data() + 1, end, *count);
  return error == std::errc() && behind == end && *count >= -1;
}

bool is_text(std::string_view line) {
  return line.ends_with("\r\n") &&
         std::all_of(line.begin(), line.end() - 2, [](char c) { return static_cast<uint8_t>(c) >= ' ' || c == '\t'; });
}

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A line that says a value of its own, or how long it is.
bool is_value_line(std::string_view line, int64_t* count) {
  const char type = line.front();
  if (kTypes.find(type) == std::string_view::npos || !line.ends_with("\r\n")) return false;
  const std::string_view rest = line.substr(1, line.size() - 3);
  if (kBulks.find(type) != std::string_view::npos) {
    return parse_count(line, count) && *count <= static_cast<int64_t>(kMaxBulkBytes);
  }
  if (kCollections.find(type) != std::string_view::npos) {
    return parse_count(line, count) && *count <= static_cast<int64_t>(kMaxElements);
  }
  if (type == ':') return is_number(rest);
  if (type == '_') return rest.empty();
  if (type == '#') return rest == "t" || rest == "f";
  return is_text(line);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '|';
  });
}

void append_upper(std::string* text, std::string_view word) {
  for (const char c : word) text->push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \r\n")); }

// A line that is hardly anything else.
bool is_inline_command(std::string_view line) {
  const std::string_view word = first_word(line);
  std::string name;
  if (word.size() <= kMaxNameBytes) append_upper(&name, word);
  return is_text(line) && is_common(name);
}

Response response_of(std::string_view line, int64_t count) {
  Response response;
  response.type = line.front();
  const bool counted = kBulks.find(response.type) != std::string_view::npos ||
                       kCollections.find(response.type) != std::string_view::npos;
  response.null = response.type == '_' || (counted && count < 0);
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
  segment_ = segment;
  if (side == client_ && segment.peer_offset_known && !is_boundary(segment.peer_offset)) {
    boundaries_[boundary_++ % boundaries_.size()] = segment.peer_offset;
  }
  return OrderedExchange::data(side, bytes, segment, sink);
}

void Exchange::recycle() {
  OrderedExchange::recycle();
  Exchange fresh;
  static_cast<OrderedExchange&>(fresh) = std::move(static_cast<OrderedExchange&>(*this));
  request_.trim();
  fresh.request_ = std::move(request_);
  *this = std::move(fresh);
}

// A command whose name is still to come is none yet.
uint64_t Exchange::settled_offset() const {
  const bool unnamed = asking_ == Asking::kName || asking_ == Asking::kSubcommand;
  return unnamed ? request_first_.offset : OrderedExchange::settled_offset();
}

bool Exchange::is_boundary(uint64_t offset) const {
  return std::find(boundaries_.begin(), boundaries_.end(), offset) != boundaries_.end();
}

Unit Exchange::on_unit(Side side, std::string_view bytes, const Segment& first) {
  if (client_ >= 0) return side == client_ ? request_unit(side, bytes, first) : response_unit(side, bytes, first);
  if (asking_ != Asking::kStart && side == asking_side_) return request_unit(side, bytes, first);
  if (bytes.front() == '*') {
    const size_t line = readers_[side].line_end(bytes);
    if (line == std::string_view::npos) return bytes.size() < kMaxWordBytes ? Unit::more() : Unit::none();
    if (bytes.size() < line + 1) return Unit::more(line + 1);
    asking_side_ = side;
    return bytes[line] == '$' ? request_unit(side, bytes, first) : response_unit(side, bytes, first);
  }
  return kTypes.find(bytes.front()) != std::string_view::npos ? response_unit(side, bytes, first)
                                                              : request_unit(side, bytes, first);
}

Unit Exchange::request_unit(Side side, std::string_view bytes, const Segment& first) {
  asking_side_ = side;
  const size_t line_bytes = readers_[side].line_end(bytes);
  const bool starts = asking_ == Asking::kStart;
  const char type = bytes.front();
  const bool counted = type == (starts ? '*' : '$');
  if (!counted && !starts) return Unit::none();
  if (line_bytes == std::string_view::npos) {
    if (counted) return bytes.size() < kMaxWordBytes ? Unit::more() : Unit::none();
    const bool may = confirmed_ || bytes == "\r" || is_name(bytes.substr(0, bytes.find_first_of(" \r\n")));
    return may ? Unit::more() : Unit::none();
  }
  const std::string_view line = bytes.substr(0, line_bytes);
  if (!counted) return inline_command(side, line, first);
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
  asking_ = Asking::kName;
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

// One bulk string of a command.
Unit Exchange::element(std::string_view bytes, size_t line_bytes, uint64_t length, uint64_t begin) {
  const uint64_t whole = line_bytes + length + kLineEnd;
  const bool named = asking_ == Asking::kName || asking_ == Asking::kSubcommand;
  const bool reply = asking_ == Asking::kArgument && name_ == "CLIENT REPLY" && !begun_;
  if (named && (length == 0 || length > kMaxNameBytes)) return Unit::none();
  const bool is_key = asking_ == Asking::kArgument && begun_ && wants_key_;
  const uint64_t wanted = named || reply ? whole
                          : is_key       ? std::min<uint64_t>(whole, line_bytes + kMaxKeyBytes)
                                         : line_bytes;
  if (wanted > line_bytes && length > kMaxKeyBytes && reply) return Unit::none();
  if (bytes.size() < wanted) return Unit::more(wanted);
  const std::string_view text = bytes.substr(line_bytes, std::min<uint64_t>(length, wanted - line_bytes));
  --elements_;
  if (named) {
    if (!is_name(text)) return Unit::none();
    if (asking_ == Asking::kName) name_.clear();
    if (asking_ == Asking::kSubcommand) name_ += ' ';
    append_upper(&name_, text);
    const bool more = asking_ == Asking::kName && has_subcommands(name_) && elements_ > 0;
    asking_ = more ? Asking::kSubcommand : Asking::kArgument;
    if (!more && !(name_ == "CLIENT REPLY" && elements_ > 0)) begin_request(true);
  } else if (reply) {
    begin_reply_mode(text);
  } else if (is_key) {
    keep_key(text);
  }
  if (wanted < whole) return Unit::taken(wanted, whole - wanted);
  if (elements_ == 0) element_read(begin + whole);
  return Unit::taken(whole);
}

// The command's name is known, and whether it will be answered.
void Exchange::begin_request(bool certain) {
  recognise(asking_side_, asking_side_, certain, certain);
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

// CLIENT REPLY ON is answered, OFF and SKIP are not; SKIP says nothing while it is off.
// No other protocol has such a line.
void Exchange::begin_reply_mode(std::string_view word) {
  std::string mode;
  append_upper(&mode, word);
  if (mode == "ON") silent_ = false;
  if (mode == "OFF") silent_ = true;
  skips_ = mode == "SKIP";  // this one and the next
  begin_request(true);
  skips_ = mode == "SKIP" && !silent_;
}

// All of the command was read.
void Exchange::element_read(uint64_t end) {
  asking_ = Asking::kStart;
  if (!begun_) return;
  begun_ = false;
  if (answered_) return pairing_.end_request(end);
  request_.end = end;
  sink_->on_transaction(&request_, nullptr);
}

Unit Exchange::response_unit(Side side, std::string_view bytes, const Segment& first) {
  if (answering_ == Answering::kFirstElement) return first_element(side, bytes, first);
  if (kTypes.find(bytes.front()) == std::string_view::npos) return Unit::none();
  // A server never speaks first. (What it answers may be seen first.)
  const bool unasked = first.peer_offset_known && first.peer_offset == 0;
  if (unasked && first.offset == 0 && !middle_[side]) return Unit::none();
  const size_t line_bytes = readers_[side].line_end(bytes);
  if (line_bytes == std::string_view::npos) return Unit::more();
  const std::string_view line = bytes.substr(0, line_bytes);
  int64_t count = 0;
  if (!is_value_line(line, &count)) return Unit::none();
  const char type = line.front();
  const bool collection = kCollections.find(type) != std::string_view::npos;
  if (answering_ == Answering::kStart) {
    const bool certain = type == '$' || type == '*';
    recognise(other_side(side), side, certain, certain);
    value_first_ = first;
    response_ = response_of(line, count);
    values_ = 1;
    const bool may_push =
        type == '>' || (type == '*' && count >= 2 && count <= 4 && (subscribed_ || pairing_.next_request() == nullptr));
    answering_ = may_push ? Answering::kFirstElement : Answering::kResponse;
    if (type == '|') answering_ = Answering::kPush;  // attributes, before the value that they are of
    if (answering_ == Answering::kResponse) begin_response();
  }
  --values_;
  if (collection && count > 0) values_ += static_cast<uint64_t>(count) * (type == '%' || type == '|' ? 2 : 1);
  const bool bulk = kBulks.find(type) != std::string_view::npos && count >= 0;
  if (values_ == 0 && !bulk) value_read(side, first.offset + line_bytes);
  return Unit::taken(line_bytes, bulk ? static_cast<uint64_t>(count) + kLineEnd : 0);
}

// Messages to subscribers say so in their first element.
Unit Exchange::first_element(Side side, std::string_view bytes, const Segment& first) {
  const size_t line_bytes = readers_[side].line_end(bytes);
  if (line_bytes == std::string_view::npos) return bytes.size() < kMaxWordBytes ? Unit::more() : Unit::none();
  int64_t length = -1;
  const bool bulk = bytes.front() == '$' && parse_count(bytes.substr(0, line_bytes), &length);
  if (!bulk || length < 0 || length > static_cast<int64_t>(kMaxWordBytes)) {
    answering_ = response_.type == '>' ? Answering::kPush : Answering::kResponse;
    if (answering_ == Answering::kResponse) begin_response();
    return response_unit(side, bytes, first);
  }
  const uint64_t whole = line_bytes + static_cast<uint64_t>(length) + kLineEnd;
  if (bytes.size() < whole) return Unit::more(whole);
  answering_ = answers(bytes.substr(line_bytes, static_cast<size_t>(length))) ? Answering::kResponse : Answering::kPush;
  if (answering_ == Answering::kResponse) begin_response();
  if (--values_ == 0) value_read(side, first.offset + whole);
  return Unit::taken(whole);
}

// Whether an array, or a push, that begins with this word is an answer.
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
  if (ends_answers(request->name()) && !response_.is_error()) over_ = true;
}

void Exchange::value_read(Side side, uint64_t end) {
  if (std::exchange(answering_, Answering::kStart) == Answering::kResponse) {
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

// Commands are arrays of bulk strings, or a line that is a whole segment. Values are like much else, so an answer is
// resumed where one has to begin.
bool Exchange::may_resume(Side side, std::string_view bytes) const {
  const size_t line_bytes = bytes.substr(0, 512).find('\n') + 1;
  if (line_bytes == 0) return false;
  int64_t count = 0;
  const std::string_view line = bytes.substr(0, line_bytes);
  if (side == client_ && line_bytes == bytes.size() && is_inline_command(line)) return true;
  if (!is_value_line(line, &count)) return false;
  const bool command = bytes.front() == '*' && count > 0 && bytes.size() > line_bytes && bytes[line_bytes] == '$';
  if (side == client_ || (client_ < 0 && command)) return command;
  if (client_ < 0) return bytes.front() == '$' || bytes.front() == ':' || bytes.front() == '+';
  // The client's own bytes may come later than what answers them.
  const bool late = segment_.peer_offset_known && segment_.peer_offset > settled_offset();
  return !confirmed_ || late || boundary_ == 0 || is_boundary(segment_.offset);
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  const uint64_t offset = readers_[side].seen_end();
  lose_step(side);
  if (client_ < 0) {
    asking_ = Asking::kStart;
    answering_ = Answering::kStart;
    return;
  }
  if (side == client_) {
    if (begun_ && answered_) pairing_.end_request(offset, false);
    pairing_.forget_reading();
    pairing_.hide_requests();
    asking_ = Asking::kStart;
    begun_ = false;
    return;
  }
  if (Response* response = pairing_.response()) {
    response->cut = true;
    pairing_.end_response(offset, readers_[side].time_ns(), *sink_);
  }
  answering_ = Answering::kStart;
  pairing_.hide_responses();
}

}  // namespace tapline::redis
