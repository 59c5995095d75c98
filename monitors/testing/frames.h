// Builds Ethernet frames field by field, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet_io/testing/capture_bytes.h"
#include "parsers/api/packet.h"

namespace tapline {

struct TcpSegment {
  uint32_t src_ip = 0x0a000001;
  uint16_t src_port = 40000;
  uint32_t dst_ip = 0x0a000002;
  uint16_t dst_port = 80;
  uint8_t flags = tcp_flag::kAck;
  uint32_t seq = 1;
  uint32_t ack = 1;
  std::string payload = {};

  TcpSegment reply(uint8_t reply_flags) const {
    return {dst_ip, dst_port, src_ip, src_port, reply_flags, ack, seq + 1, {}};
  }
};

inline ByteWriter ethernet_header(uint16_t type) {
  ByteWriter out(std::endian::big);
  out.raw({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}).u16(type);
  return out;
}

inline Bytes tcp_frame(const TcpSegment& segment, uint16_t fragment_offset = 0) {
  ByteWriter out = ethernet_header(0x0800);
  out.u8(0x45).u8(0).u16(static_cast<uint16_t>(40 + segment.payload.size()));
  out.u16(1).u16(fragment_offset).u8(64).u8(protocol::kTcp).u16(0).u32(segment.src_ip).u32(segment.dst_ip);
  out.u16(segment.src_port).u16(segment.dst_port).u32(segment.seq).u32(segment.ack);
  out.u8(0x50).u8(segment.flags).u16(1000).u16(0).u16(0);
  return out.raw(Bytes(segment.payload.begin(), segment.payload.end())).bytes();
}

inline Bytes arp_frame() { return ethernet_header(0x0806).raw(Bytes(28)).bytes(); }

}  // namespace tapline
