// Errors in capture files: the kind of fault, its position, and a message for the user.
#pragma once

#include <cstdint>
#include <string>

namespace tapline {

enum class CaptureFault {
  kNone,
  kNotFound,
  kNoPermission,
  kNotAFile,             // a directory
  kReadFailed,           // the operating system's read failed
  kEmpty,                // no bytes at all; a header without packets is valid
  kNotACapture,          // neither pcap nor pcapng
  kUnsupportedVersion,   // an unknown version
  kUnsupportedLinkType,  // no packet in the file has a supported link type
  kNoInterface,          // the file lacks a selected interface
  kTruncated,            // ends within a record; earlier records are valid
  kCorrupt,              // an impossible length or marker; earlier records are valid
};

struct CaptureError {
  CaptureFault fault = CaptureFault::kNone;
  // The position in the file, or in the decompressed bytes of a .zst file.
  uint64_t offset_bytes = 0;
  // Describes the problem and the remedy, beginning with the file's name.
  std::string message;

  explicit operator bool() const { return fault != CaptureFault::kNone; }
  // Returns true if the packets before the fault can be used.
  bool partial() const { return fault == CaptureFault::kTruncated || fault == CaptureFault::kCorrupt; }
};

// Returns the drop reason of the packet lost to a partial fault: "capture_truncated" or "capture_corrupt".
inline const char* drop_reason(CaptureFault fault) {
  return fault == CaptureFault::kTruncated ? "capture_truncated" : "capture_corrupt";
}

}  // namespace tapline
