// Reads the packets of one capture file, in file order, without copying them out of the read buffer.
//
// Usage: call read() until it returns kRefill, finish processing the packets returned so far, call refill(), and repeat
// until kEnd. Memory is bounded (see byte_stream.h). Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packet_io/capture/byte_stream.h"
#include "packet_io/capture/record_format.h"

namespace tapline {

// The parts of "FILE#INTERFACE". If a file with this whole name exists, the whole name is the path.
struct CaptureName {
  std::string path;
  std::string interface;  // empty: all interfaces

  static CaptureName of(const std::string& text);
};

class CaptureReader {
 public:
  enum class Outcome : uint8_t {
    kPackets,
    kRefill,  // the caller must call refill(), which invalidates every packet's data, and read() again
    kEnd,     // no more packets; error() shows whether the file ended cleanly
  };

  // Opens a pcap or pcapng file, plain or compressed with Zstandard. On failure, returns nullptr and fills in `error`.
  static std::unique_ptr<CaptureReader> open(const std::string& path, CaptureError* error);

  // Skips the packets of all interfaces except these, which are given by name or number. On failure, returns false and
  // fills in `error`. Must be called before read().
  bool select(std::vector<std::string> interfaces, CaptureError* error);

  // Stores the next packets, as many as fit and are available, and their number in `count`. REQUIRES: `packets` is not
  // empty.
  Outcome read(std::span<CapturedPacket> packets, size_t* count);
  void refill();

  // Returns the error, which is kNone at the clean end of a file. REQUIRES: read() returned kEnd.
  const CaptureError& error() const { return error_; }
  const std::string& path() const { return path_; }
  uint64_t packets() const { return packets_; }
  // Returns the number of packets skipped because their interface (pcapng) has a link type that is not decoded.
  uint64_t unsupported_packets() const { return unsupported_packets_; }
  // Returns the number of such packets on one selected interface, by its index.
  uint64_t unsupported_packets(uint8_t selected) const { return unsupported_of_[selected]; }
  // Returns the number of bytes read from the file itself, out of file_size_bytes(), which is 0 for pipes.
  uint64_t file_position_bytes() const { return window_.source().file_position(); }
  uint64_t file_size_bytes() const { return window_.source().file_size(); }

 private:
  CaptureReader(std::string path, std::unique_ptr<ByteSource> source);
  bool detect_format_and_header(CaptureError* error);
  void end_within_header(size_t wanted);
  CaptureError not_a_capture() const;
  size_t keep_supported(std::span<CapturedPacket> packets);
  Outcome starved(size_t wanted);
  Outcome finish(CaptureFault fault, const std::string& detail);
  std::string describe(CaptureFault fault, const std::string& detail) const;
  void skip(size_t bytes);

  std::string path_;
  ByteWindow window_;
  std::unique_ptr<RecordFormat> format_;
  size_t wanted_bytes_ = 0;
  size_t skip_bytes_ = 0;
  uint64_t packets_ = 0;
  uint64_t unsupported_packets_ = 0;
  std::array<uint64_t, RecordFormat::kMaxSelected> unsupported_of_ = {};  // by CapturedPacket::selected
  // The last supported and the last unsupported link type.
  std::optional<uint16_t> supported_link_type_;
  uint16_t unsupported_link_type_ = 0;
  bool finished_ = false;
  CaptureError error_;
};

}  // namespace tapline
