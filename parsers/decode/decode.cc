#include <bit>
#include <cstring>

#include "parsers/api/bytes.h"
#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"
#include "parsers/decode/decoder.h"

namespace tapline {
namespace {

uint16_t load_16(const uint8_t* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, 2);
  return value;
}
// Returns the value that load_16() reads if this number is stored in network byte order.
constexpr uint16_t in_network_order(uint16_t value) {
  return std::endian::native == std::endian::big ? value : static_cast<uint16_t>(value << 8 | value >> 8);
}

void start(const RawPacket& raw, Packet* packet) {
  *packet = Packet{};
  packet->data = raw.data;
  packet->time_ns = raw.time_ns;
  packet->captured_bytes = raw.captured_bytes;
  packet->wire_bytes = raw.wire_bytes;
  packet->tap = raw.tap;
  packet->polled_time = raw.polled_time;
}

[[gnu::noinline]] DecodeOutcome decode_any(const RawPacket& raw, Packet* packet) {
  start(raw, packet);
  return Decoder(raw, packet).frame();
}

struct PlainHeaders {
  const uint8_t* ip;
  const uint8_t* transport;
  uint32_t ip_offset;
  uint32_t total_bytes;      // from the IP header
  uint32_t transport_bytes;  // length of the transport header
  uint16_t vlan;
  uint8_t vlan_tags;
};

// Writes every field except flow_hash.
[[gnu::always_inline]] inline void fill(const RawPacket& raw, const PlainHeaders& headers, Packet* packet) {
  const bool is_tcp = headers.ip[9] == protocol::kTcp;
  packet->data = raw.data;
  packet->time_ns = raw.time_ns;
  packet->queries = 0;
  packet->connection = nullptr;
  packet->buffer = nullptr;
  packet->src_ip = IpAddress::v4(headers.ip + 12);
  packet->dst_ip = IpAddress::v4(headers.ip + 16);
  packet->src_port = big_endian_16(headers.transport);
  packet->dst_port = big_endian_16(headers.transport + 2);
  packet->protocol = headers.ip[9];
  packet->ip_version = 4;
  packet->vlan_tags = headers.vlan_tags;
  packet->tcp_flags = is_tcp ? headers.transport[13] : 0;
  packet->vlan[0] = headers.vlan;
  packet->vlan[1] = 0;
  packet->tcp_window = is_tcp ? big_endian_16(headers.transport + 14) : 0;
  packet->tap = raw.tap;
  packet->polled_time = raw.polled_time;
  packet->repeated_view = false;
  packet->fragment = false;
  packet->reassembled = false;
  packet->network_id = 0;
  packet->tcp_seq = is_tcp ? big_endian_32(headers.transport + 4) : 0;
  packet->tcp_ack = is_tcp ? big_endian_32(headers.transport + 8) : 0;
  packet->captured_bytes = raw.captured_bytes;
  packet->wire_bytes = raw.wire_bytes;
  packet->ip_offset = headers.ip_offset;
  packet->transport_offset = headers.ip_offset + 20;
  packet->payload_offset = headers.ip_offset + 20 + headers.transport_bytes;
  packet->payload_captured_bytes = headers.total_bytes - 20 - headers.transport_bytes;
  packet->payload_bytes = packet->payload_captured_bytes;
  packet->telemetry_offset = 0;
  packet->telemetry_bytes = 0;
  packet->to_side = ToSide::kUnknown;
  packet->direction = Direction::kFromClient;
  packet->tcp_events = 0;
  packet->ethernet_offset = 0;
}

// Fast path: decodes a whole Ethernet frame with at most one 802.1Q tag, unfragmented IPv4 without options, and TCP or
// non-tunnel UDP. Returns false for any other frame, malformed or merely less common; Decoder then decodes it.
[[gnu::always_inline]] inline bool decode_plain(const RawPacket& raw, Packet* packet) {
  constexpr uint32_t kMinBytes = 18 + 20 + 8;
  if (raw.link != LinkType::kEthernet || raw.captured_bytes < kMinBytes) return false;
  PlainHeaders headers;
  headers.ip = raw.data + 14;
  headers.ip_offset = 14;
  headers.vlan = 0;
  headers.vlan_tags = 0;
  uint16_t type = load_16(raw.data + 12);
  if (type == in_network_order(ether_type::kVlan)) {
    headers.vlan = big_endian_16(raw.data + 14) & 0x0fff;
    headers.vlan_tags = 1;
    headers.ip_offset = 18;
    headers.ip = raw.data + 18;
    type = load_16(raw.data + 16);
  }
  if (type != in_network_order(ether_type::kIpV4) || headers.ip[0] != 0x45) return false;
  if ((load_16(headers.ip + 6) & in_network_order(0x3fff)) != 0) return false;
  headers.total_bytes = big_endian_16(headers.ip + 2);
  headers.transport = headers.ip + 20;
  if (headers.ip_offset + headers.total_bytes > raw.captured_bytes) return false;
  if (headers.ip[9] == protocol::kTcp) {
    if (headers.total_bytes < 40) return false;
    headers.transport_bytes = (headers.transport[12] >> 4) * 4u;
    if (headers.transport_bytes < 20 || 20 + headers.transport_bytes > headers.total_bytes) return false;
  } else {
    if (headers.ip[9] != protocol::kUdp || headers.total_bytes < 28) return false;
    headers.transport_bytes = 8;
    const uint32_t length = big_endian_16(headers.transport + 4);
    const bool may_be_ip_v6 = length >= 48 && headers.transport[8] >> 4 == 6;
    if (length + 20 != headers.total_bytes || may_be_ip_v6) return false;
    if (may_be_udp_tunnel(big_endian_16(headers.transport), big_endian_16(headers.transport + 2))) return false;
  }
  fill(raw, headers, packet);
  return true;
}

}  // namespace

DecodeOutcome decode(const RawPacket& raw, Packet* packet) {
  if (decode_plain(raw, packet)) [[likely]]
    return DecodeOutcome::kOk;
  return decode_any(raw, packet);
}

DecodeOutcome decode(const RawPacket& raw, const FlowHasher& hasher, Packet* packet) {
  const DecodeOutcome outcome = decode(raw, packet);
  if (outcome == DecodeOutcome::kOk) packet->flow_hash = hash_flow(hasher, *packet);
  return outcome;
}

DecodeOutcome decode(const Datagram& datagram, const FlowHasher& hasher, Packet* packet) {
  start(datagram.raw, packet);
  packet->vlan_tags = datagram.vlan_tags;
  packet->vlan[0] = datagram.vlan[0];
  packet->vlan[1] = datagram.vlan[1];
  packet->network_id = datagram.network_id;
  packet->reassembled = true;
  const DecodeOutcome outcome = Decoder(datagram.raw, packet).datagram();
  if (outcome == DecodeOutcome::kOk) packet->flow_hash = hash_flow(hasher, *packet);
  return outcome;
}

uint64_t hash_flow(const FlowHasher& hasher, const Packet& packet) {
  return hasher.hash({.src_ip = packet.src_ip,
                      .dst_ip = packet.dst_ip,
                      .src_port = packet.src_port,
                      .dst_port = packet.dst_port,
                      .protocol = packet.protocol,
                      .vlan = packet.vlan_key(),
                      .network_id = packet.network_id});
}

}  // namespace tapline
