#pragma once

#include <cstdint>

#include "parsers/api/packet.h"

namespace tapline::rates {

// The port by which a packet left its switch.
struct CopyPort {
  uint16_t number = 0;           // 0: unknown
  bool separates_ports = false;  // true: each port of the tap has its own load; false: they share one
};

// Returns true if the switch marked the copy with its packet's ports: the destination address is then 02:7a:92, 12 bits
// for the input port and 12 bits for the output port (CopyMark in network/). Headers of other link types never begin
// like a mark: their first two bytes contain an IP version, an address family or a packet type. Copies of segments that
// open or end connections may take a separate queue: their address begins with 02:7a:93.
inline bool is_marked(const Packet& packet) {
  const uint8_t* address = packet.data;
  return packet.captured_bytes >= 6 && address[0] == 0x02 && address[1] == 0x7a && (address[2] & 0xfe) == 0x92;
}

// Returns the output port according to the mark.
inline CopyPort marked_port_of(const Packet& packet) {
  if (!is_marked(packet)) [[likely]]
    return {};
  return {.number = static_cast<uint16_t>((packet.data[4] & 0x0f) << 8 | packet.data[5]), .separates_ports = true};
}

// Returns the input port according to the mark, or 0 if it is unknown. REQUIRES: is_marked(packet).
inline uint16_t marked_input_port_of(const Packet& packet) {
  return static_cast<uint16_t>(packet.data[3] << 4 | packet.data[4] >> 4);
}

}  // namespace tapline::rates
