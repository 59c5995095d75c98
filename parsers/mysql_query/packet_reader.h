#pragma once

#include <cstdint>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/mysql_query/wire.h"

namespace tapline::mysql {

constexpr size_t kHeaderBytes = 4;  // length of a packet header

// The unread rest of a piece of a stream, and the segment that contains it.
struct Piece {
  Bytes bytes;
  Segment segment;  // its offset is the offset of bytes[0]

  void advance(size_t count) {
    bytes = bytes.subspan(count);
    segment.offset += count;
  }
};

// One packet, or several that carry one payload of 16 MiB or more.
//
//   | length (3) | sequence (1) | payload (length) |     all little-endian; 0xffffff: continues in the next packet
struct Packet {
  Bytes payload;     // its first bytes, as many as are kept
  uint64_t length;   // length of the payload
  uint8_t sequence;  // number of its first part
  uint8_t parts;     // number of parts; 255 means 255 or more
  bool cut;          // true if a part of the kept bytes was not captured
  Segment first;     // segment of the header's first byte
  uint64_t end;      // offset after the last byte
  int64_t last_ns;   // time of its last byte
};

// Splits one direction into packets. Keeps only the first bytes of each packet; a packet that is contained in one piece
// is not copied.
class PacketReader {
 public:
  static constexpr uint32_t kMaxPartBytes = 0xffffff;
  // Returns the number of bytes to keep of a payload that begins with this byte.
  using KeptBytes = uint32_t (*)(uint8_t first);
  enum class Gap : uint8_t { kInside, kPacket, kOutOfStep };

  explicit PacketReader(KeptBytes kept_bytes) : kept_bytes_(kept_bytes) {}

  // Reads up to the end of the current packet, or the whole piece if it is shorter. Returns true if the packet is
  // complete; *packet is then valid until the next call.
  bool next(Piece& piece, Packet* packet);
  // Skips missing bytes. kInside: they are within a packet, which continues; kPacket: they extend to a packet's end,
  // and *packet is that packet; kOutOfStep: the next boundary is unknown, and restart() must be called.
  Gap gap(uint64_t bytes, const Segment& segment, Packet* packet);
  // Declares that the next byte is a packet's first one.
  void restart();

  void keep_by(KeptBytes kept_bytes) { kept_bytes_ = kept_bytes; }
  // Returns the first segment of the packet that has begun. REQUIRES: !between_packets()
  const Segment& first() const { return first_; }
  bool between_packets() const { return header_bytes_ == 0 && parts_ == 0; }
  // Sets *packet to the incomplete packet, with the bytes received so far. Returns false if its payload has not begun.
  bool begun(Packet* packet) const;
  size_t memory_bytes() const { return kept_.capacity(); }
  void recycle();

 private:
  bool whole(Piece& piece, Packet* packet);
  bool read_header(Piece& piece);
  void keep(Bytes bytes);
  bool part_done(const Segment& segment, Packet* packet);
  void describe(Packet* packet) const;

  KeptBytes kept_bytes_;
  uint8_t header_[4] = {};
  uint8_t header_bytes_ = 0;
  uint8_t parts_ = 0;  // parts that have begun
  uint8_t sequence_ = 0;
  bool cut_ = false;
  bool first_byte_known_ = false;
  uint32_t part_bytes_ = 0;
  uint32_t remaining_ = 0;  // rest of the current part
  uint32_t wanted_ = 0;     // total bytes to keep
  uint64_t length_ = 0;
  Segment first_ = {};
  std::string kept_;
};

}  // namespace tapline::mysql
