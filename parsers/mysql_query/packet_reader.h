#pragma once

#include <cstdint>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/mysql_query/wire.h"

namespace tapline::mysql {

// What is still to be read of a piece of stream, and where it came from.
struct Piece {
  Bytes bytes;
  Segment segment;  // its offset is that of bytes[0]

  void advance(size_t count) {
    bytes = bytes.subspan(count);
    segment.offset += count;
  }
};

// One packet, or the several that carry one payload of 16 MiB or more.
//
//   | length (3) | sequence (1) | payload (length) |     all little-endian; 0xffffff: it goes on in the next one
struct Packet {
  Bytes payload;     // its first bytes, as many as are kept
  uint64_t length;   // of the payload
  uint8_t sequence;  // of its first part
  uint8_t parts;     // 255: or more
  bool cut;          // part of what is kept was not captured
  Segment first;     // of the header's first byte
  uint64_t end;      // offset
  int64_t last_ns;   // of its last byte
};

// Cuts one direction into packets. Of each it keeps the first bytes only; a packet that lies in one piece is not
// copied.
class PacketReader {
 public:
  static constexpr uint32_t kMaxPartBytes = 0xffffff;
  // How many bytes of a payload are kept, told by its first byte.
  using KeptBytes = uint32_t (*)(uint8_t first);
  enum class Gap : uint8_t { kInside, kPacket, kOutOfStep };

  explicit PacketReader(KeptBytes kept_bytes) : kept_bytes_(kept_bytes) {}

  // Reads up to the next packet's end, at most the whole piece. True: *packet is it, until the next call.
  bool next(Piece& piece, Packet* packet);
  // Bytes are missing. kInside: within a packet, which goes on; kPacket: up to a packet's end, and *packet is it;
  // kOutOfStep: nobody knows where the next one begins; restart() is due.
  Gap gap(uint64_t bytes, const Segment& segment, Packet* packet);
  // What comes next is a packet's first byte.
  void restart();

  void keep_by(KeptBytes kept_bytes) { kept_bytes_ = kept_bytes; }
  // Of the packet that has begun. REQUIRES: !between_packets()
  const Segment& first() const { return first_; }
  bool between_packets() const { return header_bytes_ == 0 && parts_ == 0; }
  // The packet that has begun, if its first byte of payload is there: as far as it came.
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
  uint8_t parts_ = 0;  // that have begun
  uint8_t sequence_ = 0;
  bool cut_ = false;
  bool first_byte_known_ = false;
  uint32_t part_bytes_ = 0;
  uint32_t remaining_ = 0;  // of the part
  uint32_t wanted_ = 0;     // bytes to keep in all
  uint64_t length_ = 0;
  Segment first_ = {};
  std::string kept_;
};

}  // namespace tapline::mysql
