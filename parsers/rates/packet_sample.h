#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "parsers/api/connection.h"
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

// Returns true if the packet acknowledges a number that its receiver sent. The number in a RST may be unrelated.
inline bool acknowledges(const Packet& packet) {
  return (packet.tcp_flags & (tcp_flag::kAck | tcp_flag::kRst)) == tcp_flag::kAck;
}

// Returns a flow's key in a FlowTable, which differs from tap to tap.
inline uint64_t table_key(uint64_t flow_hash, uint8_t tap) { return flow_hash ^ tap * 0xbf58476d1ce4e5b9; }

// Prefetches the FlowTable entries of a burst's TCP flows.
template <typename Table>
void prefetch_flows(std::span<const Packet> burst, const Table& flows) {
  for (const Packet& packet : burst) {
    if (packet.is_tcp()) flows.prefetch_bucket(table_key(packet.flow_hash, packet.tap));
  }
  for (const Packet& packet : burst) {
    if (packet.is_tcp()) flows.prefetch_entry(table_key(packet.flow_hash, packet.tap));
  }
}

// Returns which side of its flow sent the packet, 0 or 1; all packets of one direction have the same side.
inline Side side_of(const Packet& packet) {
  const auto order = packet.src_ip <=> packet.dst_ip;
  return order == 0 ? packet.src_port < packet.dst_port : order < 0;
}

}  // namespace tapline::rates
