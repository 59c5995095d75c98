#pragma once

#include <cstdint>

namespace tapline {

// Facts about a TCP segment that follow from the segments before it. TcpFlows determines them.
struct TcpFacts {
  // Bytes of payload that its sender sent before, as far as this tap can know. A bare ACK, a keep-alive and a segment
  // that fills a recent hole have none.
  uint32_t retransmitted_bytes = 0;
  // Bytes of payload that fill a hole too recent to be a retransmission.
  uint32_t out_of_order_bytes = 0;
  // Bytes of payload before this segment that were not captured so far.
  uint32_t missing_bytes = 0;
  // From a segment to the ACK that covers it, measured here; 0: this packet measures none.
  uint32_t rtt_ns = 0;
  // Bytes in flight as the last window ended: with the first packet of a connection in a window.
  uint32_t in_flight_bytes = 0;
  // in_flight_bytes, less the bytes that this window has acknowledged of them: negative with each such ACK.
  int32_t unacked_bytes = 0;
};

}  // namespace tapline
