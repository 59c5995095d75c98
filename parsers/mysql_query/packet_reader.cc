#include "parsers/mysql_query/packet_reader.h"

#include <algorithm>

namespace tapline::mysql {
namespace {

constexpr size_t kKeptCapacity = 512;

uint32_t length_in(const uint8_t* header) {
  return header[0] | static_cast<uint32_t>(header[1]) << 8 | static_cast<uint32_t>(header[2]) << 16;
}

}  // namespace

// Reads a packet that is complete in one piece, as most are.
bool PacketReader::whole(Piece& piece, Packet* packet) {
  if (piece.bytes.size() < kHeaderBytes) return false;
  const uint8_t* header = piece.bytes.data();
  const uint32_t length = length_in(header);
  if (length == kMaxPartBytes || piece.bytes.size() - kHeaderBytes < length) return false;
  const uint32_t kept = length == 0 ? 0 : std::min(length, kept_bytes_(header[kHeaderBytes]));
  *packet = {.payload = piece.bytes.subspan(kHeaderBytes, kept),
             .length = length,
             .sequence = header[3],
             .parts = 1,
             .cut = false,
             .first = piece.segment,
             .end = piece.segment.offset + kHeaderBytes + length,
             .last_ns = piece.segment.time_ns};
  piece.advance(kHeaderBytes + length);
  return true;
}

bool PacketReader::next(Piece& piece, Packet* packet) {
  while (!piece.bytes.empty()) {
    if (between_packets() && whole(piece, packet)) return true;
    if (header_bytes_ < kHeaderBytes && !read_header(piece)) return false;
    const size_t taken = std::min<size_t>(remaining_, piece.bytes.size());
    keep(piece.bytes.first(taken));
    remaining_ -= static_cast<uint32_t>(taken);
    piece.advance(taken);
    if (remaining_ == 0 && part_done(piece.segment, packet)) return true;
  }
  return false;
}

bool PacketReader::read_header(Piece& piece) {
  if (between_packets()) {
    restart();
    first_ = piece.segment;
  }
  const size_t taken = std::min(kHeaderBytes - header_bytes_, piece.bytes.size());
  std::copy_n(piece.bytes.begin(), taken, header_ + header_bytes_);
  header_bytes_ = static_cast<uint8_t>(header_bytes_ + taken);
  piece.advance(taken);
  if (header_bytes_ < kHeaderBytes) return false;
  part_bytes_ = remaining_ = length_in(header_);
  length_ += part_bytes_;
  if (parts_ == 0) sequence_ = header_[3];
  if (parts_ < UINT8_MAX) ++parts_;
  return true;
}

void PacketReader::keep(Bytes bytes) {
  if (bytes.empty()) return;
  if (!first_byte_known_ && !cut_) {
    first_byte_known_ = true;
    wanted_ = kept_bytes_(bytes[0]);
  }
  // Keeps nothing after a hole, since it would appear to belong to the bytes before it.
  if (cut_ || kept_.size() >= wanted_) return;
  kept_.append(text_of(bytes.first(std::min<size_t>(bytes.size(), wanted_ - kept_.size()))));
}

bool PacketReader::part_done(const Segment& segment, Packet* packet) {
  header_bytes_ = 0;
  if (part_bytes_ == kMaxPartBytes) return false;
  describe(packet);
  packet->end = segment.offset;
  packet->last_ns = segment.time_ns;
  parts_ = 0;
  return true;
}

void PacketReader::describe(Packet* packet) const {
  *packet = {.payload = {reinterpret_cast<const uint8_t*>(kept_.data()), kept_.size()},
             .length = length_,
             .sequence = sequence_,
             .parts = parts_,
             .cut = cut_,
             .first = first_,
             .end = first_.offset + parts_ * kHeaderBytes + length_,
             .last_ns = first_.time_ns};
}

bool PacketReader::begun(Packet* packet) const {
  if (kept_.empty() || parts_ == 0) return false;
  describe(packet);
  return true;
}

PacketReader::Gap PacketReader::gap(uint64_t bytes, const Segment& segment, Packet* packet) {
  if (header_bytes_ < kHeaderBytes || bytes > remaining_) return Gap::kOutOfStep;
  remaining_ -= static_cast<uint32_t>(bytes);
  if (!first_byte_known_ || kept_.size() < wanted_) cut_ = true;
  if (remaining_ > 0) return Gap::kInside;
  Segment end = segment;
  end.offset += bytes;
  return part_done(end, packet) ? Gap::kPacket : Gap::kInside;
}

void PacketReader::restart() {
  header_bytes_ = parts_ = 0;
  cut_ = first_byte_known_ = false;
  length_ = wanted_ = 0;
  kept_.clear();
  if (kept_.capacity() > kKeptCapacity) kept_.shrink_to_fit();
}

void PacketReader::recycle() {
  restart();
  remaining_ = part_bytes_ = 0;
}

}  // namespace tapline::mysql
