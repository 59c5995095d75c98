#include "parsers/memcached_get/exchange.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "parsers/api/bytes.h"

namespace tapline::memcached {
namespace {

constexpr size_t kMaxFound = 32 << 10;
constexpr size_t kDatagramHead = 8;
constexpr int64_t kDatagramTimeoutNs = 10'000'000'000;
constexpr uint8_t kStatOpcode = 0x10;
constexpr uint64_t kLineEnd = 2;

constexpr uint32_t kErrors = bit(Answer::kError) | bit(Answer::kClientError) | bit(Answer::kServerError);
// Lines after which the response continues.
constexpr uint32_t kGoesOn = bit(Answer::kValue) | bit(Answer::kStat) | bit(Answer::kItem);
// Responses that can't be lines of another protocol.
constexpr uint32_t kCertainResponses = bit(Answer::kValue) | bit(Answer::kStored) | bit(Answer::kNotStored) |
                                       bit(Answer::kNotFound) | bit(Answer::kDeleted) | bit(Answer::kTouched) |
                                       bit(Answer::kStat) | bit(Answer::kEnd) | bit(Answer::kMetaValue);

bool is_in(Answer response, uint32_t set) { return (bit(response) & set) != 0; }

Response response_of(const TextResponse& answer) {
  Response response;
  response.answer = answer.kind;
  if (!answer.opaque.empty()) response.opaque = hash_of(answer.opaque);
  if (!answer.key.empty()) response.key_hash = hash_of(answer.key);
  if (answer.has_value) response.first_bytes = static_cast<uint32_t>(answer.value_bytes);
  response.value_bytes = answer.value_bytes;
  return response;
}

Response response_of(const BinaryHead& head, std::string_view key) {
  Response response;
  response.binary = true;
  response.opcode = head.opcode;
  response.status = head.status;
  response.opaque = head.opaque;
  if (!key.empty() && head.opcode != kStatOpcode) response.key_hash = hash_of(key);
  if (head.status == 0) response.value_bytes = response.first_bytes = static_cast<uint32_t>(head.value_bytes());
  return response;
}

void fill(Request& request, const TextRequest& parsed) {
  request.command = parsed.command;
  request.binary = false;
  request.quiet = parsed.quiet;
  request.never_answered = parsed.never_answered;
  request.opcode = 0;
  request.opaque = parsed.opaque.empty() ? 0 : hash_of(parsed.opaque);
  const bool has_several = parsed.keys.find(' ') != std::string_view::npos;
  request.key_hash = parsed.keys.empty() || has_several ? 0 : hash_of(parsed.keys);
  request.value_bytes = parsed.value_bytes;
}

void fill(Request& request, const BinaryHead& head, std::string_view key) {
  const BinaryCommand& command = *binary_command(head.opcode);
  request.command = &command.command;
  request.binary = true;
  request.quiet = command.quiet;
  request.never_answered = command.command.name == "quitq";
  request.opcode = head.opcode;
  request.opaque = head.opaque;
  request.key_hash = key.empty() ? 0 : hash_of(key);
  // A client's SASL data are secret, and so is their length.
  request.value_bytes = command.command.group == Group::kWrite ? head.value_bytes() : 0;
}

std::string_view trimmed(std::string_view keys) {
  while (keys.ends_with(' ')) keys.remove_suffix(1);
  return keys;
}

// The head of a UDP datagram: request ID, sequence number, total number of datagrams, reserved; 16 bits each.
struct DatagramHead {
  uint16_t id, number, total, reserved;
};

DatagramHead head_of(std::string_view payload) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
  return {big_endian_16(bytes), big_endian_16(bytes + 2), big_endian_16(bytes + 4), big_endian_16(bytes + 6)};
}

}  // namespace

uint32_t hash_of(std::string_view key) {
  const auto hash = static_cast<uint32_t>(std::hash<std::string_view>()(key));
  return hash != 0 ? hash : 1;
}

bool Request::contradicts(const Response& response) const {
  if (binary != response.binary) return true;
  if (binary) {
    if (opcode != response.opcode || opaque != response.opaque) return true;
    return response.key_hash != 0 && response.key_hash != key_hash;
  }
  if (is_in(response.answer, kErrors)) return false;
  if (may_lack_head(response)) return true;
  if (!is_in(response.answer, command->answers)) return true;
  const bool carries_flags = response.answer == Answer::kMetaValue || response.answer == Answer::kMetaDone;
  if (opaque != response.opaque && (carries_flags || response.opaque != 0)) return true;
  if (response.key_hash == 0 || response.key_hash == key_hash) return false;
  bool is_named = false;
  for_each_key(text, [&](std::string_view key) { is_named = is_named || hash_of(key) == response.key_hash; });
  return !is_named;
}

// Returns true if the response follows a gap and is either the end of a get's response or the value of a key other than
// the first. If the client had already received everything before it when it sent the request, it is the beginning of
// the response instead.
bool Request::may_lack_head(const Response& response) const {
  if (!response.after_gap || response.begin == peer_offset) return false;
  if (response.answer == Answer::kEnd) return true;
  if (response.answer != Answer::kValue || key_hash != 0) return false;
  return response.key_hash != hash_of(std::string_view(text).substr(0, text.find(' ')));
}

void Exchange::visit_pending(Sink& sink) const {
  OrderedExchange::visit_pending(sink);
  Filter filter(*this, sink);
  datagrams_.visit_pending(filter);
}

void Exchange::recycle() {
  OrderedExchange::recycle();
  datagrams_.recycle();
  unanswered_.trim();
  in_value_[0] = in_value_[1] = torn_ = false;
  answered_ = {};
  answered_count_ = 0;
}

Unit Exchange::on_unit(Side side, std::string_view bytes, const Segment& first) {
  const auto magic = static_cast<uint8_t>(bytes[0]);
  const bool binary = magic == BinaryHead::kRequestMagic || magic == BinaryHead::kResponseMagic;
  return binary ? binary_unit(side, bytes, first) : text_unit(side, bytes, first);
}

Unit Exchange::text_unit(Side side, std::string_view bytes, const Segment& first) {
  const bool asks = client_ < 0 ? may_become_request(bytes) : side == client_;
  const size_t end = readers_[side].line_end(bytes);
  if (end != std::string_view::npos) {
    const std::string_view line = bytes.substr(0, end);
    return asks ? text_request(side, line, first) : text_response(side, line, first);
  }
  return (asks ? may_become_request(bytes) : may_become_response(bytes)) ? Unit::more() : Unit::none();
}

Request& Exchange::open_request(const Segment& first, bool never_answered) {
  end_torn();
  if (!never_answered) return pairing_.begin_request(first, *sink_);
  unanswered_.first_ns = first.time_ns;
  unanswered_.text.clear();
  return unanswered_;
}

void Exchange::close_request(Request& request, uint64_t end, bool is_whole) {
  if (&request == &unanswered_) {
    sink_->on_transaction(&request, nullptr);
    pairing_.forget_reading();
  } else {
    pairing_.end_request(end, is_whole);
  }
}

Unit Exchange::text_request(Side side, std::string_view line, const Segment& first) {
  const TextRequest parsed = parse_request(line);
  if (parsed.command == nullptr) return Unit::none();
  recognise(side, side, parsed.command->form != Form::kPlain);
  Request& request = open_request(first, parsed.never_answered);
  fill(request, parsed);
  const std::string_view keys = trimmed(parsed.keys);
  if (parsed.never_answered) {
    request.text = keys;
  } else {
    pairing_.keep_text(request, keys);
  }
  close_request(request, first.offset + line.size(), !parsed.has_value);
  in_value_[side] = parsed.has_value && !parsed.never_answered;
  return Unit::taken(line.size(), parsed.has_value ? parsed.value_bytes + kLineEnd : 0);
}

Unit Exchange::text_response(Side side, std::string_view line, const Segment& first) {
  const TextResponse parsed = parse_response(line);
  if (parsed.kind == Answer::kNone) return Unit::none();
  if (client_ < 0 && !is_in(parsed.kind, kCertainResponses)) return Unit::none();
  recognise(other_side(side), side, is_in(parsed.kind, kCertainResponses));
  const uint64_t end = first.offset + line.size();
  if (torn_ && !continues(parsed, first)) end_torn();
  Response* current = pairing_.response();
  if (std::exchange(torn_, false)) current->cut = false;
  const bool goes_on = is_in(parsed.kind, kGoesOn);
  if (current != nullptr && (goes_on || parsed.kind == Answer::kEnd || is_in(parsed.kind, kErrors))) {
    if (parsed.kind == Answer::kValue) add_found(*current, parsed.key, parsed.value_bytes);
    if (is_in(parsed.kind, kErrors)) current->answer = parsed.kind;
  } else {
    if (current != nullptr) end_answer(first.offset, first.time_ns);
    Response response = response_of(parsed);
    response.after_gap = pairing_.responses_are_hidden();
    begin_answer(first, response);
    current = pairing_.response();
    if (pairing_.answered() == nullptr) current->key = parsed.key;
  }
  in_value_[side] = parsed.kind == Answer::kMetaValue;
  if (!goes_on && !in_value_[side]) end_answer(end, readers_[side].time_ns());
  return Unit::taken(line.size(), parsed.has_value ? parsed.value_bytes + kLineEnd : 0);
}

void Exchange::begin_answer(const Segment& first, const Response& response) {
  pairing_.begin_response(first, response, *sink_);
}

void Exchange::add_found(Response& response, std::string_view key, uint64_t value_bytes) {
  response.value_bytes += value_bytes;
  if (response.found.size() >= kMaxFound) return;
  response.found.push_back({hash_of(key), static_cast<uint32_t>(value_bytes)});
}

void Exchange::end_answer(uint64_t end, int64_t time_ns, bool complete) {
  pairing_.end_response(end, time_ns, *sink_, complete);
}

// Keeps a response with a gap open if it may continue after the gap. Returns false for all other responses.
bool Exchange::tear(Side side) {
  Response* response = pairing_.response();
  const Request* request = pairing_.answered();
  if (response == nullptr || request == nullptr || response->binary || response->answer != Answer::kValue) return false;
  if (!request->complete || request->key_hash != 0 || response->found.size() >= kMaxFound) return false;
  response->cut = true;
  response->found.push_back({0, 0});
  if (std::exchange(torn_, true)) return true;
  torn_end_ = readers_[side].seen_end();
  torn_ns_ = readers_[side].time_ns();
  return true;
}

// Returns true if a line belongs to the torn response and no message is hidden: the line has a requested key or ends
// the response, and the server sent it when it had received this request and nothing after it.
bool Exchange::continues(const TextResponse& line, const Segment& first) const {
  const Request* request = pairing_.answered();
  if (!torn_ || request == nullptr || !first.peer_offset_known || first.peer_offset != request->end) return false;
  if (line.kind != Answer::kValue) return line.kind == Answer::kEnd;
  bool is_named = false;
  for_each_key(request->text, [&](std::string_view key) { is_named = is_named || key == line.key; });
  return is_named;
}

// Ends a torn response that did not continue.
void Exchange::end_torn() {
  if (!std::exchange(torn_, false)) return;
  end_answer(torn_end_, torn_ns_, false);
  pairing_.hide_responses();
}

Unit Exchange::binary_unit(Side side, std::string_view bytes, const Segment& first) {
  if (!may_be_binary(bytes)) return Unit::none();
  if (bytes.size() < BinaryHead::kBytes) return Unit::more(BinaryHead::kBytes);
  BinaryHead head;
  if (!parse_head(bytes, &head)) return Unit::none();
  const bool asks = head.magic == BinaryHead::kRequestMagic;
  if (client_ >= 0 && asks != (side == client_)) return Unit::none();
  if (bytes.size() < head.unit_bytes()) return Unit::more(head.unit_bytes());
  recognise(asks ? side : other_side(side), side, true);
  const std::string_view key = bytes.substr(BinaryHead::kBytes + head.extra_bytes, head.key_bytes);
  asks ? binary_request(side, head, key, first) : binary_response(side, head, key, first);
  return Unit::taken(head.unit_bytes(), head.value_bytes());
}

void Exchange::binary_request(Side side, const BinaryHead& head, std::string_view key, const Segment& first) {
  const bool never_answered = binary_command(head.opcode)->command.name == "quitq";
  Request& request = open_request(first, never_answered);
  fill(request, head, key);
  if (!never_answered) pairing_.keep_text(request, key);
  in_value_[side] = head.value_bytes() > 0 && !never_answered;
  close_request(request, first.offset + head.unit_bytes(), !in_value_[side]);
}

void Exchange::binary_response(Side side, const BinaryHead& head, std::string_view key, const Segment& first) {
  end_torn();
  Response* current = pairing_.response();
  const bool statistic = head.opcode == kStatOpcode && head.key_bytes > 0 && head.status == 0;
  if (current == nullptr || current->opcode != kStatOpcode || head.opcode != kStatOpcode) {
    if (current != nullptr) end_answer(first.offset, first.time_ns);
    begin_answer(first, response_of(head, key));
    if (pairing_.answered() == nullptr && head.opcode != kStatOpcode) pairing_.response()->key = key;
  }
  if (head.opcode == kStatOpcode) pairing_.response()->value_bytes = 0;
  in_value_[side] = !statistic && head.value_bytes() > 0;
  if (!statistic && !in_value_[side]) end_answer(first.offset + head.unit_bytes(), readers_[side].time_ns());
}

void Exchange::on_skipped(Side side, uint64_t end_offset, int64_t time_ns) {
  if (!in_value_[side]) return;
  in_value_[side] = false;
  if (side == client_) {
    pairing_.end_request(end_offset);
  } else {
    end_answer(end_offset, time_ns);
  }
}

bool Exchange::may_resume(Side side, std::string_view bytes) const {
  const bool may_send_requests = client_ < 0 || side == client_;
  const bool may_answer = client_ < 0 || side != client_;
  const auto magic = static_cast<uint8_t>(bytes[0]);
  if (magic == BinaryHead::kRequestMagic || magic == BinaryHead::kResponseMagic) {
    BinaryHead head;
    if (bytes.size() < BinaryHead::kBytes || !may_be_binary(bytes) || !parse_head(bytes, &head)) return false;
    return magic == BinaryHead::kRequestMagic ? may_send_requests : may_answer;
  }
  const size_t end = bytes.substr(0, 64 << 10).find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = bytes.substr(0, end + 1);
  if (may_send_requests && parse_request(line).command != nullptr) return true;
  if (!may_answer) return false;
  const Answer answer = parse_response(line).kind;
  return answer != Answer::kNone && (client_ >= 0 || is_in(answer, kCertainResponses));
}

// Returns the position where a torn response continues: the head of a requested key's value that is followed by another
// value or the end of the response. Returns npos if there is none.
size_t Exchange::resume_within(Side side, std::string_view bytes) const {
  constexpr std::string_view kHead = "\r\nVALUE ", kNext = "\r\nVALUE ", kLast = "\r\nEND\r\n";
  if (!torn_ || side == client_) return std::string_view::npos;
  for (size_t position = bytes.find(kHead); position != std::string_view::npos;
       position = bytes.find(kHead, position + 1)) {
    const size_t begin = position + kLineEnd;
    const std::string_view line = bytes.substr(begin, bytes.find('\n', begin) + 1 - begin);
    const TextResponse parsed = parse_response(line);
    if (!line.ends_with('\n') || !continues(parsed, readers_[side].segment())) continue;
    const std::string_view rest = bytes.substr(begin + line.size());
    const std::string_view following = rest.substr(std::min<uint64_t>(parsed.value_bytes, rest.size()), kNext.size());
    if (kNext.starts_with(following) || following.starts_with(kLast) || kLast.starts_with(following)) return begin;
  }
  return std::string_view::npos;
}

void Exchange::on_hidden(Side side, uint64_t /*offset*/) {
  const uint64_t offset = readers_[side].seen_end();
  lose_step(side);
  const bool in_value = std::exchange(in_value_[side], false);
  if (client_ < 0) return;
  if (side == client_) {
    if (in_value) pairing_.end_request(offset, false);
    pairing_.forget_reading();
    pairing_.hide_requests();
    return;
  }
  if (tear(side)) return;
  end_torn();
  if (Response* response = pairing_.response()) {
    response->cut = true;
    end_answer(offset, readers_[side].time_ns(), false);
  }
  pairing_.hide_responses();
}

bool Exchange::may_be_datagram(std::string_view payload) {
  if (payload.size() < kDatagramHead + 3) return false;
  const DatagramHead head = head_of(payload);
  if (head.total == 0 || head.number != 0) return false;
  const std::string_view message = payload.substr(kDatagramHead);
  if (may_be_binary(message)) {
    BinaryHead binary;
    return message.size() >= BinaryHead::kBytes && parse_head(message, &binary) &&
           (binary.magic == BinaryHead::kResponseMagic || binary.bytes() == message.size());
  }
  const size_t end = message.find('\n');
  if (end == std::string_view::npos || head.reserved != 0) return false;
  const std::string_view line = message.substr(0, end + 1);
  const TextRequest request = parse_request(line);
  if (request.command == nullptr) return parse_response(line).kind != Answer::kNone;
  const uint64_t bytes = line.size() + (request.has_value ? request.value_bytes + kLineEnd : 0);
  return head.total == 1 && bytes == message.size();
}

void Exchange::datagram(Side side, std::string_view payload, int64_t time_ns, Sink& sink) {
  if (payload.size() < kDatagramHead) return;
  Filter filter(*this, sink);
  sink_ = &filter;
  middle_[0] = middle_[1] = false;
  datagrams_.expire_before(time_ns - kDatagramTimeoutNs, filter);
  const DatagramHead head = head_of(payload);
  const std::string_view message = payload.substr(kDatagramHead);
  const bool answers = !message.empty() && static_cast<uint8_t>(message[0]) == BinaryHead::kResponseMagic;
  const bool asks = client_ >= 0 ? side == client_ : !answers && may_become_request(message.substr(0, 24));
  const bool is_binary_request = !message.empty() && static_cast<uint8_t>(message[0]) == BinaryHead::kRequestMagic;
  const Segment segment = {time_ns, 0, 0, false};
  if (asks || is_binary_request) return datagram_request(head.id, message, segment, side);
  if (client_ < 0) recognise(other_side(side), side, true);
  datagram_response(head.id, head.number, message, segment, head.number + 1 == head.total);
}

void Exchange::datagram_request(uint16_t id, std::string_view message, const Segment& segment, Side side) {
  if (datagrams_.find_request(id) != nullptr) return;  // it was sent or captured again
  BinaryHead head;
  const bool binary = message.size() >= BinaryHead::kBytes && may_be_binary(message) && parse_head(message, &head) &&
                      head.magic == BinaryHead::kRequestMagic && head.unit_bytes() <= message.size();
  const TextRequest parsed = binary ? TextRequest() : parse_request(message.substr(0, message.find('\n')));
  if (!binary && parsed.command == nullptr) return;
  recognise(side, side, binary || parsed.command->form != Form::kPlain);
  Request& request = parsed.never_answered ? unanswered_ : datagrams_.begin_request(id, segment, *sink_);
  std::string_view keys = trimmed(parsed.keys);
  if (binary) {
    keys = message.substr(BinaryHead::kBytes + head.extra_bytes, head.key_bytes);
    fill(request, head, keys);
  } else {
    fill(request, parsed);
  }
  if (parsed.never_answered) {
    request.first_ns = segment.time_ns;
    request.text = keys;
    sink_->on_transaction(&request, nullptr);
    return;
  }
  datagrams_.keep_text(request, keys);
  datagrams_.end_request(id, message.size(), *sink_);
}

bool Exchange::was_answered(uint16_t id) const {
  const size_t count = std::min(answered_count_, answered_.size());
  return std::find(answered_.begin(), answered_.begin() + static_cast<ptrdiff_t>(count), id) !=
         answered_.begin() + static_cast<ptrdiff_t>(count);
}

void Exchange::datagram_response(uint16_t id, uint16_t number, std::string_view message, const Segment& segment,
                                 bool is_last) {
  Response* response = datagrams_.find_response(id);
  if (response == nullptr) {
    if (datagrams_.find_request(id) == nullptr && was_answered(id)) return;  // a copy
    response = &datagrams_.begin_response(id, segment, *sink_);
    const Segment first = segment;
    *response = Response();
    response->start(first);
  }
  if (number < response->next_datagram) return;  // a copy
  const bool missing = number > response->next_datagram;
  response->next_datagram = static_cast<uint16_t>(number + 1);
  response->cut |= missing;
  const bool done = response->cut ? is_last : read_lines(*response, message);
  if (!done && !is_last) return;
  recognise(static_cast<Side>(client_), other_side(static_cast<Side>(client_)), true);
  answered_[answered_count_++ % answered_.size()] = id;
  datagrams_.end_response(id, message.size(), segment.time_ns, *sink_);
}

// Reads the lines of a response datagram. Returns true if the response is complete.
bool Exchange::read_lines(Response& response, std::string_view text) {
  BinaryHead head;
  if (response.answer == Answer::kNone && text.size() >= BinaryHead::kBytes && may_be_binary(text) &&
      parse_head(text, &head)) {
    const ResponseHalf half = response;
    response = response_of(
        head, text.substr(std::min<size_t>(text.size(), BinaryHead::kBytes + head.extra_bytes), head.key_bytes));
    static_cast<ResponseHalf&>(response) = half;
    response.answer = Answer::kOk;
    return true;
  }
  while (!text.empty()) {
    const size_t skipped = std::min<uint64_t>(response.skip, text.size());
    response.skip -= skipped;
    text.remove_prefix(skipped);
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      if (response.line.size() + text.size() < 1024) response.line.append(text);
      return false;
    }
    response.line.append(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    const TextResponse parsed = parse_response(response.line);
    response.cut |= parsed.kind == Answer::kNone;
    if (parsed.kind == Answer::kValue && response.key_hash != 0) {
      add_found(response, parsed.key, parsed.value_bytes);
    } else if (parsed.kind == Answer::kValue) {
      response.answer = parsed.kind;
      response.key_hash = hash_of(parsed.key);
      response.first_bytes = static_cast<uint32_t>(parsed.value_bytes);
      response.value_bytes = parsed.value_bytes;
      response.key = parsed.key;
    } else if (response.answer == Answer::kNone || is_in(parsed.kind, kErrors)) {
      response.answer = parsed.kind;
    }
    response.line.clear();
    if (parsed.has_value) response.skip = parsed.value_bytes + kLineEnd;
    if (!is_in(parsed.kind, kGoesOn)) return true;
  }
  return false;
}

}  // namespace tapline::memcached
