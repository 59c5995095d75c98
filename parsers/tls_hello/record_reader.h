#pragma once

#include <cstdint>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/tls_hello/hello.h"

namespace tapline::tls {

enum class ContentType : uint8_t { kChangeCipherSpec = 20, kAlert = 21, kHandshake = 22, kApplicationData = 23 };
enum class MessageType : uint8_t { kClientHello = 1, kServerHello = 2 };

// Receives what one side's reader finds.
class RecordHandler {
 public:
  virtual ~RecordHandler() = default;
  // Called with a whole hello. Returns false if it turns out not to be one. `first` is the segment with the first byte
  // of the hello's record.
  virtual bool on_hello(Side side, MessageType type, Bytes body, const Segment& first) = 0;
  // Called for a protected record, whose content is not readable.
  virtual void on_protected(Side side, ContentType type, uint32_t bytes, const Segment& segment) = 0;
  virtual void on_alert(Side side, uint8_t level, uint8_t description) = 0;
  virtual void on_hello_too_long(Side side) = 0;
  // Called at a ChangeCipherSpec. Returns true if this side's later records are protected; in TLS 1.3, a
  // ChangeCipherSpec has no meaning.
  virtual bool is_protected_from_now(Side side) = 0;
};

// Reads one side's stream as TLS records (RFC 8446 section 5.1, RFC 5246 section 6.2.1) starting with its hello, which
// may span several records and segments. Other handshake messages are skipped. A hello is searched for at the beginning
// of each piece of the stream, since TLS may begin after another protocol (STARTTLS, CONNECT).
class RecordReader {
 public:
  static constexpr size_t kMaxHelloBytes = 32 << 10;

  explicit RecordReader(Side side) : side_(side) {}

  // Returns true if these bytes at the beginning of a piece may begin a hello. Cheap enough to be called for every
  // piece.
  static bool may_begin_hello(Bytes bytes);

  // Call it when the other side has sent its hello, because an alert may replace or precede this side's hello.
  void expect_response() { expected_ = true; }
  void read(Bytes bytes, const Segment& segment, RecordHandler& handler);
  void gap(uint64_t bytes);
  void recycle();

  bool recognised() const { return recognised_; }  // a hello was read
  bool lost() const { return lost_; }              // nothing more will be read
  bool idle() const { return !recognised_ && !in_stream_; }
  uint64_t bytes() const { return bytes_; }  // bytes of the stream since the hello
  size_t buffer_bytes() const { return hello_.capacity(); }

 private:
  void header(Bytes& bytes, const Segment& segment, RecordHandler& handler);
  bool may_begin(Bytes bytes) const;
  bool is_plausible_header() const;
  void body(Bytes bytes, RecordHandler& handler);
  void handshake(Bytes bytes, RecordHandler& handler);
  void begin_message(RecordHandler& handler);
  void message(Bytes& bytes, RecordHandler& handler);
  void alert(Bytes bytes, RecordHandler& handler);
  void fail();

  Side side_;
  bool in_stream_ = false;  // within a record, or between two
  bool expected_ = false;
  bool recognised_ = false;
  bool lost_ = false;
  bool protected_ = false;      // a ChangeCipherSpec was sent
  bool messages_lost_ = false;  // bytes of handshake messages are missing, so the position of the next one is unknown
  uint8_t header_[5] = {};
  uint8_t header_bytes_ = 0;
  uint8_t message_header_[4] = {};
  uint8_t message_header_bytes_ = 0;
  uint8_t alert_[2] = {};
  uint8_t alert_bytes_ = 0;
  uint32_t remaining_ = 0;          // remaining bytes of the record
  uint32_t message_remaining_ = 0;  // remaining bytes of the message
  uint64_t bytes_ = 0;
  Segment record_ = {};   // segment of the record's first byte
  Segment message_ = {};  // segment of the record with the message's first byte
  std::string hello_;     // the part collected so far
};

}  // namespace tapline::tls
