#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/api/address.h"

namespace tapline::icmp {

enum class Kind : uint8_t { kEchoRequest, kEchoReply, kError, kOther };

// The packet that an error concerns, as far as it is quoted.
struct Quoted {
  bool present = false;
  uint8_t protocol = 0;
  IpAddress src_ip, dst_ip;
  uint16_t src_port = 0, dst_port = 0;  // ports of TCP and UDP; 0 if they were not quoted
};

// One ICMP message (RFC 792, RFC 4443).
struct Message {
  Kind kind = Kind::kOther;
  uint8_t type = 0, code = 0;
  std::string_view name;          // "echo", "unreachable", …; "" for unnamed types
  std::string_view reason;        // set for errors: "port", "host", …; "" for unnamed codes
  uint16_t id = 0, sequence = 0;  // set for echoes
  uint32_t mtu = 0;               // MTU of the link for which the packet was too big
  Quoted quoted;                  // set for errors
};

// Reads a message that begins with its type. Returns false if there are too few bytes for a message.
bool read(std::span<const uint8_t> bytes, bool is_v6, Message* message);

}  // namespace tapline::icmp
