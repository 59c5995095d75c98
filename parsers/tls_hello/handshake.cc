#include "parsers/tls_hello/handshake.h"

#include <algorithm>

namespace tapline::tls {
namespace {

constexpr uint8_t kFatal = 2;
// Protected records of TLS 1.3 (RFC 8446 sections 4.4.4, 5.2, 6) can be distinguished only by their length: that of the
// content, one byte for its type, and the tag. An empty Certificate and the end of early data are also shorter than a
// Finished, and precede it.
constexpr uint32_t kAlertBytes = 2 + 1 + 16;
constexpr uint32_t kMinFinishedBytes = 4 + 32 + 1 + 8;
// If one side has sent this many bytes since its hello and the other side's hello is still missing, that hello counts
// as not captured.
constexpr uint64_t kMaxHandshakeBytes = 64 << 10;

}  // namespace

void Handshake::data(Side side, Bytes bytes, const Segment& segment, Ja4* ja4) {
  if (outcome_ != Outcome::kNone) return;
  fingerprinter_ = ja4;
  note(side, bytes.size(), segment);
  RecordReader& reader = readers_[side];
  reader.read(bytes, segment, *this);
  if (reader.idle() && is_answer(side, segment)) return settle(Outcome::kPlain);
  settle_if_lost();
}

void Handshake::gap(Side side, uint64_t bytes, const Segment& segment) {
  if (outcome_ != Outcome::kNone) return;
  note(side, bytes, segment);
  readers_[side].gap(bytes);
  if (readers_[side].idle() && is_answer(side, segment)) return settle(Outcome::kGap);
  settle_if_lost();
}

// Returns true if this side's data follow the other side's ClientHello.
bool Handshake::is_answer(Side side, const Segment& segment) const {
  return client_seen_ && side != client_ && segment.peer_offset_known && segment.peer_offset > client_hello_offset_;
}

void Handshake::note(Side side, uint64_t bytes, const Segment& segment) {
  reached_[side] = segment.offset + bytes;
  if (segment.peer_offset_known) acknowledged_[side] = std::max(acknowledged_[side], segment.peer_offset);
}

// Returns true if the other side's hello may be late: it was not seen, but this side's was, and this side has
// acknowledged more of the other's stream than was captured.
bool Handshake::is_hello_late(Side side) const {
  const bool is_seen = side == client_ ? client_seen_ : server_seen_;
  const bool other_seen = side == client_ ? server_seen_ : client_seen_;
  return is_seen && !other_seen && acknowledged_[side] > reached_[other_side(side)];
}

void Handshake::end(Side side) {
  if (!is_hello_late(side)) settle(refused_ ? Outcome::kAlert : Outcome::kClosed);
}

void Handshake::settle_if_lost() {
  const RecordReader& client = readers_[client_];
  const RecordReader& server = readers_[other_side(client_)];
  if (outcome_ != Outcome::kNone || (!client_seen_ && !server_seen_)) return;
  if (refused_ && !is_hello_late(0) && !is_hello_late(1)) return settle(Outcome::kAlert);
  const bool server_matters = !server_seen_ || !is_13_;
  if (client.lost() || (server.lost() && server_matters)) return settle(Outcome::kGap);
  if (std::max(client.bytes(), server.bytes()) > kMaxHandshakeBytes && (!client_seen_ || !server_seen_)) {
    settle(Outcome::kGap);
  }
}

void Handshake::settle(Outcome outcome) {
  if (outcome_ == Outcome::kNone && (client_seen_ || server_seen_)) outcome_ = outcome;
}

bool Handshake::on_hello(Side side, MessageType type, Bytes body, const Segment& first) {
  return type == MessageType::kClientHello ? on_client_hello(side, body, first) : on_server_hello(side, body, first);
}

bool Handshake::on_client_hello(Side side, Bytes body, const Segment& first) {
  if ((client_seen_ || server_seen_) && side != client_) return false;
  ClientHello hello;
  if (!read(body, &hello)) return false;
  // A second ClientHello responds to a HelloRetryRequest and belongs to the same handshake.
  if (client_seen_) return true;
  client_seen_ = true;
  client_ = side;
  readers_[other_side(side)].expect_response();
  client_hello_ns_ = first.time_ns;
  client_hello_offset_ = first.offset;
  offered_version_ = hello.version();
  if (!server_seen_) is_13_ = name_of_version(offered_version_) == "1.3";
  server_name_ = hello.server_name;
  offered_protocols_.clear();
  for_each_protocol(hello.protocols, [this](std::string_view name) {
    if (!offered_protocols_.empty()) offered_protocols_ += ',';
    offered_protocols_ += name;
  });
  ja4_text_ = fingerprinter_->of(hello);
  return true;
}

bool Handshake::on_server_hello(Side side, Bytes body, const Segment& first) {
  if (client_seen_ && side == client_) return false;
  ServerHello hello;
  if (!read(body, &hello)) return false;
  // Only TLS 1.3 has a HelloRetryRequest. This is recorded here, since the ClientHello may be captured later.
  if (hello.is_retry) is_13_ = true;
  if (hello.is_retry || server_seen_) return true;
  server_seen_ = true;
  client_ = other_side(side);
  server_hello_ns_ = first.time_ns;
  server_hello_offset_ = first.offset;
  version_ = hello.version;
  is_13_ = name_of_version(version_) == "1.3";
  cipher_suite_ = hello.cipher_suite;
  protocol_ = hello.protocol;
  return true;
}

void Handshake::on_protected(Side side, ContentType type, uint32_t bytes, const Segment& segment) {
  if (type == ContentType::kAlert) return is_hello_late(side) ? void() : settle(Outcome::kAlert);
  finished_ = static_cast<uint8_t>(finished_ | 1u << side);
  if (!client_seen_ || !server_seen_) return;
  if (is_13_) {
    // Data that the client sends before it has received the ServerHello are early data.
    const bool after_server = !segment.peer_offset_known || segment.peer_offset > server_hello_offset_;
    if (side != client_ || type != ContentType::kApplicationData || !after_server) return;
    if (bytes <= kAlertBytes) return settle(Outcome::kAlert);
    if (bytes < kMinFinishedBytes) return;
  } else if (finished_ != 3) {
    return;
  }
  complete_ns_ = segment.time_ns;
  settle(Outcome::kComplete);
}

void Handshake::on_alert(Side side, uint8_t level, uint8_t description) {
  if (level != kFatal) return;
  alert_ = description;
  if (!is_hello_late(side)) return settle(Outcome::kAlert);
  refused_ = true;
}

bool Handshake::is_protected_from_now(Side /*side*/) { return !is_13_; }

void Handshake::on_hello_too_long(Side /*side*/) { hello_too_long_ = true; }

std::optional<int64_t> Handshake::since_client_hello(bool is_known, int64_t moment_ns) const {
  if (!is_known || moment_ns < client_hello_ns_) return std::nullopt;
  return moment_ns - client_hello_ns_;
}
std::optional<int64_t> Handshake::answer_ns() const {
  return since_client_hello(client_seen_ && server_seen_, server_hello_ns_);
}
std::optional<int64_t> Handshake::handshake_ns() const {
  return since_client_hello(outcome_ == Outcome::kComplete && client_seen_, complete_ns_);
}

void Handshake::recycle() {
  for (RecordReader& reader : readers_) reader.recycle();
  fingerprinter_ = nullptr;
  outcome_ = Outcome::kNone;
  client_seen_ = server_seen_ = is_13_ = hello_too_long_ = refused_ = false;
  client_ = 0;
  finished_ = alert_ = 0;
  for (Side side : {0, 1}) reached_[side] = acknowledged_[side] = 0;
  offered_version_ = version_ = cipher_suite_ = 0;
  for (std::string* text : {&server_name_, &offered_protocols_, &ja4_text_, &protocol_}) text->clear();
}

size_t Handshake::memory_bytes() const {
  return sizeof *this + readers_[0].buffer_bytes() + readers_[1].buffer_bytes() + server_name_.capacity() +
         offered_protocols_.capacity() + ja4_text_.capacity() + protocol_.capacity();
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kComplete:
      return "complete";
    case Outcome::kAlert:
      return "alert";
    case Outcome::kPlain:
      return "plain";
    case Outcome::kGap:
      return "gap";
    case Outcome::kClosed:
      return "closed";
    default:
      return "open";
  }
}

}  // namespace tapline::tls
