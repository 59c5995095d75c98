// A packet's header as a row of the node's MultiLog.
//
// Fields of the innermost packet, as decode() tells them, and the first bytes of the frame as captured, which is what
// pcapng shows. Missing: addresses of the other family, what only TCP has, tags and tunnels that there are none of.
#pragma once

#include <cstdint>
#include <span>

#include "multilog/record/schema.h"
#include "parsers/api/packet.h"

namespace tapline::multilog {

class HeaderLayout {
 public:
  static constexpr uint32_t kMostFrameBytes = 64;

  // Keeps so many bytes of each frame, 0 to kMostFrameBytes.
  explicit HeaderLayout(uint32_t frame_bytes);

  const Schema& schema() const { return schema_; }
  uint32_t row_bytes() const { return schema_.row_bytes(); }
  uint32_t frame_bytes() const { return frame_bytes_; }

  // Writes row_bytes() of them.
  void Write(const RawPacket& raw, const Packet& packet, uint8_t* row) const;

  // The frame's bytes that a row has, and its length on the wire.
  std::span<const uint8_t> FrameOf(const uint8_t* row) const;
  uint32_t WireBytesOf(const uint8_t* row) const;
  LinkType LinkOf(const uint8_t* row) const;

 private:
  uint32_t frame_bytes_;
  Schema schema_;
};

}  // namespace tapline::multilog
