#pragma once

#include <cstdint>
#include <vector>

namespace tapline::mirroring {

// A packet that a host put on its link.
struct SentPacket {
  int64_t sent_ns = 0;       // time of the first bit
  int64_t received_ns = -1;  // time of the last bit at the other host; < 0: never received
  uint64_t sent_before = 0;  // bytes on the wire that were sent earlier in the same flow and direction
  uint32_t flow = 0;         // number of the connection
  bool from_server = false;  // true for the direction that acknowledges data
  bool udp = false, syn = false, fin = false, has_ack = false;
  uint32_t seq = 0, ack = 0;
  uint32_t payload_bytes = 0;
  uint32_t wire_bytes = 0;  // length of the Ethernet frame without the frame check sequence, as in captures
};

// A copy that the collector received from the mirror port.
struct Copy {
  int64_t time_ns = 0;  // time of the last bit at the collector
  uint32_t packet = 0;  // index in Observation::sent
};

// Everything that an experiment observed. The senders' part is the ground truth; estimates are made only from the
// copies, and compared with the truth.
struct Observation {
  std::vector<SentPacket> sent;  // in order of sent_ns
  std::vector<Copy> copies;      // in order of time_ns
  uint32_t flows = 0;
  int64_t first_drop_ns = -1;  // time of the first dropped copy
  uint64_t mirrored = 0, mirrored_dropped = 0;
  uint64_t forwarded = 0, forwarded_dropped = 0;  // numbers of original packets
};

}  // namespace tapline::mirroring
