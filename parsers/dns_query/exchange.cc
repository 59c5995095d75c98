#include "parsers/dns_query/exchange.h"

#include <algorithm>

#include "parsers/api/bytes.h"
#include "parsers/api/time.h"

namespace tapline::dns {
namespace {

constexpr size_t kLengthBytes = 2;
// The maximum length of a plain question: a name, type and class, and an OPT record with a few options.
constexpr size_t kMaxStrictBytes = 512;
constexpr uint64_t kMaxSeekBytes = 1 << 20;
constexpr int64_t kCheckNs = kNsPerSecond;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Checks the length and header of a message before the rest arrives. If `strict` is true, accepts only plain questions.
bool may_be_message(std::string_view bytes, bool strict) {
  const uint8_t* header = bytes_of(bytes).data() + kLengthBytes;
  const size_t length = big_endian_16(header - kLengthBytes);
  if (length < kHeaderBytes || (header[2] >> 3 & 0xf) > opcode::kLast || big_endian_16(header + 4) > 1) return false;
  return !strict || (length <= kMaxStrictBytes && (header[2] & 0xfe) == 0 && big_endian_16(header + 4) == 1 &&
                     big_endian_16(header + 6) == 0 && big_endian_16(header + 8) == 0);
}

}  // namespace

// Handles the units of both readers, with the sink of the current call.
struct Exchange::Units {
  Exchange& exchange;
  Sink& sink;

  Unit on_unit(Side side, std::string_view bytes, const Segment& first) {
    return exchange.unit(side, bytes, first, sink);
  }
  void on_skipped(Side, uint64_t, int64_t) {}
  Unit on_cut(Side, std::string_view, const Segment&, bool) { return Unit::none(); }
  bool may_resume(Side, std::string_view bytes) {
    if (bytes.size() < kLengthBytes + kHeaderBytes ||
        !may_be_message(bytes, exchange.strict_ && !exchange.recognised_)) {
      return false;
    }
    // A header alone is weak evidence, so `bytes` must contain the whole message, and all of its records must be
    // readable.
    const size_t length = kLengthBytes + big_endian_16(bytes_of(bytes).data());
    if (bytes.size() < length) return false;
    Message message;
    return read(bytes_of(bytes.substr(kLengthBytes, length - kLengthBytes)), length - kLengthBytes, &message) &&
           message.whole;
  }
  void on_hidden(Side, uint64_t) {}
  void on_too_long(Side) {}
};

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  Units units{*this, sink};
  if (readers_[side].read(bytes, segment, units) == UnitReader::Verdict::kNotMine) {
    pairing_.report_all(sink);
    return ExchangeVerdict::kNotMine;
  }
  if (recognised_ && side == asker_) pairing_.requests_settled(readers_[side].settled_offset(), sink);
  return ExchangeVerdict::kFine;
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  Units units{*this, sink};
  readers_[side].gap(bytes, segment, units);
  if (recognised_ && side == asker_) pairing_.requests_settled(readers_[side].settled_offset(), sink);
  return ExchangeVerdict::kFine;
}

void Exchange::datagram(Side side, const Message& message, uint32_t bytes, int64_t time_ns, Sink& sink) {
  const Segment segment = {.time_ns = time_ns, .offset = 0, .peer_offset = 0, .peer_offset_known = false};
  pairing_.settle_responses(time_ns - kLateNs, kMaxHeld, sink);
  this->message(side, message, bytes, segment, time_ns, sink);
}

void Exchange::end(Side side, Sink& sink) {
  ended_ = static_cast<uint8_t>(ended_ | 1u << side);
  if (ended_ == 3) pairing_.report_all(sink);
}

bool Exchange::has_failed() const {
  return !recognised_ && readers_[0].seek_bytes() + readers_[1].seek_bytes() > kMaxSeekBytes;
}

size_t Exchange::memory_bytes() const {
  return pairing_.memory_bytes() + readers_[0].memory_bytes() + readers_[1].memory_bytes();
}

void Exchange::recycle() {
  for (UnitReader& reader : readers_) reader.recycle();
  pairing_.recycle();
  std::fill(std::begin(answered_), std::end(answered_), AnsweredQuery());
  next_answered_ = 0;
  strict_ = recognised_ = false;
  asker_ = 0;
  place = 0;
  ended_ = 0;
  next_check_ns_ = INT64_MIN;
}

// Reads a message that is preceded by its length in two bytes (RFC 1035 section 4.2.2, RFC 7766 section 8).
Unit Exchange::unit(Side side, std::string_view bytes, const Segment& first, Sink& sink) {
  if (bytes.size() < kLengthBytes + kHeaderBytes) return Unit::more(kLengthBytes + kHeaderBytes);
  if (!may_be_message(bytes, strict_ && !recognised_)) return Unit::none();
  const size_t length = big_endian_16(bytes_of(bytes).data());
  if (bytes.size() < kLengthBytes + length) return Unit::more(kLengthBytes + length);
  const auto body = bytes_of(bytes.substr(kLengthBytes, length));
  Message message;
  if (!read(body, length, &message) || !message.has_question_name) return Unit::none();
  if (strict_ && !recognised_ && !is_plain_question(body, message)) return Unit::none();
  this->message(side, message, static_cast<uint32_t>(length), first, readers_[side].time_ns(), sink);
  return Unit::taken(kLengthBytes + length);
}

void Exchange::message(Side side, const Message& message, uint32_t bytes, const Segment& first, int64_t last_ns,
                       Sink& sink) {
  asker_ = message.is_response ? other_side(side) : side;
  if (!recognised_) sink.on_client(asker_);
  recognised_ = true;
  if (message.is_response) {
    answer(side, message, bytes, first, last_ns, sink);
  } else {
    on_request(side, message, bytes, first, sink);
  }
}

void Exchange::on_request(Side side, const Message& message, uint32_t bytes, const Segment& first, Sink& sink) {
  const TransactionId id = {message.id, message.opcode, side, message.question_hash};
  if (first.time_ns >= next_check_ns_ && pairing_.pending() > 0) {
    pairing_.expire_before(first.time_ns - kIdTimeoutNs, sink);
    next_check_ns_ = first.time_ns + kCheckNs;
  }
  if (Request* waiting_request = pairing_.find_request(id)) {
    ++waiting_request->retries;
    return;
  }
  Request& request = pairing_.begin_request(id, first, sink);
  request.type = message.type;
  request.opcode = message.opcode;
  request.flaw = message.flaw;
  request.bytes = bytes;
  request.retries = 0;
  pairing_.keep_text(request, message.name.view());
  pairing_.end_request(id, first.offset + bytes, sink);
}

void Exchange::answer(Side side, const Message& message, uint32_t bytes, const Segment& first, int64_t last_ns,
                      Sink& sink) {
  const TransactionId id = {message.id, message.opcode, other_side(side), message.question_hash};
  const Request* request = pairing_.find_request(id);
  if (request == nullptr && take_repeated(id)) return;
  const bool transfer = request != nullptr && (request->type == type::kAxfr || request->type == type::kIxfr);
  const uint32_t further_request = request == nullptr ? 0 : transfer ? UINT32_MAX : request->retries;
  Response& response = pairing_.begin_response(id, first, sink);
  response.type = message.type;
  response.opcode = message.opcode;
  response.flaw = message.flaw;
  response.rcode = message.rcode;
  response.answers = message.answers;
  response.authoritative = message.authoritative;
  response.truncated = message.truncated;
  response.min_ttl_s = message.min_ttl_s;
  response.bytes = bytes;
  response.name = message.name.view();
  response.data = message.data.view();
  pairing_.end_response(id, first.offset + bytes, last_ns, sink);
  if (further_request == 0) return;
  answered_[next_answered_++ % kAnswered] = {id, further_request};
}

bool Exchange::take_repeated(const TransactionId& id) {
  for (AnsweredQuery& answered : answered_) {
    if (answered.more == 0 || !(answered.id == id)) continue;
    --answered.more;
    return true;
  }
  return false;
}

}  // namespace tapline::dns
