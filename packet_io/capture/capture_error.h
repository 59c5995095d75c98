// What can be wrong with a capture file: which kind of thing, where, and a sentence for the user.
#pragma once

#include <cstdint>
#include <string>

namespace tapline {

enum class CaptureFault {
  kNone,
  kNotFound,
  kNoPermission,
  kNotAFile,             // a directory
  kReadFailed,           // the operating system could not read on
  kEmpty,                // no byte, or a header without a packet is fine; no byte is not
  kNotACapture,          // neither pcap nor pcapng
  kUnsupportedVersion,   // a capture of a version that we do not know
  kUnsupportedLinkType,  // no packet in it has a link type that we decode
  kTruncated,            // ends within a record: what came before it is good
  kCorrupt,              // a length or marker that can't be: what came before it is good
};

struct CaptureError {
  CaptureFault fault = CaptureFault::kNone;
  // Where in the file, or in the decompressed bytes of a .zst.
  uint64_t offset_bytes = 0;
  // What is wrong and what to do, beginning with the file's name.
  std::string message;

  explicit operator bool() const { return fault != CaptureFault::kNone; }
  // Whether what was read before the fault stands by itself.
  bool partial() const { return fault == CaptureFault::kTruncated || fault == CaptureFault::kCorrupt; }
};

// The accounting reason of the packet that a partial fault cost: "capture_truncated" or "capture_corrupt".
inline const char* DropReason(CaptureFault fault) {
  return fault == CaptureFault::kTruncated ? "capture_truncated" : "capture_corrupt";
}

}  // namespace tapline
