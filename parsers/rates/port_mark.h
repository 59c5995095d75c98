#pragma once

#include <cstdint>

#include "parsers/api/packet.h"

namespace tapline::rates {

// The ports by which a packet entered its switch and left it, as the switch marked the copy: the destination address is
// then 02:7a:92, 12 bits for the port of entry and 12 bits for the other one (CopyMark in network/). 0: unknown. Copies
// of segments that open or end connections may take a separate queue: their address begins with 02:7a:93.
struct MarkedPorts {
  uint16_t in = 0;
  uint16_t out = 0;
  bool marked = false;
};

// No other header begins like a mark: a version of IP, an address family or a packet type is in its first two bytes.
inline MarkedPorts ports_of(const Packet& packet) {
  const uint8_t* address = packet.data;
  if (packet.captured_bytes < 6 || address[0] != 0x02 || address[1] != 0x7a || (address[2] & 0xfe) != 0x92) [[likely]]
    return {};
  return {.in = static_cast<uint16_t>(address[3] << 4 | address[4] >> 4),
          .out = static_cast<uint16_t>((address[4] & 0x0f) << 8 | address[5]),
          .marked = true};
}

}  // namespace tapline::rates
