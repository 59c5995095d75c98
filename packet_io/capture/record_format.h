// Parses records of pcap and pcapng captures from bytes. Does no I/O.
//
// The caller passes the available bytes to a format, which returns the next record if they contain all of it. A format
// remembers the byte order and interfaces that the file's headers declare; the caller tracks the position in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "packet_io/capture/capture_error.h"

namespace tapline {

// One packet as captured. `data` points into the bytes that the caller passed to the format.
struct CapturedPacket {
  const uint8_t* data = nullptr;
  uint32_t captured_bytes = 0;
  // The length on the wire, at least captured_bytes.
  uint32_t wire_bytes = 0;
  int64_t time_ns = 0;
  // The number in the file, which is a CaptureLinkType if it is supported.
  uint16_t link_type = 0;
  // The interface's index among the selected ones; 0 if none were selected.
  uint8_t selected = 0;
};

// The longest packet that a capture may contain, as in libpcap and Wireshark.
constexpr uint32_t kMaxPacketBytes = 262144;

struct Step {
  enum Kind : uint8_t {
    kPacket,  // a packet, whose record took `bytes`
    kSkip,    // a record to ignore, with a size of `bytes`, which may be more than is available
    kNeed,    // the record can be read only if `bytes` contiguous bytes are available
    kFault,   // see fault() and detail()
  };
  Kind kind;
  size_t bytes;
};

// A run of consecutive packet records.
struct PacketRun {
  size_t packets;
  // The size of their records.
  size_t bytes;
  // The step after the packets; kPacket if there was no room for more packets.
  Step next;
};

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  static constexpr size_t kMaxSelected = 64;
  // Skips the packets of all interfaces except these, which are given by name or, if they have none, by number in their
  // section. Returns false if the format has no interfaces. Must be called before the first interface is read.
  // REQUIRES: at most kMaxSelected names.
  virtual bool select(std::vector<std::string> /*interfaces*/) { return false; }
  // Returns an error message that names a selected interface that has not occurred in the file so far, and lists the
  // interfaces that have. Returns an empty string if all selected interfaces have occurred.
  virtual std::string missing_interface() const { return ""; }
  virtual Step next(std::span<const uint8_t> bytes, CapturedPacket* packet) = 0;
  // Calls next() for as many consecutive packets as fit, and for the step after them. If this step is kSkip, the caller
  // must not pass its bytes again, since the format may have stored their contents. REQUIRES: room for at least one
  // packet.
  virtual PacketRun next_run(std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) = 0;
  CaptureFault fault() const { return fault_; }
  // Describes the fault of the record at the beginning of the last bytes passed.
  const std::string& detail() const { return detail_; }

 protected:
  Step fail(CaptureFault fault, std::string detail) {
    fault_ = fault;
    detail_ = std::move(detail);
    return {Step::kFault, 0};
  }

  // Implements next_run() for `format`. Calls next() non-virtually, since a virtual call per packet costs more than
  // reading the packet.
  template <typename Format>
  static PacketRun run_of(Format* format, std::span<const uint8_t> bytes, std::span<CapturedPacket> packets) {
    PacketRun run = {0, 0, {Step::kPacket, 0}};
    while (run.packets < packets.size()) {
      run.next = format->Format::next(bytes.subspan(run.bytes), &packets[run.packets]);
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

// The number of bytes that detect_format() needs, if the file has that many.
constexpr size_t kMagicBytes = 4;

// Returns the format of files that begin with `head`, or nullptr if it is unknown.
std::unique_ptr<RecordFormat> detect_format(std::span<const uint8_t> head);

}  // namespace tapline
