#pragma once

#include <cstdint>
#include <string>

#include "parsers/api/address.h"

namespace tapline {

// Appends a flow in the direction of a packet: "10.0.0.1:40000-10.0.0.2:80/tcp", "[2001:db8::1]:0-[2001:db8::2]:0/58".
void append_flow(const IpAddress& src_ip, uint16_t src_port, const IpAddress& dst_ip, uint16_t dst_port,
                 uint8_t protocol, std::string* text);
// Does the same without the protocol: "10.0.0.1:40000-10.0.0.2:80".
void append_flow(const IpAddress& src_ip, uint16_t src_port, const IpAddress& dst_ip, uint16_t dst_port,
                 std::string* text);

}  // namespace tapline
