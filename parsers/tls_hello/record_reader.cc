#include "parsers/tls_hello/record_reader.h"

#include <algorithm>

namespace tapline::tls {
namespace {

// RFC 5246 lets a protected record be 2048 bytes longer than the longest plaintext.
constexpr uint32_t kMaxRecordBytes = (16 << 10) + 2048;
constexpr size_t kKeptBytes = 4 << 10;

bool is_hello(uint8_t type) {
  return type == static_cast<uint8_t>(MessageType::kClientHello) ||
         type == static_cast<uint8_t>(MessageType::kServerHello);
}

}  // namespace

// Checks the bytes that are available: the record's type, version and length, the message's type, and the first byte of
// the message's length.
bool RecordReader::may_begin_hello(Bytes bytes) {
  if (bytes.empty() || bytes[0] != static_cast<uint8_t>(ContentType::kHandshake)) return false;
  if (bytes.size() > 1 && bytes[1] != 3) return false;
  if (bytes.size() > 2 && bytes[2] > 4) return false;
  if (bytes.size() > 4) {
    const uint32_t length = big_endian_16(bytes.data() + 3);
    if (length == 0 || length > kMaxRecordBytes) return false;
  }
  if (bytes.size() > 5 && !is_hello(bytes[5])) return false;
  return bytes.size() <= 6 || bytes[6] == 0 || big_endian_16(bytes.data() + 3) == 1;
}

bool RecordReader::may_begin(Bytes bytes) const {
  static constexpr uint8_t kAlertHeader[] = {static_cast<uint8_t>(ContentType::kAlert), 3};
  return may_begin_hello(bytes) ||
         (expected_ && std::equal(bytes.begin(), bytes.begin() + std::min<ptrdiff_t>(bytes.size(), 2), kAlertHeader));
}

void RecordReader::read(Bytes bytes, const Segment& segment, RecordHandler& handler) {
  if (!in_stream_ && !lost_) {
    if (!may_begin(bytes)) return;
    in_stream_ = true;
  }
  bytes_ += bytes.size();
  while (!bytes.empty() && in_stream_ && !lost_) {
    if (remaining_ == 0) {
      header(bytes, segment, handler);
      continue;
    }
    const size_t take = std::min<size_t>(bytes.size(), remaining_);
    remaining_ -= static_cast<uint32_t>(take);
    body(bytes.first(take), handler);
    bytes = bytes.subspan(take);
  }
}

// Skips missing bytes within a record; the position of the next message is then unknown. Fails if the gap extends
// beyond the record, since the position of the next record is then unknown, too, or if no hello was read yet.
void RecordReader::gap(uint64_t bytes) {
  if (!in_stream_ || lost_) return;
  bytes_ += bytes;
  if (bytes > remaining_ || !recognised_) return fail();
  remaining_ -= static_cast<uint32_t>(bytes);
  messages_lost_ = true;
}

void RecordReader::recycle() {
  std::string hello = std::move(hello_);
  *this = RecordReader(side_);
  hello.clear();
  if (hello.capacity() <= kKeptBytes) hello_ = std::move(hello);
}

void RecordReader::header(Bytes& bytes, const Segment& segment, RecordHandler& handler) {
  if (header_bytes_ == 0) record_ = segment;
  while (!bytes.empty() && header_bytes_ < sizeof header_) {
    header_[header_bytes_++] = bytes[0];
    bytes = bytes.subspan(1);
  }
  if (header_bytes_ < sizeof header_) return;
  header_bytes_ = 0;
  if (!is_plausible_header()) return fail();
  remaining_ = big_endian_16(header_ + 3);
  const auto type = static_cast<ContentType>(header_[0]);
  alert_bytes_ = 0;
  if (type == ContentType::kApplicationData || (protected_ && type != ContentType::kChangeCipherSpec)) {
    handler.on_protected(side_, type, remaining_, record_);
  }
  if (type == ContentType::kChangeCipherSpec) protected_ = handler.is_protected_from_now(side_);
}

bool RecordReader::is_plausible_header() const {
  const uint32_t length = big_endian_16(header_ + 3);
  const auto type = static_cast<ContentType>(header_[0]);
  if (!recognised_ && type != ContentType::kHandshake) return expected_ && type == ContentType::kAlert && length == 2;
  return header_[0] >= 20 && header_[0] <= 24 && header_[1] == 3 && header_[2] <= 4 && length <= kMaxRecordBytes;
}

void RecordReader::body(Bytes bytes, RecordHandler& handler) {
  if (protected_) return;
  const auto type = static_cast<ContentType>(header_[0]);
  if (type == ContentType::kHandshake) return handshake(bytes, handler);
  if (type == ContentType::kAlert) alert(bytes, handler);
}

void RecordReader::handshake(Bytes bytes, RecordHandler& handler) {
  while (!bytes.empty() && !messages_lost_ && in_stream_ && !lost_) {
    if (message_header_bytes_ == sizeof message_header_) {
      message(bytes, handler);
      continue;
    }
    if (message_header_bytes_ == 0) message_ = record_;
    message_header_[message_header_bytes_++] = bytes[0];
    bytes = bytes.subspan(1);
    if (message_header_bytes_ == sizeof message_header_) begin_message(handler);
  }
}

void RecordReader::begin_message(RecordHandler& handler) {
  message_remaining_ = big_endian_32(message_header_) & 0xffffff;
  hello_.clear();
  const bool hello = is_hello(message_header_[0]);
  if (!recognised_ && !hello) return fail();
  if (hello && message_remaining_ > kMaxHelloBytes) {
    handler.on_hello_too_long(side_);
    lost_ = true;
  }
  if (message_remaining_ == 0) message_header_bytes_ = 0;
}

// Reads bytes of a handshake message. Most hellos are contiguous and are read in place.
void RecordReader::message(Bytes& bytes, RecordHandler& handler) {
  const size_t take = std::min<size_t>(bytes.size(), message_remaining_);
  const Bytes piece = bytes.first(take);
  bytes = bytes.subspan(take);
  message_remaining_ -= static_cast<uint32_t>(take);
  const bool hello = is_hello(message_header_[0]);
  if (hello && (message_remaining_ > 0 || !hello_.empty())) {
    hello_.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  if (message_remaining_ > 0) return;
  message_header_bytes_ = 0;
  if (!hello) return;
  const Bytes collected(reinterpret_cast<const uint8_t*>(hello_.data()), hello_.size());
  if (!handler.on_hello(side_, static_cast<MessageType>(message_header_[0]), hello_.empty() ? piece : collected,
                        message_)) {
    return fail();
  }
  recognised_ = true;
}

void RecordReader::alert(Bytes bytes, RecordHandler& handler) {
  for (const uint8_t byte : bytes) {
    alert_[alert_bytes_++] = byte;
    if (alert_bytes_ < sizeof alert_) continue;
    alert_bytes_ = 0;
    handler.on_alert(side_, alert_[0], alert_[1]);
  }
}

// Handles a stream that can't be read as TLS: continues the search if no hello was read yet, and otherwise reads
// nothing more.
void RecordReader::fail() {
  if (recognised_) {
    lost_ = true;
    return;
  }
  in_stream_ = false;
  header_bytes_ = message_header_bytes_ = 0;
  remaining_ = message_remaining_ = 0;
  hello_.clear();
}

}  // namespace tapline::tls
