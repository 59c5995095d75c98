// Errors in capture files: the kind of fault, its position, and a sentence for the user.
#pragma once

#include <cstdint>
#include <string>

namespace tapline {

enum class CaptureFault {
  kNone,
  kNotFound,
  kNoPermission,
  kNotAFile,             // a directory
  kReadFailed,           // the operating system failed to read
  kEmpty,                // no bytes at all; a header without packets is fine
  kNotACapture,          // neither pcap nor pcapng
  kUnsupportedVersion,   // an unknown version
  kUnsupportedLinkType,  // no packet in it has a supported link type
  kNoInterface,          // it lacks a selected interface
  kTruncated,            // ends within a record; earlier records are good
  kCorrupt,              // an impossible length or marker; earlier records are good
};

struct CaptureError {
  CaptureFault fault = CaptureFault::kNone;
  // The position in the file, or in the decompressed bytes of a .zst.
  uint64_t offset_bytes = 0;
  // States what is wrong and what to do, beginning with the file's name.
  std::string message;

  explicit operator bool() const { return fault != CaptureFault::kNone; }
  // True if the packets before the fault can be used.
  bool partial() const { return fault == CaptureFault::kTruncated || fault == CaptureFault::kCorrupt; }
};

// The accounting reason of the packet that a partial fault cost: "capture_truncated" or "capture_corrupt".
inline const char* drop_reason(CaptureFault fault) {
  return fault == CaptureFault::kTruncated ? "capture_truncated" : "capture_corrupt";
}

}  // namespace tapline
