// Reads a whole capture file into memory, for tests.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "packet_io/capture/capture_reader.h"
#include "packet_io/testing/capture_bytes.h"

namespace tapline {

struct PacketCopy {
  Bytes data;
  uint32_t wire_bytes;
  int64_t time_ns;
  uint16_t link_type;
};

struct CaptureCopy {
  std::vector<PacketCopy> packets;
  CaptureError error;
  uint64_t unsupported_packets = 0;
};

inline CaptureCopy read_capture(const std::string& path) {
  CaptureCopy copy;
  auto reader = CaptureReader::open(path, &copy.error);
  if (!reader) return copy;
  std::array<CapturedPacket, 5> packets;
  size_t count;
  CaptureReader::Outcome outcome;
  while ((outcome = reader->read(packets, &count)) != CaptureReader::Outcome::kEnd) {
    if (outcome == CaptureReader::Outcome::kRefill) reader->refill();
    for (const CapturedPacket& packet : std::span(packets).first(count)) {
      copy.packets.push_back({Bytes(packet.data, packet.data + packet.captured_bytes), packet.wire_bytes,
                              packet.time_ns, packet.link_type});
    }
  }
  copy.error = reader->error();
  copy.unsupported_packets = reader->unsupported_packets();
  return copy;
}

}  // namespace tapline
