#include "parsers/http2_request/frame.h"

#include <algorithm>
#include <iterator>

#include "parsers/api/bytes.h"

namespace tapline::http2 {
namespace {

// Longer frames are implausible, since no common implementation allows them by default.
constexpr uint32_t kMaxBytes = 1 << 20;
constexpr uint32_t kReservedBit = 0x80000000;

constexpr std::string_view kErrors[] = {"NO_ERROR",
                                        "PROTOCOL_ERROR",
                                        "INTERNAL_ERROR",
                                        "FLOW_CONTROL_ERROR",
                                        "SETTINGS_TIMEOUT",
                                        "STREAM_CLOSED",
                                        "FRAME_SIZE_ERROR",
                                        "REFUSED_STREAM",
                                        "CANCEL",
                                        "COMPRESSION_ERROR",
                                        "CONNECT_ERROR",
                                        "ENHANCE_YOUR_CALM",
                                        "INADEQUATE_SECURITY",
                                        "HTTP_1_1_REQUIRED"};
constexpr std::string_view kGrpcStatuses[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

bool only(const FrameHead& head, uint8_t flags) { return (head.flags & ~flags) == 0; }

}  // namespace

FrameHead parse_frame(std::string_view bytes) {
  const auto* input = reinterpret_cast<const uint8_t*>(bytes.data());
  return {.length = big_endian_32(input) >> 8, .type = input[3], .flags = input[4], .stream = big_endian_32(input + 5)};
}

bool is_plausible(const FrameHead& head) {
  if ((head.stream & kReservedBit) != 0 || head.length > kMaxBytes) return false;
  const bool of_stream = head.stream != 0;
  switch (head.type) {
    case kData:
      return of_stream && only(head, kEndStream | kPadded);
    case kHeaders:
      return of_stream && head.length > 0 && only(head, kEndStream | kEndHeaders | kPadded | kHasPriority);
    case kPriority:
      return of_stream && head.length == 5 && only(head, 0);
    case kRstStream:
      return of_stream && head.length == 4 && only(head, 0);
    case kSettings:
      return !of_stream && head.length % 6 == 0 && only(head, 1) && (head.flags == 0 || head.length == 0);
    case kPushPromise:
      return of_stream && head.length > 4 && only(head, kEndHeaders | kPadded);
    case kPing:
      return !of_stream && head.length == 8 && only(head, 1);
    case kGoAway:
      return !of_stream && head.length >= 8 && only(head, 0);
    case kWindowUpdate:
      return head.length == 4 && only(head, 0);
    case kContinuation:
      return of_stream && only(head, kEndHeaders);
    default:
      return false;
  }
}

bool fragment_of(const FrameHead& head, std::string_view payload, std::string_view* fragment) {
  const bool begins_block = head.type != kContinuation;
  const size_t padded = begins_block && head.has(kPadded) ? 1 : 0;
  size_t before = padded;
  if (head.type == kHeaders && head.has(kHasPriority)) before += 5;
  if (head.type == kPushPromise) before += 4;
  const size_t padding = padded > 0 && !payload.empty() ? static_cast<uint8_t>(payload[0]) : 0;
  if (before + padding > head.length) return false;
  const size_t end = std::min<size_t>(head.length - padding, payload.size());
  *fragment = before < end ? payload.substr(before, end - before) : std::string_view();
  return true;
}

std::string_view name_of_error(uint32_t code) { return code < std::size(kErrors) ? kErrors[code] : "other"; }

std::string_view name_of_grpc_status(uint32_t code) {
  return code < std::size(kGrpcStatuses) ? kGrpcStatuses[code] : "other";
}

}  // namespace tapline::http2
