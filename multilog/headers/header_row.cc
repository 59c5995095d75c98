#include "multilog/headers/header_row.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "parsers/api/carried.h"

namespace tapline::multilog {
namespace {

// The part of a row before the frame, in the order of kFields.
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

// The presence bits, in the order of the optional fields.
enum Optional : uint32_t {
  kV4 = 0b11,
  kV6 = 0b1100,
  kIpId = 1 << 4,
  kTcp = 0b1111 << 5,
  kVlan = 1 << 9,
  kNetwork = 1 << 10,
  kPath = 1 << 11,
  kHopTime = 1 << 12,
  kLatency = 1 << 13,
  kQueue = 1 << 14,
  kHops = 0b11 << 15
};
// The first presence bit of a tap's fields, in rows without and with telemetry.
constexpr uint32_t kTapBit = 11;
constexpr uint32_t kTapBitAfterTelemetry = 17;

void add_telemetry(uint32_t hops, std::vector<FieldSpec>* fields) {
  const auto list = [&](const char* name, FieldType type) {
    fields->push_back({.name = name, .type = type, .elements = hops, .optional = true});
  };
  list("path", FieldType::kU32);
  list("hop_ns", FieldType::kU64);
  list("hop_latency_ns", FieldType::kU32);
  list("queue_depth", FieldType::kU32);
  fields->push_back({.name = "hops", .type = FieldType::kU8, .optional = true});
  fields->push_back({.name = "path_cut", .type = FieldType::kBool, .optional = true});
}

void add_tap_names(uint32_t side_bytes, std::vector<FieldSpec>* fields) {
  const auto text = [&](const char* name, uint32_t bytes) {
    fields->push_back({.name = name, .type = FieldType::kBytes, .bytes = bytes, .optional = true});
  };
  text("switch", Tap::kMaxNameBytes);
  text("port", Tap::kMaxNameBytes);
  text("side", side_bytes);
}

std::vector<FieldSpec> fields(uint32_t frame_bytes, uint32_t telemetry_hops, uint32_t side_bytes) {
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
  if (telemetry_hops > 0) add_telemetry(telemetry_hops, &fields);
  if (side_bytes > 0) add_tap_names(side_bytes, &fields);
  return fields;
}

void write_addresses(const Packet& packet, Fixed* row, uint32_t* present) {
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

// REQUIRES: decode() returned kOk or kFragment, so the whole IP header was captured.
void write_ip(const Packet& packet, Fixed* row, uint32_t* present) {
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

// Returns true if decode() found telemetry with a separate EtherType, directly before the IP header. It can then be cut
// out: its shim ends with the EtherType that follows.
bool has_telemetry_tag(const RawPacket& raw, const Packet& packet) {
  constexpr uint32_t kTypeAndShim = 6;
  if (packet.telemetry_bytes == 0 || packet.telemetry_offset < kTypeAndShim) return false;
  const uint8_t* type = raw.data + packet.telemetry_offset - kTypeAndShim;
  return type[0] == 0x88 && type[1] == 0xb5 && packet.ip_offset == packet.telemetry_offset + packet.telemetry_bytes;
}

// Returns the offset at which the bytes to keep end. A user who may see the row's addresses may also see these bytes,
// so they must not include an inner packet whose addresses are not in the row.
uint32_t end_of_frame(const RawPacket& raw, const Packet& packet) {
  return may_carry_packet(packet) ? packet.payload_offset : raw.captured_bytes;
}

// Copies the frame's first bytes without a telemetry header, so that other programs can parse them. Returns how many
// bytes were copied.
uint8_t copy_frame(const RawPacket& raw, const Packet& packet, uint32_t max_bytes, uint8_t* row) {
  const uint32_t end = end_of_frame(raw, packet);
  const auto copy = [&](uint32_t begin, uint32_t until, uint32_t target) {
    const uint32_t bytes = std::min(until - begin, max_bytes - target);
    std::memcpy(row + target, raw.data + begin, bytes);
    return target + bytes;
  };
  uint32_t bytes = 0;
  if (has_telemetry_tag(raw, packet)) {
    bytes = copy(0, packet.telemetry_offset - 6, 0);
    bytes = copy(packet.telemetry_offset - 2, packet.telemetry_offset, bytes);
    bytes = copy(packet.ip_offset, end, bytes);
  } else {
    bytes = copy(0, end, 0);
  }
  std::memset(row + bytes, 0, max_bytes - bytes);
  return static_cast<uint8_t>(bytes);
}

}  // namespace

HeaderLayout::HeaderLayout(uint32_t frame_bytes, uint32_t telemetry_hops, bool tap_names, std::span<const Tap> taps)
    : frame_bytes_(std::min(frame_bytes, kMaxFrameBytes)),
      telemetry_hops_(std::min(telemetry_hops, kMaxHops)),
      tap_names_(tap_names),
      schema_(*Schema::make(fields(frame_bytes_, telemetry_hops_, tap_names ? TapFields::kSideBytes : 0))) {
  static_assert(sizeof(Fixed) == 92);
  for (const Tap& tap : taps) taps_.push_back(fields_of(tap, telemetry_hops_ > 0 ? kTapBitAfterTelemetry : kTapBit));
}

HeaderLayout::TapFields HeaderLayout::fields_of(const Tap& tap, uint32_t first_bit) {
  TapFields fields;
  uint32_t offset = 0;
  const auto write = [&](std::string_view text, uint32_t room) {
    std::memcpy(fields.bytes.data() + offset, text.data(), std::min<size_t>(text.size(), room));
    fields.present |= (text.empty() ? 0u : 1u) << first_bit++;
    offset += room;
  };
  write(tap.switch_name, Tap::kMaxNameBytes);
  write(tap.port, Tap::kMaxNameBytes);
  write(name_of(tap.side), TapFields::kSideBytes);
  return fields;
}

uint32_t HeaderLayout::write_tap(uint8_t tap, uint8_t* row) const {
  static constexpr TapFields kUnknown;
  const TapFields& fields = tap < taps_.size() ? taps_[tap] : kUnknown;
  std::memcpy(row, fields.bytes.data(), fields.bytes.size());
  return fields.present;
}

void HeaderLayout::write(const RawPacket& raw, const Packet& packet, uint8_t* target) const {
  Fixed row = {};
  uint32_t present = 0;
  row.time = static_cast<uint64_t>(packet.time_ns);
  row.flow = packet.flow_hash;
  write_addresses(packet, &row, &present);
  write_ip(packet, &row, &present);
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
  row.frame_bytes = copy_frame(raw, packet, frame_bytes_, target + sizeof row);
  std::memcpy(target, &row, sizeof row);
  uint8_t* telemetry_end = target + sizeof row + frame_bytes_;
  if (telemetry_hops_ > 0) present |= write_telemetry(packet, telemetry_end);
  telemetry_end += telemetry_bytes();
  if (tap_names_) {
    present |= write_tap(raw.tap, telemetry_end);
    telemetry_end += sizeof TapFields::bytes;
  }
  std::memcpy(telemetry_end, &present, telemetry_hops_ > 0 ? 3 : 2);
}

uint32_t HeaderLayout::telemetry_bytes() const { return telemetry_hops_ == 0 ? 0 : 20 * telemetry_hops_ + 2; }

uint32_t HeaderLayout::write_telemetry(const Packet& packet, uint8_t* row) const {
  std::memset(row, 0, telemetry_bytes());
  Telemetry telemetry;
  if (!read_telemetry(packet, &telemetry)) return 0;
  uint8_t* hop_ns = row + 4 * telemetry_hops_;
  uint8_t* latency = hop_ns + 8 * telemetry_hops_;
  uint8_t* queue_depth = latency + 4 * telemetry_hops_;
  for (uint32_t i = 0; i < std::min(telemetry.hops, telemetry_hops_); ++i) {
    const Hop& hop = telemetry.path[i];
    std::memcpy(row + 4 * i, &hop.switch_id, 4);
    std::memcpy(hop_ns + 8 * i, &hop.time_ns, 8);
    std::memcpy(latency + 4 * i, &hop.latency_ns, 4);
    std::memcpy(queue_depth + 4 * i, &hop.queue_depth, 4);
  }
  uint8_t* hops = queue_depth + 4 * telemetry_hops_;
  hops[0] = static_cast<uint8_t>(telemetry.hops);
  hops[1] = telemetry.cut || telemetry.hops > telemetry_hops_;
  return (telemetry.has_switch_id ? kPath : 0u) | (telemetry.has_time ? kHopTime : 0u) |
         (telemetry.has_latency ? kLatency : 0u) | (telemetry.has_queue_depth ? kQueue : 0u) | kHops;
}

std::span<const uint8_t> HeaderLayout::frame_of(const uint8_t* row) const {
  const uint32_t bytes = row[offsetof(Fixed, frame_bytes)];
  return {row + sizeof(Fixed), std::min(bytes, frame_bytes_)};
}
uint32_t HeaderLayout::wire_bytes_of(const uint8_t* row) const {
  return load_as<uint32_t>(row + offsetof(Fixed, bytes));
}
LinkType HeaderLayout::link_of(const uint8_t* row) const { return static_cast<LinkType>(row[offsetof(Fixed, link)]); }

std::span<const uint8_t> HeaderLayout::tap_bytes_of(const uint8_t* row) const {
  if (!tap_names_) return {};
  return {row + sizeof(Fixed) + frame_bytes_ + telemetry_bytes(), sizeof TapFields::bytes};
}

std::string HeaderLayout::tap_name(std::span<const uint8_t> tap_bytes) {
  std::string name;
  for (size_t room : {Tap::kMaxNameBytes, Tap::kMaxNameBytes, size_t{TapFields::kSideBytes}}) {
    const std::span<const uint8_t> field = tap_bytes.first(std::min(room, tap_bytes.size()));
    const auto end = std::find(field.begin(), field.end(), uint8_t{0});
    if (end == field.begin()) break;
    if (!name.empty()) name += ':';
    name.append(field.begin(), end);
    tap_bytes = tap_bytes.subspan(field.size());
  }
  return name;
}

}  // namespace tapline::multilog
