#include "parsers/http_get/message_reader.h"

#include <algorithm>
#include <utility>

namespace tapline::http {
namespace {

constexpr int kMaxChunkDigits = 15;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

MessageReader::Verdict MessageReader::read(std::span<const uint8_t> bytes, const Segment& segment,
                                           MessageHandler& handler) {
  segment_ = segment;
  offset_ = segment.offset;
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (mode_ == Mode::kSeek) seek(text);
  while (!text.empty()) {
    if (!step(text, handler)) return Verdict::kNotHttp;
  }
  last_byte_ns_ = segment.time_ns;
  return Verdict::kFine;
}

bool MessageReader::step(std::string_view& text, MessageHandler& handler) {
  switch (mode_) {
    case Mode::kStart:
      return start(text, handler);
    case Mode::kHead:
      return collect(text, handler);
    case Mode::kLength:
    case Mode::kChunkData:
      skip_body(text, handler);
      return true;
    case Mode::kChunkSize:
      chunk_size(text, handler);
      return true;
    case Mode::kChunkEnd:
      chunk_end(text, handler);
      return true;
    case Mode::kTrailer:
      trailer(text, handler);
      return true;
    case Mode::kUntilClose:
      if (body_uncertain_ && may_resume_at(text)) {
        message_done(true, handler);
        return true;
      }
      body_uncertain_ = false;
      last_byte_ns_ = segment_.time_ns;
      consume(text, text.size());
      return true;
    case Mode::kSeek:
      seek_bytes_ += text.size();
      consume(text, text.size());
      return true;
    case Mode::kOpaque:
      consume(text, text.size());
      return true;
  }
  return true;
}

void MessageReader::consume(std::string_view& text, size_t bytes) {
  text.remove_prefix(bytes);
  offset_ += bytes;
}

bool MessageReader::start(std::string_view& text, MessageHandler& handler) {
  const size_t empty_lines = std::min(text.find_first_not_of("\r\n"), text.size());
  consume(text, empty_lines);
  if (text.empty()) return true;
  first_ = segment_;
  first_.offset = offset_;
  resume_ = 0;
  resumed_ = false;
  Head ordinary;
  const size_t bytes = parse_ordinary_head(text, &ordinary);
  if (bytes > 0 && bytes <= kMaxHeadBytes) {
    consume(text, bytes);
    head_done(ordinary, false, handler);
    return true;
  }
  const StartKind look = look_at(text);
  if (look == StartKind::kNot || is_http2_preface(text)) return reject(handler);
  const size_t end = look == StartKind::kMaybe ? std::string_view::npos : find_head_end(text, &resume_);
  if (end == std::string_view::npos || end > kMaxHeadBytes) {
    resume_ = 0;
    known_ = StartKind::kMaybe;
    mode_ = Mode::kHead;
    return true;
  }
  const std::string_view head = text.substr(0, end);
  consume(text, end);
  head_done(parse_head(head, &scratch_), false, handler);
  return true;
}

// Handles bytes that do not begin a message. Returns false if the connection uses another protocol: they are the
// stream's first bytes, and not an HTTP/0.9 response either.
bool MessageReader::reject(MessageHandler& handler) {
  drop_head();
  if (!recognised_ && !resumed_) {
    if (!handler.on_headless(side_, first_)) return false;
    recognised_ = true;
    mode_ = Mode::kUntilClose;
    return true;
  }
  lose_step(handler);
  return true;
}

void MessageReader::finish_simple_request(MessageHandler& handler) {
  if (is_simple_request(head_)) head_done(parse_head(head_, &scratch_), false, handler);
}

bool MessageReader::collect(std::string_view& text, MessageHandler& handler) {
  const size_t previous_size = head_.size();
  const size_t taken = std::min(text.size(), kMaxHeadBytes + 4 - previous_size);
  head_.append(text.substr(0, taken));
  const StartKind look = rescan(previous_size);
  if (look == StartKind::kNot || is_http2_preface(head_)) return reject(handler);
  const size_t end = look == StartKind::kMaybe ? std::string_view::npos : find_head_end(head_, &resume_);
  if (end == std::string_view::npos) {
    consume(text, taken);
    if (head_.size() <= kMaxHeadBytes) return true;
    handler.on_head_too_long(side_);
    lose_step(handler);
    return true;
  }
  consume(text, end - previous_size);
  head_.resize(end);
  head_done(parse_head(head_, &scratch_), false, handler);
  return true;
}

// Does the same as look_at() for the head so far, of which `previous_size` bytes were already examined, so that each
// byte of a long line is examined only once.
StartKind MessageReader::rescan(size_t previous_size) {
  constexpr size_t kBegun = 64;  // longer than any method, and than the part that identifies a status line
  if (known_ != StartKind::kMaybe) return known_;
  const std::string_view further_bytes = std::string_view(head_).substr(previous_size);
  if (previous_size >= kBegun && further_bytes.find('\n') == std::string_view::npos) {
    return may_continue_line(head_, further_bytes) ? StartKind::kMaybe : StartKind::kNot;
  }
  return known_ = look_at(head_);
}

void MessageReader::head_done(const Head& head, bool is_cut, MessageHandler& handler) {
  recognised_ = true;
  last_byte_ns_ = segment_.time_ns;
  const Framing framing = handler.on_head(side_, head, first_, is_cut);
  drop_head();
  if (mode_ == Mode::kOpaque) return;
  if (is_cut) return message_done(false, handler);
  body_uncertain_ = framing.uncertain;
  remaining_ = framing.length;
  switch (framing.kind) {
    case BodyKind::kNone:
      message_done(true, handler);
      break;
    case BodyKind::kLength:
      mode_ = Mode::kLength;
      if (remaining_ == 0) message_done(true, handler);
      break;
    case BodyKind::kChunked:
      mode_ = Mode::kChunkSize;
      digits_ = 0;
      in_extension_ = false;
      break;
    case BodyKind::kUntilClose:
      mode_ = Mode::kUntilClose;
      break;
    case BodyKind::kOpaque:
      message_done(true, handler);
      mode_ = Mode::kOpaque;
      break;
  }
}

void MessageReader::skip_body(std::string_view& text, MessageHandler& handler) {
  if (body_uncertain_ && may_resume_at(text)) return message_done(true, handler);
  body_uncertain_ = false;
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(remaining_, text.size()));
  remaining_ -= taken;
  consume(text, taken);
  last_byte_ns_ = segment_.time_ns;
  if (remaining_ > 0) return;
  if (mode_ == Mode::kLength) return message_done(true, handler);
  mode_ = Mode::kChunkEnd;
}

// Reads a line with a chunk's size: chunk-size [ chunk-ext ] CRLF
void MessageReader::chunk_size(std::string_view& text, MessageHandler& handler) {
  if (body_uncertain_ && digits_ == 0 && may_resume_at(text)) return message_done(true, handler);
  body_uncertain_ = false;
  if (digits_ == 0) remaining_ = 0;
  last_byte_ns_ = segment_.time_ns;
  const char c = text.front();
  const int digit = in_extension_ ? -1 : hex_digit(c);
  if (digit >= 0) {
    if (digits_ == kMaxChunkDigits) return lose_step(handler);
    ++digits_;
    remaining_ = remaining_ * 16 + static_cast<uint64_t>(digit);
    return consume(text, 1);
  }
  if (digits_ == 0) return lose_step(handler);
  in_extension_ = true;
  const size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return consume(text, text.size());
  consume(text, line_end + 1);
  digits_ = 0;
  in_extension_ = false;
  line_empty_ = true;
  mode_ = remaining_ == 0 ? Mode::kTrailer : Mode::kChunkData;
}

void MessageReader::chunk_end(std::string_view& text, MessageHandler& handler) {
  const char c = text.front();
  if (c != '\r' && c != '\n') return lose_step(handler);
  consume(text, 1);
  if (c == '\n') mode_ = Mode::kChunkSize;
}

void MessageReader::trailer(std::string_view& text, MessageHandler& handler) {
  last_byte_ns_ = segment_.time_ns;
  const char c = text.front();
  if (c == '\n' && line_empty_) {
    consume(text, 1);
    return message_done(true, handler);
  }
  if (c == '\r' && line_empty_) return consume(text, 1);
  line_empty_ = false;
  const size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return consume(text, text.size());
  consume(text, line_end + 1);
  line_empty_ = true;
}

void MessageReader::message_done(bool exact, MessageHandler& handler) {
  mode_ = exact ? Mode::kStart : Mode::kSeek;
  body_uncertain_ = false;
  handler.on_message_end(side_, offset_, last_byte_ns_, exact);
  if (!exact) handler.on_hidden(side_, offset_);
}

// Ends a body, since the gap at `gap_begin` extends beyond it. The body's length still gives its end, provided that
// there was a body.
void MessageReader::end_in_gap(uint64_t gap_begin, MessageHandler& handler) {
  const bool is_known = !std::exchange(body_uncertain_, false);
  mode_ = Mode::kSeek;
  handler.on_message_end(side_, is_known ? gap_begin + remaining_ : gap_begin, last_byte_ns_, is_known);
  handler.on_hidden(side_, offset_);
}

// Abandons the current message and seeks the next one, since message boundaries are no longer known.
void MessageReader::lose_step(MessageHandler& handler) {
  const bool body = in_body();
  drop_head();
  mode_ = Mode::kSeek;
  if (body) handler.on_message_end(side_, offset_, last_byte_ns_, false);
  handler.on_hidden(side_, offset_);
}

void MessageReader::seek(std::string_view& text) {
  if (!may_resume_at(text) || is_http2_preface(text)) return;
  first_ = segment_;
  first_.offset = offset_;
  resume_ = 0;
  known_ = StartKind::kMaybe;
  resumed_ = true;
  mode_ = Mode::kHead;
}

void MessageReader::gap(uint64_t bytes, const Segment& segment, MessageHandler& handler) {
  segment_ = segment;
  offset_ = segment.offset;
  const bool same_packet = segment.time_ns == last_byte_ns_;
  offset_ += bytes;
  if (mode_ == Mode::kOpaque || mode_ == Mode::kUntilClose) return;
  if ((mode_ == Mode::kLength || mode_ == Mode::kChunkData) && bytes < remaining_) {
    remaining_ -= bytes;
    body_uncertain_ = false;
    return;
  }
  if (mode_ == Mode::kLength && bytes == remaining_) {
    remaining_ = 0;
    return message_done(true, handler);
  }
  if (mode_ == Mode::kLength) return end_in_gap(segment.offset, handler);
  const StartKind look = mode_ == Mode::kHead && same_packet ? look_at(head_) : StartKind::kNot;
  if (look == StartKind::kRequest || look == StartKind::kResponse)
    return head_done(parse_head(head_, &scratch_), true, handler);
  lose_step(handler);
}

void MessageReader::end(MessageHandler& handler) {
  if (mode_ == Mode::kHead) finish_simple_request(handler);
  if (mode_ == Mode::kHead && !recognised_ && !resumed_ && handler.on_headless(side_, first_))
    mode_ = Mode::kUntilClose;
  if (in_body()) handler.on_message_end(side_, offset_, last_byte_ns_, mode_ == Mode::kUntilClose);
  drop_head();
  mode_ = Mode::kSeek;
}

}  // namespace tapline::http
