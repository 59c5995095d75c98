#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/packet.h"

namespace tapline::testing {

using Bytes = std::vector<uint8_t>;

// A captured frame that owns its bytes.
struct Frame {
  Bytes bytes;
  int64_t time_ns = 0;
  uint32_t wire_bytes = 0;  // 0: the number of captured bytes
  LinkType link = LinkType::kEthernet;
  uint8_t tap = 0;

  RawPacket raw() const;
};

// Parses "10.0.0.1" or "2001:db8::1". Aborts on any other text.
IpAddress address(const std::string& text);
std::string to_string(const IpAddress& address);

struct TcpSpec {
  std::string src = "10.0.0.1";
  std::string dst = "10.0.0.2";
  uint16_t src_port = 40000;
  uint16_t dst_port = 80;
  uint32_t seq = 0;
  uint32_t ack = 0;
  uint8_t flags = 0;
  std::string_view payload = {};
  std::vector<uint16_t> vlans = {};
};

// These functions build packets from the inside out: each adds a header to its payload. Lengths are correct, and
// checksums are zero.
Bytes tcp_segment(const TcpSpec& spec);
Bytes udp_datagram(uint16_t src_port, uint16_t dst_port, std::string_view payload);
Bytes ip_v4(const std::string& src, const std::string& dst, uint8_t protocol, const Bytes& payload);
// Sets the correct checksum in an IPv4 datagram's header.
Bytes with_checksum(Bytes ip);
Bytes ip_v6(const std::string& src, const std::string& dst, uint8_t next_header, const Bytes& payload);
Bytes ethernet(uint16_t type, const Bytes& payload, const std::vector<uint16_t>& vlans = {});

struct UdpSpec {
  std::string src = "10.0.0.1";
  std::string dst = "10.0.0.2";
  uint16_t src_port = 40000;
  uint16_t dst_port = 53;
  std::string_view payload = {};
  std::vector<uint16_t> vlans = {};
};

// Makes an Ethernet frame around the segment or datagram, with IPv4 or IPv6 according to the addresses.
Frame tcp_frame(const TcpSpec& spec, int64_t time_ns);
Frame udp_frame(const UdpSpec& spec, int64_t time_ns);
// Makes an Ethernet frame around an ICMP or, between IPv6 addresses, ICMPv6 message, which begins with its type.
Frame icmp_frame(const std::string& src, const std::string& dst, std::string_view message, int64_t time_ns);

}  // namespace tapline::testing
