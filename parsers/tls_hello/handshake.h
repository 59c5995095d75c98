#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/tls_hello/ja4.h"
#include "parsers/tls_hello/record_reader.h"

namespace tapline::tls {

// The outcome of a handshake, as far as it was seen.
enum class Outcome : uint8_t {
  kNone,      // it continues
  kComplete,  // both sides protect their data
  kAlert,     // a side refused
  kPlain,     // the server responds in another protocol
  kGap,       // decisive bytes are missing
  kClosed,    // the connection was closed or reset before completion
};

// A handshake as a tap sees it. Takes both sides' bytes until outcome() is decided.
//
//   client                                server           complete in TLS 1.3: after *
//   ClientHello ─────────────────────────▶                before TLS 1.3: after both +
//                ◀───────── ServerHello, …, [+ Finished]
//   [*+ Finished] ───────────────────────▶
//                ◀──── [+ Finished], before TLS 1.3
//
// Not thread-safe; recycle() prepares it for the next connection.
class Handshake final : private RecordHandler {
 public:
  void data(Side side, Bytes bytes, const Segment& segment, Ja4* ja4);
  void gap(Side side, uint64_t bytes, const Segment& segment);
  // Declares that this side will send no more data.
  void end(Side side);
  void recycle();

  Outcome outcome() const { return outcome_; }
  // Returns the outcome, assuming that no more bytes arrive.
  Outcome last_outcome() const { return outcome_ == Outcome::kNone && refused_ ? Outcome::kAlert : outcome_; }
  // Returns true if no hello was found and none is being read.
  bool idle() const { return readers_[0].idle() && readers_[1].idle(); }
  bool client_seen() const { return client_seen_; }
  bool server_seen() const { return server_seen_; }
  Side client() const { return client_; }
  bool hello_too_long() const { return hello_too_long_; }
  size_t memory_bytes() const;

  // Return the fields of the ClientHello. REQUIRES: client_seen().
  std::string_view server_name() const { return server_name_; }
  std::string_view offered_protocols() const { return offered_protocols_; }  // joined by commas
  uint16_t offered_version() const { return offered_version_; }
  std::string_view ja4() const { return ja4_text_; }
  // Return the fields of the ServerHello. REQUIRES: server_seen().
  const std::string& protocol() const { return protocol_; }
  uint16_t version() const { return version_; }
  uint16_t cipher_suite() const { return cipher_suite_; }
  // Return a duration only if its beginning and end were both seen in order.
  std::optional<int64_t> answer_ns() const;
  std::optional<int64_t> handshake_ns() const;
  // Returns true if the client acknowledged bytes from the server that were not captured.
  bool lacks_response() const { return acknowledged_[client_] > reached_[other_side(client_)]; }
  int64_t client_hello_ns() const { return client_hello_ns_; }
  uint8_t alert() const { return alert_; }  // the alert's description, 0 if it is encrypted

 private:
  bool on_hello(Side side, MessageType type, Bytes body, const Segment& first) override;
  void on_protected(Side side, ContentType type, uint32_t bytes, const Segment& segment) override;
  void on_alert(Side side, uint8_t level, uint8_t description) override;
  void on_hello_too_long(Side side) override;
  bool is_protected_from_now(Side side) override;
  bool on_client_hello(Side side, Bytes body, const Segment& first);
  bool on_server_hello(Side side, Bytes body, const Segment& first);
  std::optional<int64_t> since_client_hello(bool is_known, int64_t moment_ns) const;
  bool is_answer(Side side, const Segment& segment) const;
  bool is_hello_late(Side side) const;
  void note(Side side, uint64_t bytes, const Segment& segment);
  void settle(Outcome outcome);
  void settle_if_lost();

  RecordReader readers_[2] = {RecordReader(0), RecordReader(1)};
  Ja4* fingerprinter_ = nullptr;  // set during data()
  Outcome outcome_ = Outcome::kNone;
  bool client_seen_ = false, server_seen_ = false;
  bool is_13_ = false;  // true if this is TLS 1.3 or, before the ServerHello, likely to be
  bool hello_too_long_ = false;
  bool refused_ = false;  // true if a side sent a fatal alert while the other side's hello was late
  Side client_ = 0;
  uint8_t finished_ = 0;  // bit per side that protects its data
  uint8_t alert_ = 0;
  uint16_t offered_version_ = 0, version_ = 0, cipher_suite_ = 0;
  uint64_t client_hello_offset_ = 0, server_hello_offset_ = 0;
  uint64_t reached_[2] = {0, 0};       // by side: end of the known part of its stream, captured or not
  uint64_t acknowledged_[2] = {0, 0};  // per side: bytes of the other side's stream that it has acknowledged
  int64_t client_hello_ns_ = 0, server_hello_ns_ = 0, complete_ns_ = 0;
  std::string server_name_, offered_protocols_, ja4_text_, protocol_;
};

std::string_view name_of(Outcome outcome);

}  // namespace tapline::tls
