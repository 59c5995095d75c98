#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/api/connection.h"
#include "parsers/api/parser.h"

namespace tapline {

// A protocol's verdict on the bytes at the beginning of a unit.
struct Unit {
  enum class Kind : uint8_t { kMore, kTaken, kNot, kOpaque };
  Kind kind = Kind::kNot;
  uint64_t bytes = 0;  // kTaken: length of the unit; kMore: the total number of bytes needed to try again
  uint64_t skip = 0;   // bytes that follow, which are not examined

  // Asks for more bytes, because these are too few to decide. `bytes` is the total needed; 0 means any additional byte.
  static Unit more(uint64_t bytes = 0) { return {Kind::kMore, bytes, 0}; }
  static Unit taken(uint64_t bytes, uint64_t skip = 0) { return {Kind::kTaken, bytes, skip}; }
  // Rejects the bytes, because no unit of this protocol begins like this.
  static Unit none() { return {}; }
  // Takes the last unit. After it, the stream belongs to another protocol or is encrypted, so nothing more is examined.
  static Unit opaque(uint64_t bytes) { return {Kind::kOpaque, bytes, 0}; }
};

// Splits one side's stream into the units of a protocol (a line, a header, an element), regardless of segment
// boundaries. A unit within one segment is examined in place; others are collected, up to max_unit_bytes. Data that
// follow a unit and need no examination (a value, a body) are skipped, including gaps in them. After any other gap the
// reader is out of step until a segment begins like a unit.
//
// The protocol provides the handler:
//   Unit on_unit(Side, std::string_view bytes, const Segment& first)
//                           At least 1 byte from the beginning of a unit; `first` is the segment of its first byte,
//                           with its offset. A taken unit must extend beyond the bytes of earlier calls that wanted
//                           more.
//   void on_skipped(Side, uint64_t end_offset, int64_t time_ns)
//                           The bytes to skip have passed; called only if there were any.
//   Unit on_cut(Side, std::string_view bytes, const Segment& first, bool in_packet)
//                           A gap follows, and these bytes (perhaps none) are all of the unit that was captured.
//                           in_packet: the gap is in the same packet, which was captured in part. To use the bytes,
//                           return kTaken and skip the rest of the unit.
//   bool may_resume(Side, std::string_view bytes)
//                           Out of step: true if a segment with this beginning starts with a unit. A false start is
//                           costly.
//   size_t resume_within(Side, std::string_view bytes)
//                           Optional. Out of step, and may_resume() was false: the position in the segment at which a
//                           unit certainly begins, or npos.
//   bool is_overtaken(Side, std::string_view bytes)
//                           Optional. A unit continues although its sender has received more data since the unit
//                           began: true if a segment with this beginning certainly starts another unit, so a length was
//                           misread.
//   void on_hidden(Side, uint64_t offset)
//                           The reader is now out of step: the unit being read is cut off here, and unseen units may
//                           follow.
//   void on_too_long(Side)
//                           A unit exceeds max_unit_bytes. on_hidden() is called next.
class UnitReader {
 public:
  static constexpr size_t kKeptBytes = 512;

  enum class Verdict : uint8_t { kFine, kNotMine };

  explicit UnitReader(Side side, size_t max_unit_bytes = 64 << 10) : side_(side), max_unit_bytes_(max_unit_bytes) {}

  // Begins out of step. Call it for a stream whose beginning was not captured.
  void start_in_middle() { mode_ = Mode::kSeek; }
  // Declares that the rest of the stream does not belong to the protocol.
  void become_opaque() { mode_ = Mode::kOpaque; }
  bool recognised() const { return recognised_; }
  bool opaque() const { return mode_ == Mode::kOpaque; }
  bool in_step() const { return mode_ != Mode::kSeek; }

  // Reads the next bytes of the stream. Returns kNotMine if the stream's very first bytes are not a unit.
  template <typename Handler>
  Verdict read(std::span<const uint8_t> bytes, const Segment& segment, Handler& handler) {
    if (segment.offset != offset_) [[unlikely]]
      join(segment, handler);
    segment_ = segment;
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if constexpr (requires { handler.is_overtaken(side_, text); }) {
      if (is_overtaken(segment) && handler.is_overtaken(side_, text)) [[unlikely]]
        lose_step(handler);
    }
    if (mode_ == Mode::kSeek) seek(text, handler);
    while (!text.empty()) {
      switch (mode_) {
        case Mode::kUnit:
          if (!take(text, handler)) return Verdict::kNotMine;
          break;
        case Mode::kSkip:
          skip(text, handler);
          break;
        case Mode::kSeek:
          seek_bytes_ += text.size();
          [[fallthrough]];
        case Mode::kOpaque:
          consume(text, text.size());
          break;
      }
    }
    last_byte_ns_ = segment.time_ns;
    seen_end_ = offset_;
    return Verdict::kFine;
  }

  template <typename Handler>
  void gap(uint64_t bytes, const Segment& segment, Handler& handler) {
    if (segment.offset != offset_) [[unlikely]]
      join(segment, handler);
    if (mode_ == Mode::kUnit) cut(segment, handler);
    offset_ += bytes;
    if (mode_ == Mode::kOpaque) return;
    if (mode_ == Mode::kSkip && bytes <= skip_) {
      skip_ -= bytes;
      if (skip_ == 0) skipped(handler);
      return;
    }
    lose_step(handler);
  }

  // Resets the reader, but keeps the memory of a small unit.
  void recycle() {
    std::string unit = std::move(unit_);
    unit.clear();
    if (unit.capacity() > kKeptBytes) unit.shrink_to_fit();
    *this = UnitReader(side_, max_unit_bytes_);
    unit_ = std::move(unit);
  }

  // Returns the offset of the next byte.
  uint64_t offset() const { return offset_; }
  // Returns the offset after the last byte seen in earlier pieces. A unit that was cut by a gap ends here at the
  // earliest.
  uint64_t seen_end() const { return seen_end_; }
  // Returns the time of the current segment.
  int64_t time_ns() const { return segment_.time_ns; }
  const Segment& segment() const { return segment_; }
  // Returns the offset before which no further unit begins.
  uint64_t settled_offset() const { return collecting() ? first_.offset : offset_; }
  uint64_t seek_bytes() const { return seek_bytes_; }
  size_t memory_bytes() const { return unit_.capacity(); }

  // Returns the end of the first line of `bytes`, after its LF, or npos. Searches each byte of a unit once. REQUIRES:
  // called in on_unit with its bytes.
  size_t line_end(std::string_view bytes) {
    const size_t position = bytes.find('\n', std::min(searched_, bytes.size()));
    searched_ = position == std::string_view::npos ? bytes.size() : position;
    return position == std::string_view::npos ? position : position + 1;
  }

 private:
  enum class Mode : uint8_t { kUnit, kSkip, kSeek, kOpaque };

  bool collecting() const { return !unit_.empty(); }

  // Returns true if a unit continues although its sender has received more data since the unit began.
  bool is_overtaken(const Segment& segment) const {
    const bool goes_on = mode_ == Mode::kSkip || collecting();
    return goes_on && first_.peer_offset_known && segment.peer_offset_known && segment.peer_offset > first_.peer_offset;
  }

  void consume(std::string_view& text, uint64_t bytes) {
    text.remove_prefix(bytes);
    offset_ += bytes;
  }

  template <typename Handler>
  void seek(std::string_view& text, Handler& handler) {
    size_t begin = handler.may_resume(side_, text) ? 0 : std::string_view::npos;
    if constexpr (requires { handler.resume_within(side_, text); }) {
      if (begin != 0) begin = handler.resume_within(side_, text);
    }
    if (begin == std::string_view::npos) return;
    consume(text, begin);
    mode_ = Mode::kUnit;
    resumed_ = true;
  }

  // Takes the next unit. Returns false if the stream does not belong to this protocol.
  template <typename Handler>
  bool take(std::string_view& text, Handler& handler) {
    if (collecting()) return collect(text, handler);
    first_ = segment_;
    first_.offset = offset_;
    searched_ = 0;
    const Unit unit = handler.on_unit(side_, text, first_);
    switch (unit.kind) {
      case Unit::Kind::kTaken:
      case Unit::Kind::kOpaque:
        consume(text, std::min<uint64_t>(unit.bytes, text.size()));
        taken(unit);
        return true;
      case Unit::Kind::kMore:
        wanted_ = std::max<uint64_t>(unit.bytes, text.size() + 1);
        if (wanted_ <= max_unit_bytes_) unit_.assign(text);
        consume(text, text.size());
        return wanted_ <= max_unit_bytes_ || too_long(handler);
      case Unit::Kind::kNot:
        break;
    }
    return reject(handler);
  }

  template <typename Handler>
  bool collect(std::string_view& text, Handler& handler) {
    const size_t previous_size = unit_.size();
    const size_t added = std::min<uint64_t>(text.size(), max_unit_bytes_ - previous_size);
    unit_.append(text.substr(0, added));
    if (unit_.size() < wanted_) {
      consume(text, added);
      return true;
    }
    const Unit unit = handler.on_unit(side_, unit_, first_);
    switch (unit.kind) {
      case Unit::Kind::kTaken:
      case Unit::Kind::kOpaque:
        // The unit extends past the bytes from earlier calls; otherwise an earlier call would have taken it.
        consume(text, std::min<uint64_t>(std::max<uint64_t>(unit.bytes, previous_size) - previous_size, added));
        release();
        taken(unit);
        return true;
      case Unit::Kind::kMore:
        wanted_ = std::max<uint64_t>(unit.bytes, unit_.size() + 1);
        consume(text, added);
        return wanted_ <= max_unit_bytes_ || too_long(handler);
      case Unit::Kind::kNot:
        break;
    }
    return reject(handler);
  }

  void taken(const Unit& unit) {
    recognised_ = true;
    if (mode_ == Mode::kOpaque) return;  // set by the handler
    if (unit.kind == Unit::Kind::kOpaque) {
      mode_ = Mode::kOpaque;
      return;
    }
    skip_ = unit.skip;
    mode_ = skip_ > 0 ? Mode::kSkip : Mode::kUnit;
  }

  template <typename Handler>
  void skip(std::string_view& text, Handler& handler) {
    const uint64_t bytes = std::min<uint64_t>(skip_, text.size());
    consume(text, bytes);
    skip_ -= bytes;
    last_byte_ns_ = segment_.time_ns;
    if (skip_ == 0) skipped(handler);
  }

  template <typename Handler>
  void skipped(Handler& handler) {
    mode_ = Mode::kUnit;
    handler.on_skipped(side_, offset_, last_byte_ns_);
  }

  // Handles bytes that do not begin a unit. Returns false if no unit was ever seen, so the connection uses another
  // protocol.
  template <typename Handler>
  bool reject(Handler& handler) {
    if (!recognised_ && !resumed_) {
      release();
      return false;
    }
    lose_step(handler);
    return true;
  }

  template <typename Handler>
  bool too_long(Handler& handler) {
    handler.on_too_long(side_);
    lose_step(handler);
    return true;
  }

  template <typename Handler>
  void cut(const Segment& segment, Handler& handler) {
    if (!collecting()) {
      first_ = segment;
      first_.offset = offset_;
    }
    const Unit unit = handler.on_cut(side_, unit_, first_, segment.time_ns == last_byte_ns_);
    if (unit.kind != Unit::Kind::kTaken) return;
    release();
    recognised_ = true;
    skip_ = unit.skip;
    mode_ = Mode::kSkip;
  }

  template <typename Handler>
  void lose_step(Handler& handler) {
    release();
    mode_ = Mode::kSeek;
    handler.on_hidden(side_, offset_);
  }

  // Joins a stream whose earlier data the parser did not see, because it was loaded while the connection was open.
  template <typename Handler>
  void join(const Segment& segment, Handler& handler) {
    offset_ = segment.offset;
    if (mode_ != Mode::kOpaque) lose_step(handler);
  }

  void release() {
    unit_.clear();
    if (unit_.capacity() > kKeptBytes) unit_.shrink_to_fit();
  }

  Side side_;
  Mode mode_ = Mode::kUnit;
  bool recognised_ = false;  // at least one unit was seen
  bool resumed_ = false;     // the current unit was found by seeking
  size_t max_unit_bytes_;
  uint64_t skip_ = 0;
  uint64_t wanted_ = 0;  // bytes to collect before the handler is called again
  size_t searched_ = 0;  // number of bytes that line_end() has searched
  uint64_t offset_ = 0;
  uint64_t seen_end_ = 0;
  uint64_t seek_bytes_ = 0;
  int64_t last_byte_ns_ = 0;
  Segment segment_ = {};
  Segment first_ = {};  // segment of the unit's first byte
  std::string unit_;    // the part of the unit collected so far
};

}  // namespace tapline
