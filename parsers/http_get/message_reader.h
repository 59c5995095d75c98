#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/http_get/head.h"

namespace tapline::http {

// The rule that determines the end of a message's body (RFC 9112 section 6.3).
enum class BodyKind : uint8_t { kNone, kLength, kChunked, kUntilClose, kOpaque };
struct Framing {
  BodyKind kind = BodyKind::kNone;
  uint64_t length = 0;     // length of a body of kind kLength
  bool uncertain = false;  // true if there may be no body, as in the response to an unseen HEAD
};

// Receives the messages of one side from its reader. Offsets refer to that side's stream.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  // Called for each head. `first` is the segment of the head's first byte, with its offset. `is_cut` is true if the end
  // of the head was not captured.
  virtual Framing on_head(Side side, const Head& head, const Segment& first, bool is_cut) = 0;
  // Called at the end of a message, whose last byte is before end_offset. `exact` is false if its real end is unknown.
  virtual void on_message_end(Side side, uint64_t end_offset, int64_t time_ns, bool exact) = 0;
  // Called when unseen messages may precede this offset.
  virtual void on_hidden(Side side, uint64_t offset) = 0;
  virtual void on_head_too_long(Side side) = 0;
  // Called if the stream does not begin with a message. Returns true if it is the body of a response without a head
  // (HTTP/0.9).
  virtual bool on_headless(Side side, const Segment& first) = 0;
};

// Finds the messages in one side's stream. Heads in one piece are parsed in place; others are collected in a buffer of
// at most kMaxHeadBytes; bodies are skipped. After a gap that may hide a message it resumes at the next piece that
// begins like a head.
class MessageReader {
 public:
  static constexpr size_t kMaxHeadBytes = 64 << 10;

  enum class Verdict : uint8_t { kFine, kNotHttp };

  explicit MessageReader(Side side) : side_(side) {}

  // Call it for a stream whose beginning was not captured.
  void start_in_middle() { mode_ = Mode::kSeek; }
  // Call it when CONNECT or Upgrade has taken effect, so that another protocol follows.
  void become_opaque() { mode_ = Mode::kOpaque; }
  bool recognised() const { return recognised_; }

  // Returns kNotHttp if the stream's very first bytes are not an HTTP message.
  Verdict read(std::span<const uint8_t> bytes, const Segment& segment, MessageHandler& handler);
  void gap(uint64_t bytes, const Segment& segment, MessageHandler& handler);
  void end(MessageHandler& handler);
  // Returns true if a body is being read, and these bytes would begin a message if they were not part of it.
  bool may_be_overtaken(std::string_view bytes) const {
    return in_body() && bytes.front() == 'H' && may_resume_at(bytes);
  }
  // Ends the current message before the next byte, regardless of the length that its head gives.
  void overtake(MessageHandler& handler) { lose_step(handler); }
  // Call it when the other side responds: if only a line without a version has arrived, the line is a complete request.
  void answered(MessageHandler& handler) {
    if (mode_ == Mode::kHead) [[unlikely]]
      finish_simple_request(handler);
  }
  // Resets to the state after construction.
  void recycle() {
    drop_head();
    *this = MessageReader(side_);
  }

  // Returns the offset of the next byte.
  uint64_t offset() const { return offset_; }
  // Returns the lowest offset at which a message that is yet to be reported can begin.
  uint64_t settled_offset() const {
    return mode_ == Mode::kStart || mode_ == Mode::kSeek || mode_ == Mode::kOpaque ? offset_ : first_.offset;
  }
  uint64_t seek_bytes() const { return seek_bytes_; }
  size_t buffer_bytes() const { return head_.capacity(); }

 private:
  enum class Mode : uint8_t {
    kStart,      // between messages
    kHead,       // collecting a head in head_
    kLength,     // remaining_ bytes of the body follow
    kChunkSize,  // in the line that begins a chunk
    kChunkData,  // remaining_ bytes of the chunk follow
    kChunkEnd,   // at the line end after a chunk
    kTrailer,
    kUntilClose,
    kSeek,  // looking for the beginning of a message
    kOpaque,
  };

  bool step(std::string_view& text, MessageHandler& handler);
  bool start(std::string_view& text, MessageHandler& handler);
  bool collect(std::string_view& text, MessageHandler& handler);
  bool reject(MessageHandler& handler);
  StartKind rescan(size_t previous_size);
  void finish_simple_request(MessageHandler& handler);
  void seek(std::string_view& text);
  void head_done(const Head& head, bool is_cut, MessageHandler& handler);
  void skip_body(std::string_view& text, MessageHandler& handler);
  void chunk_size(std::string_view& text, MessageHandler& handler);
  void chunk_end(std::string_view& text, MessageHandler& handler);
  void trailer(std::string_view& text, MessageHandler& handler);
  void message_done(bool exact, MessageHandler& handler);
  void end_in_gap(uint64_t gap_begin, MessageHandler& handler);
  void lose_step(MessageHandler& handler);
  void consume(std::string_view& text, size_t bytes);
  // Frees the buffer: heads in several pieces are rare, but over time each of a million connections would keep a buffer
  // for one.
  void drop_head() {
    if (!head_.empty()) [[unlikely]]
      std::string().swap(head_);  // assigning an empty string would keep its memory
  }
  bool in_body() const { return mode_ >= Mode::kLength && mode_ <= Mode::kUntilClose; }

  Side side_;
  Mode mode_ = Mode::kStart;
  bool recognised_ = false;              // at least one message was seen
  bool resumed_ = false;                 // the head being collected was found by seeking
  bool body_uncertain_ = false;          // see Framing::uncertain; true until the body's first byte
  StartKind known_ = StartKind::kMaybe;  // classification of the head being collected
  bool in_extension_ = false;            // after the digits of a chunk's size
  uint8_t digits_ = 0;                   // digits of the chunk's size so far
  bool line_empty_ = true;               // true if the trailer's current line is empty
  uint64_t remaining_ = 0;
  uint64_t offset_ = 0;  // position of the next byte
  uint64_t seek_bytes_ = 0;
  int64_t last_byte_ns_ = 0;
  Segment segment_ = {};  // segment of the current piece
  Segment first_ = {};    // segment of the message's first byte
  size_t resume_ = 0;     // position from which to search for the end of head_
  std::string head_;
  std::string scratch_;  // for a folded field; empty between calls
};

}  // namespace tapline::http
