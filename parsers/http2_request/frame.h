#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapline::http2 {

// The client connection preface (RFC 9113 section 3.4).
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9
};
inline constexpr uint8_t kEndStream = 0x1, kEndHeaders = 0x4, kPadded = 0x8, kHasPriority = 0x20;

//   0        3      4       5           9
//   ┌────────┬──────┬───────┬───────────┬─────────
//   │ length │ type │ flags │ stream id │ payload
//   └────────┴──────┴───────┴───────────┴─────────
struct FrameHead {
  static constexpr size_t kBytes = 9;

  uint32_t length = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;  // including the reserved bit

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  uint64_t bytes() const { return kBytes + length; }
};

// REQUIRES: FrameHead::kBytes readable bytes.
FrameHead parse_frame(std::string_view bytes);

// Returns true if length, flags and stream are valid for the frame's type. Returns false for unknown types.
bool is_plausible(const FrameHead& head);

// Finds the fragment of a header block in the payload after the frame's head, without padding, priority and promised
// stream. `payload` may be truncated. Returns false if the lengths are contradictory.
bool fragment_of(const FrameHead& head, std::string_view payload, std::string_view* fragment);

// Returns the name of a code in RST_STREAM and GOAWAY, such as "CANCEL"; "other" for codes without a name.
std::string_view name_of_error(uint32_t code);
// Returns the name of a gRPC status, such as "OK" or "NOT_FOUND"; "other" for codes without a name.
std::string_view name_of_grpc_status(uint32_t code);

}  // namespace tapline::http2
