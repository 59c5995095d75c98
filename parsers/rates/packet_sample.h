#pragma once

#include <algorithm>
#include <cstdint>

#include "parsers/api/packet.h"
#include "parsers/rates/sequence_tracker.h"

namespace tapline::rates {

// REQUIRES: packet.is_tcp().
inline TcpSample sample_of(const Packet& packet) {
  TcpSample sample;
  sample.time_ns = packet.time_ns;
  sample.seq = packet.tcp_seq;
  sample.payload_bytes = packet.payload_bytes;
  sample.wire_bytes = std::max(packet.wire_bytes, packet.payload_bytes);
  sample.syn = packet.has_tcp_flag(tcp_flag::kSyn);
  sample.fin = packet.has_tcp_flag(tcp_flag::kFin);
  return sample;
}

struct EthernetAddresses {
  uint64_t destination = 0;  // 48 bits, the first byte on top
  uint64_t source = 0;
};

// Reads the addresses of the frame, which are those that switches forward by. Returns false if the packet was not
// captured with an Ethernet header, or has other headers before IP (MPLS, tunnels) than VLAN tags: no parser is told
// the link type, but the place of the IP header shows it.
inline bool read_ethernet(const Packet& packet, EthernetAddresses* addresses) {
  constexpr uint32_t kHeaderBytes = 14, kTagBytes = 4;
  if (packet.ip_offset != kHeaderBytes + kTagBytes * packet.vlan_tags) return false;
  const auto read = [&](uint32_t at) {
    uint64_t address = 0;
    for (uint32_t i = at; i < at + 6; ++i) address = address << 8 | packet.data[i];
    return address;
  };
  addresses->destination = read(0);
  addresses->source = read(6);
  return true;
}

}  // namespace tapline::rates
