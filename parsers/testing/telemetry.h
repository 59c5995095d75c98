// Builds frames with in-band telemetry in the format of docs/reference/in-band-telemetry.md.
#pragma once

#include "parsers/api/telemetry.h"
#include "parsers/testing/frames.h"

namespace tapline::testing {

struct IntSpec {
  std::vector<Hop> hops;  // in path order
  // Switch ID, latency, queue, egress time; the ingress time is the egress time minus latency_ns.
  uint16_t instructions = 0xb400;
  uint8_t flags = 0;  // in the first byte: 4 hop limit exceeded, 2 MTU exceeded
};

// Writes the shim, the INT-MD header and the metadata stack.
Bytes telemetry(const IntSpec& spec, uint16_t next);
// Return a frame of Ethernet, VLAN tags, telemetry, and then a packet: IPv4 with TCP, or `packet` of this EtherType.
Frame telemetry_frame(const IntSpec& spec, const TcpSpec& tcp, int64_t time_ns);
Bytes with_telemetry(const IntSpec& spec, uint16_t type, const Bytes& packet, const std::vector<uint16_t>& vlans = {});

}  // namespace tapline::testing
