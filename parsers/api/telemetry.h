// The metadata that switches wrote into a packet: the INT-MD metadata stack (P4 INT 2.1 §5.8), as drawn in
// docs/reference/in-band-telemetry.md.
//
// Times are nanoseconds. A value that a switch could not provide is all ones, as in the packet, truncated to the field.
// Ports and queue IDs that the instructions do not request are also all ones.
#pragma once

#include <array>
#include <cstdint>

#include "parsers/api/packet.h"

namespace tapline {

struct Hop {
  static constexpr uint16_t kNoPort = UINT16_MAX;
  static constexpr uint8_t kNoQueue = UINT8_MAX;
  static constexpr uint32_t kNoLatency = UINT32_MAX;

  uint32_t switch_id = 0;
  uint16_t ingress_port = kNoPort;
  uint16_t egress_port = kNoPort;
  uint8_t queue_id = kNoQueue;
  uint32_t queue_depth = 0;  // in the switch's unit
  uint32_t latency_ns = 0;   // in the switch
  uint64_t time_ns = 0;      // time at which the packet left the switch or, if only that is known, entered it
};

struct Telemetry {
  static constexpr uint32_t kMaxHops = 8;

  uint32_t hops = 0;  // hops in the packet; `path` has the first kMaxHops
  bool cut = false;   // hops are missing because a switch had no room for its metadata
  // The fields that the packet's instructions request.
  bool has_switch_id = false, has_ports = false, has_queue_depth = false, has_latency = false, has_time = false;
  bool has_departure_time = false;  // Hop::time_ns is the time of departure
  std::array<Hop, kMaxHops> path;   // in path order
};

// Returns the size of the shim, the INT header and the hops' metadata; 0 if there is no telemetry.
inline uint32_t telemetry_wire_bytes(const Packet& packet) {
  constexpr uint32_t kShimBytes = 4;
  return packet.telemetry_bytes == 0 ? 0 : kShimBytes + packet.telemetry_bytes;
}

// Reads the packet's telemetry. Returns false if there is none, or if it is contradictory.
bool read_telemetry(const Packet& packet, Telemetry* telemetry);

}  // namespace tapline
