#pragma once

#include <cstdint>
#include <cstring>

#include "parsers/api/packet.h"

namespace tapline {

// The most common kind of packet on most links: an unfragmented TCP packet over IPv4 without options, in Ethernet
// without tags. It is read without decode(), which has to handle any packet. Packets that are not plain go to decode().
struct PlainSegment {
  uint32_t src_ip, dst_ip;      // in memory order
  uint16_t src_port, dst_port;  // host order
  uint32_t seq_end;             // sequence number after the payload
  bool is_control;              // SYN, FIN or RST
  bool is_syn;                  // SYN without ACK, FIN, RST and payload
  bool is_whole;                // captured completely

  // Returns false, and leaves *segment unchanged, if the packet is not plain.
  static bool read(const RawPacket& raw, PlainSegment* segment) {
    if (raw.link != LinkType::kEthernet || raw.captured_bytes < kMinBytes) return false;
    const uint8_t* ip = raw.data + kIpAt;
    const uint8_t* tcp = ip + kIpBytes;
    if (load<uint16_t>(raw.data + kIpAt - 2) != 0x0008 || ip[0] != 0x45 || ip[9] != protocol::kTcp) return false;
    // Fragments have a non-zero offset or the more-fragments flag.
    if ((load<uint16_t>(ip + 6) & 0xff3f) != 0) return false;
    const uint32_t ip_bytes = __builtin_bswap16(load<uint16_t>(ip + 2));
    const uint32_t header_bytes = kIpBytes + (tcp[12] >> 4) * 4u;
    if (header_bytes < kIpBytes + 20 || ip_bytes < header_bytes) return false;
    segment->src_ip = load<uint32_t>(ip + 12);
    segment->dst_ip = load<uint32_t>(ip + 16);
    segment->src_port = __builtin_bswap16(load<uint16_t>(tcp));
    segment->dst_port = __builtin_bswap16(load<uint16_t>(tcp + 2));
    segment->seq_end = __builtin_bswap32(load<uint32_t>(tcp + 4)) + ip_bytes - header_bytes;
    segment->is_whole = kIpAt + ip_bytes <= raw.captured_bytes;
    constexpr uint8_t kControl = tcp_flag::kSyn | tcp_flag::kFin | tcp_flag::kRst;
    segment->is_control = (tcp[13] & kControl) != 0;
    segment->is_syn = (tcp[13] & (kControl | tcp_flag::kAck)) == tcp_flag::kSyn && ip_bytes == header_bytes;
    return true;
  }

 private:
  static constexpr uint32_t kIpAt = 14, kIpBytes = 20, kMinBytes = 54;

  template <typename Word>
  static Word load(const uint8_t* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }
};

}  // namespace tapline
