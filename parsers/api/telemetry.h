// The metadata that switches wrote into a packet: the stack of INT-MD (P4 INT 2.1 §5.8), as
// docs/reference/in-band-telemetry.md draws it.
//
// Times are nanoseconds. A value that a switch could not provide, all ones in the packet, stays all ones, truncated to
// the field.
#pragma once

#include <array>
#include <cstdint>

#include "parsers/api/packet.h"

namespace tapline {

struct Hop {
  uint32_t switch_id = 0;
  uint32_t queue_depth = 0;  // in the switch's unit
  uint32_t latency_ns = 0;   // in the switch
  uint64_t time_ns = 0;      // time at which the packet left the switch, or entered it if only that is known
};

struct Telemetry {
  static constexpr uint32_t kMostHops = 8;

  uint32_t hops = 0;  // hops in the packet; `path` has the first kMostHops
  bool cut = false;   // hops are missing because a switch had no room for its metadata
  // The fields that the packet's instructions request.
  bool has_switch_id = false, has_queue_depth = false, has_latency = false, has_time = false;
  std::array<Hop, kMostHops> path;  // in path order
};

// Returns false if the packet carries no telemetry, or contradictory telemetry.
bool read_telemetry(const Packet& packet, Telemetry* telemetry);

}  // namespace tapline
