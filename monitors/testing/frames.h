// Ethernet frames written field by field, for tests.
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

  TcpSegment Reply(uint8_t reply_flags) const {
    return {dst_ip, dst_port, src_ip, src_port, reply_flags, ack, seq + 1, {}};
  }
};

inline ByteWriter EthernetHeader(uint16_t type) {
  ByteWriter out(std::endian::big);
  out.Raw({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}).U16(type);
  return out;
}

inline Bytes TcpFrame(const TcpSegment& segment, uint16_t fragment_offset = 0) {
  ByteWriter out = EthernetHeader(0x0800);
  out.U8(0x45).U8(0).U16(static_cast<uint16_t>(40 + segment.payload.size()));
  out.U16(1).U16(fragment_offset).U8(64).U8(protocol::kTcp).U16(0).U32(segment.src_ip).U32(segment.dst_ip);
  out.U16(segment.src_port).U16(segment.dst_port).U32(segment.seq).U32(segment.ack);
  out.U8(0x50).U8(segment.flags).U16(1000).U16(0).U16(0);
  return out.Raw(Bytes(segment.payload.begin(), segment.payload.end())).bytes();
}

inline Bytes ArpFrame() { return EthernetHeader(0x0806).Raw(Bytes(28)).bytes(); }

}  // namespace tapline
