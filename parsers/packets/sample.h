#pragma once

#include <cstdint>
#include <cstring>

#include "parsers/api/packet.h"

namespace tapline {

// One packet as counters see it, without its bytes, in one cache line.
//
// The 48 bytes after time_ns are its key, so that ANDing six words with a mask yields the packet's group (GroupBy).
struct alignas(64) Sample {
  int64_t time_ns = 0;
  IpAddress src_ip;
  IpAddress dst_ip;
  uint16_t src_port = 0;  // host order; 0 if the protocol has no ports
  uint16_t dst_port = 0;
  uint8_t protocol = 0;
  uint8_t tcp_flags = 0;
  uint8_t ip_version = 0;  // 4 or 6
  // 1, or 0 for a correction, which only adds its TcpFacts to the counts of its key.
  uint8_t packets = 1;
  uint32_t vlan = 0;  // as in FlowKey
  uint32_t network_id = 0;
  uint32_t bytes = 0;  // on the wire
  uint32_t payload_bytes = 0;
};
static_assert(sizeof(Sample) == 64, "one cache line");

inline constexpr int kKeyWords = 6;

// REQUIRES: decode() returned kOk.
Sample sample_of(const Packet& packet);

// The sequence numbers of a TCP segment, which TcpFlows needs in addition to its Sample.
struct TcpNumbers {
  uint32_t seq = 0;
  uint32_t ack = 0;
};

// Reads the most common kind of packet without decode(): an untruncated Ethernet frame with TCP over IPv4, without
// tags, IP options or fragmentation. For any other packet, returns false and sets nothing.
inline bool read_plain(const RawPacket& raw, Sample* sample, TcpNumbers* numbers) {
  constexpr uint32_t kIpAt = 14, kIpBytes = 20, kTcpBytes = 20;
  if (raw.link != LinkType::kEthernet || raw.captured_bytes < kIpAt + kIpBytes + kTcpBytes) return false;
  const auto load = [](const uint8_t* source, auto word) {
    std::memcpy(&word, source, sizeof word);
    return word;
  };
  const uint8_t* ip = raw.data + kIpAt;
  const uint8_t* tcp = ip + kIpBytes;
  if (load(ip - 2, uint16_t{}) != 0x0008 || ip[0] != 0x45 || ip[9] != protocol::kTcp) return false;
  if ((load(ip + 6, uint16_t{}) & 0xff3f) != 0) return false;  // more fragments, or an offset
  const uint32_t ip_bytes = __builtin_bswap16(load(ip + 2, uint16_t{}));
  const uint32_t tcp_bytes = (tcp[12] >> 4) * 4u;
  if (tcp_bytes < kTcpBytes || ip_bytes < kIpBytes + tcp_bytes || kIpAt + ip_bytes > raw.captured_bytes) return false;
  const uint32_t ports = load(tcp, uint32_t{});
  sample->time_ns = raw.time_ns;
  sample->src_ip = IpAddress::v4(ip + 12);
  sample->dst_ip = IpAddress::v4(ip + 16);
  sample->src_port = __builtin_bswap16(static_cast<uint16_t>(ports));
  sample->dst_port = __builtin_bswap16(static_cast<uint16_t>(ports >> 16));
  sample->protocol = protocol::kTcp;
  sample->tcp_flags = tcp[13];
  sample->ip_version = 4;
  sample->packets = 1;
  sample->vlan = 0;
  sample->network_id = 0;
  sample->bytes = raw.wire_bytes;
  sample->payload_bytes = ip_bytes - kIpBytes - tcp_bytes;
  numbers->seq = __builtin_bswap32(load(tcp + 4, uint32_t{}));
  numbers->ack = __builtin_bswap32(load(tcp + 8, uint32_t{}));
  return true;
}

}  // namespace tapline
