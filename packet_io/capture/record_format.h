// Capture records out of bytes: pcap and pcapng, without input or output of their own.
//
// A format is asked for the next record with the bytes that are at hand, and says what it found in them. It keeps only
// what a file's headers declared (byte order, interfaces); it never remembers where the bytes were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "packet_io/capture/capture_error.h"

namespace tapline {

// One packet as captured. `data` points into the bytes that the format was given.
struct CapturedPacket {
  const uint8_t* data = nullptr;
  uint32_t captured_bytes = 0;
  // Length on the wire, at least captured_bytes.
  uint32_t wire_bytes = 0;
  int64_t time_ns = 0;
  // CaptureLinkType where it is one that we decode, else the file's number.
  uint16_t link_type = 0;
};

// Longest packet that a capture may hold, the bound that libpcap and Wireshark have too.
constexpr uint32_t kMaxPacketBytes = 262144;

struct Step {
  enum Kind : uint8_t {
    kPacket,  // a packet; its record took `bytes`
    kSkip,    // a record of no interest of `bytes`, which may be more than is at hand
    kNeed,    // the record needs `bytes` in one piece to be read
    kFault,   // see fault() and detail()
  };
  Kind kind;
  size_t bytes;
};

// Packets whose records follow one another.
struct PacketRun {
  size_t packets;
  // That their records took.
  size_t bytes;
  // What came after them; kPacket if there was no room for more.
  Step next;
};

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  virtual Step Next(std::span<const uint8_t> bytes, CapturedPacket* packet) = 0;
  // The same for as many packets as come in a row and have room. A step that is not a packet is taken, as by Next():
  // only kNeed and kFault come again when the same bytes are given. REQUIRES: room for one.
  virtual PacketRun NextRun(std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) = 0;
  CaptureFault fault() const { return fault_; }
  // What is wrong with the record at the front of the bytes last given.
  const std::string& detail() const { return detail_; }

 protected:
  Step Fail(CaptureFault fault, std::string detail) {
    fault_ = fault;
    detail_ = std::move(detail);
    return {Step::kFault, 0};
  }

  // NextRun() of `format`, whose Next() is called directly: a virtual call per packet costs more than reading it.
  template <typename Format>
  static PacketRun RunOf(Format* format, std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) {
    PacketRun run = {0, 0, {Step::kPacket, 0}};
    while (run.packets < packets.size()) {
      run.next = format->Format::Next(bytes.subspan(run.bytes), &packets[run.packets]);
      if (run.next.kind != Step::kPacket) break;
      run.bytes += run.next.bytes;
      ++run.packets;
    }
    return run;
  }

 private:
  CaptureFault fault_ = CaptureFault::kNone;
  std::string detail_;
};

// Bytes that DetectFormat needs to see where the file has as many.
constexpr size_t kMagicBytes = 4;

// The format that begins so, or nullptr.
std::unique_ptr<RecordFormat> DetectFormat(std::span<const uint8_t> head);

}  // namespace tapline
