#include "multilog/node/header_row.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tapline::multilog {
namespace {

// As in the row, before the frame. Its order is that of kFields.
struct [[gnu::packed]] Fixed {
  uint64_t time;
  uint64_t flow;
  uint32_t src_ip, dst_ip;
  uint8_t src_ip6[16], dst_ip6[16];
  uint16_t src_port, dst_port;
  uint8_t protocol, ttl, tos;
  uint16_t ip_id;
  uint8_t tcp_flags;
  uint32_t seq, ack;
  uint16_t window;
  uint32_t bytes, payload_bytes;
  uint16_t vlan;
  uint32_t network_id;
  uint8_t link;
  uint8_t frame_bytes;
};

// Presence bits, in the order of the optional fields.
enum Optional : uint32_t {
  kV4 = 0b11,
  kV6 = 0b1100,
  kIpId = 1 << 4,
  kTcp = 0b1111 << 5,
  kVlan = 1 << 9,
  kNetwork = 1 << 10
};
constexpr uint32_t kPresenceBytes = 2;

std::vector<FieldSpec> Fields(uint32_t frame_bytes) {
  std::vector<FieldSpec> fields = {
      {.name = "time", .type = FieldType::kTime},
      {.name = "flow", .type = FieldType::kU64},
      {.name = "src_ip", .type = FieldType::kIpv4, .optional = true},
      {.name = "dst_ip", .type = FieldType::kIpv4, .optional = true},
      {.name = "src_ip6", .type = FieldType::kIpv6, .optional = true},
      {.name = "dst_ip6", .type = FieldType::kIpv6, .optional = true},
      {.name = "src_port", .type = FieldType::kU16},
      {.name = "dst_port", .type = FieldType::kU16},
      {.name = "protocol", .type = FieldType::kU8},
      {.name = "ttl", .type = FieldType::kU8},
      {.name = "tos", .type = FieldType::kU8},
      {.name = "ip_id", .type = FieldType::kU16, .optional = true},
      {.name = "tcp_flags", .type = FieldType::kU8, .optional = true},
      {.name = "seq", .type = FieldType::kU32, .optional = true},
      {.name = "ack", .type = FieldType::kU32, .optional = true},
      {.name = "window", .type = FieldType::kU16, .optional = true},
      {.name = "bytes", .type = FieldType::kU32},
      {.name = "payload_bytes", .type = FieldType::kU32},
      {.name = "vlan", .type = FieldType::kU16, .optional = true},
      {.name = "network_id", .type = FieldType::kU32, .optional = true},
      {.name = "link", .type = FieldType::kU8},
      {.name = "frame_bytes", .type = FieldType::kU8},
  };
  if (frame_bytes > 0) fields.push_back({.name = "frame", .type = FieldType::kBytes, .bytes = frame_bytes});
  return fields;
}

Schema SchemaOf(uint32_t frame_bytes) { return *Schema::Make(Fields(frame_bytes)); }

void WriteAddresses(const Packet& packet, Fixed* row, uint32_t* present) {
  if (packet.ip_version == 4) {
    const auto host_order = [](const IpAddress& address) {
      uint32_t word;
      std::memcpy(&word, address.mapped().data() + 12, sizeof word);
      return __builtin_bswap32(word);
    };
    row->src_ip = host_order(packet.src_ip);
    row->dst_ip = host_order(packet.dst_ip);
    *present |= kV4;
    return;
  }
  std::memcpy(row->src_ip6, packet.src_ip.mapped().data(), sizeof row->src_ip6);
  std::memcpy(row->dst_ip6, packet.dst_ip.mapped().data(), sizeof row->dst_ip6);
  *present |= kV6;
}

// REQUIRES: decode() said kOk, so that the whole IP header was captured.
void WriteIp(const Packet& packet, Fixed* row, uint32_t* present) {
  const uint8_t* ip = packet.data + packet.ip_offset;
  if (packet.ip_version == 4) {
    row->tos = ip[1];
    row->ip_id = static_cast<uint16_t>(ip[4] << 8 | ip[5]);
    row->ttl = ip[8];
    *present |= kIpId;
  } else {
    row->tos = static_cast<uint8_t>((ip[0] & 0xf) << 4 | ip[1] >> 4);
    row->ttl = ip[7];
  }
}

}  // namespace

HeaderLayout::HeaderLayout(uint32_t frame_bytes)
    : frame_bytes_(std::min(frame_bytes, kMostFrameBytes)), schema_(SchemaOf(frame_bytes_)) {
  static_assert(sizeof(Fixed) == 92);
}

void HeaderLayout::Write(const RawPacket& raw, const Packet& packet, uint8_t* to) const {
  Fixed row = {};
  uint32_t present = 0;
  row.time = static_cast<uint64_t>(packet.time_ns);
  row.flow = packet.flow_hash;
  WriteAddresses(packet, &row, &present);
  WriteIp(packet, &row, &present);
  row.src_port = packet.src_port;
  row.dst_port = packet.dst_port;
  row.protocol = packet.protocol;
  if (packet.is_tcp()) {
    row.tcp_flags = packet.tcp_flags;
    row.seq = packet.tcp_seq;
    row.ack = packet.tcp_ack;
    row.window = packet.tcp_window;
    present |= kTcp;
  }
  row.bytes = raw.wire_bytes;
  row.payload_bytes = packet.payload_bytes;
  if (packet.vlan_tags > 0) {
    row.vlan = packet.vlan[0];
    present |= kVlan;
  }
  if (packet.network_id != 0) {
    row.network_id = packet.network_id;
    present |= kNetwork;
  }
  row.link = static_cast<uint8_t>(raw.link);
  row.frame_bytes = static_cast<uint8_t>(std::min(raw.captured_bytes, frame_bytes_));
  std::memcpy(to, &row, sizeof row);
  std::memcpy(to + sizeof row, raw.data, row.frame_bytes);
  std::memset(to + sizeof row + row.frame_bytes, 0, frame_bytes_ - row.frame_bytes);
  const auto bits = static_cast<uint16_t>(present);
  std::memcpy(to + sizeof row + frame_bytes_, &bits, kPresenceBytes);
}

std::span<const uint8_t> HeaderLayout::FrameOf(const uint8_t* row) const {
  const uint32_t bytes = row[offsetof(Fixed, frame_bytes)];
  return {row + sizeof(Fixed), std::min(bytes, frame_bytes_)};
}
uint32_t HeaderLayout::WireBytesOf(const uint8_t* row) const { return LoadAs<uint32_t>(row + offsetof(Fixed, bytes)); }
LinkType HeaderLayout::LinkOf(const uint8_t* row) const { return static_cast<LinkType>(row[offsetof(Fixed, link)]); }

}  // namespace tapline::multilog
