#pragma once

#include <cstdint>

namespace tapline {

// Facts about a TCP segment that follow from earlier segments. TcpFlows determines them.
struct TcpFacts {
  // Payload bytes that the sender had already sent, as far as this tap can know. 0 for a bare ACK, a keep-alive and a
  // segment that fills a recent hole.
  uint32_t retransmitted_bytes = 0;
  // Payload bytes that fill a hole too recent for a retransmission.
  uint32_t out_of_order_bytes = 0;
  // Payload bytes immediately before this segment that have not been captured.
  uint32_t missing_bytes = 0;
  // Time from a segment to the ACK that covers it, measured at the tap; 0 if this packet covers no measured segment.
  uint32_t rtt_ns = 0;
  // Bytes in flight at the end of the last window; set for a connection's first packet in a window.
  uint32_t in_flight_bytes = 0;
  // The values of a window sum to in_flight_bytes minus the bytes acknowledged in the window: each ACK contributes the
  // negated number of bytes that it acknowledges.
  int32_t unacked_bytes = 0;
};

}  // namespace tapline
