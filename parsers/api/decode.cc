#include <algorithm>

#include "parsers/api/bytes.h"
#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {
namespace {

constexpr uint16_t kTypeIpV4 = 0x0800, kTypeIpV6 = 0x86dd;
constexpr int kMaxVlanTags = 8;
constexpr int kMaxExtensionHeaders = 10;

bool is_vlan_type(uint16_t type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100; }

bool is_skipped_extension(uint8_t header) {
  // Hop-by-hop, routing, destination options, mobility, HIP, Shim6: all with the length in the second byte (RFC 6564).
  return header == 0 || header == 43 || header == 60 || header == 135 || header == 139 || header == 140;
}
constexpr uint8_t kFragmentHeader = 44;

// Walks a frame from the outside in. Each step returns kOk and leaves the position at the next header, or says why not.
class Decoder {
 public:
  Decoder(const RawPacket& raw, Packet* packet) : raw_(raw), packet_(packet), end_(raw.captured_bytes) {}

  DecodeOutcome run() {
    if (DecodeOutcome outcome = link(); outcome != DecodeOutcome::kOk) return outcome;
    return network();
  }

 private:
  const uint8_t* at(uint32_t offset) const { return raw_.data + offset; }
  bool has(uint32_t bytes) const { return end_ - position_ >= bytes; }  // position_ <= end_ always

  // A header is missing: because the capture was cut, or because the IP length leaves no room for it?
  DecodeOutcome missing(uint32_t bytes) const {
    return ip_end_ != 0 && position_ + static_cast<uint64_t>(bytes) > ip_end_ ? DecodeOutcome::kMalformed
                                                                              : DecodeOutcome::kTruncated;
  }

  DecodeOutcome link() {
    switch (raw_.link) {
      case LinkType::kEthernet:
        return typed_link(14, 12);
      case LinkType::kLinuxSll:
        return typed_link(16, 14);
      case LinkType::kLinuxSll2:
        return typed_link(20, 0);
      case LinkType::kNull:
        return null_link();
      case LinkType::kRawIp:
        return raw_ip();
    }
    return DecodeOutcome::kUnsupportedLink;
  }

  DecodeOutcome typed_link(uint32_t header_bytes, uint32_t type_offset) {
    if (!has(header_bytes)) return DecodeOutcome::kTruncated;
    type_ = big_endian_16(at(type_offset));
    position_ = header_bytes;
    return vlan_tags();
  }

  DecodeOutcome vlan_tags() {
    while (is_vlan_type(type_)) {
      if (packet_->vlan_tags == kMaxVlanTags) return DecodeOutcome::kTooManyHeaders;
      if (!has(4)) return DecodeOutcome::kTruncated;
      if (packet_->vlan_tags < 2) packet_->vlan[packet_->vlan_tags] = big_endian_16(at(position_)) & 0x0fff;
      ++packet_->vlan_tags;
      type_ = big_endian_16(at(position_ + 2));
      position_ += 4;
    }
    return DecodeOutcome::kOk;
  }

  // The address family is in the capturing host's byte order, and IPv6's number differs between systems.
  DecodeOutcome null_link() {
    if (!has(4)) return DecodeOutcome::kTruncated;
    const uint32_t stored = big_endian_32(at(0));
    const uint32_t family = stored > 0xffff ? __builtin_bswap32(stored) : stored;
    const bool v6 = family == 10 || family == 24 || family == 28 || family == 30;
    if (family != 2 && !v6) return DecodeOutcome::kNotIp;
    type_ = v6 ? kTypeIpV6 : kTypeIpV4;
    position_ = 4;
    return DecodeOutcome::kOk;
  }

  DecodeOutcome raw_ip() {
    if (!has(1)) return DecodeOutcome::kTruncated;
    const uint8_t version = *at(0) >> 4;
    if (version != 4 && version != 6) return DecodeOutcome::kNotIp;
    type_ = version == 4 ? kTypeIpV4 : kTypeIpV6;
    return DecodeOutcome::kOk;
  }

  // Decapsulation of tunnels has its place here: an inner frame restarts at link() or network() with network_id set.
  DecodeOutcome network() {
    packet_->ip_offset = position_;
    if (type_ == kTypeIpV4) return ip_v4();
    if (type_ == kTypeIpV6) return ip_v6();
    return DecodeOutcome::kNotIp;
  }

  // From here on nothing beyond the IP datagram is looked at, so Ethernet padding is never payload. A length of 0 is
  // what segmentation offload leaves in captures on the sending host: then the frame's own length counts.
  void end_at(uint32_t ip_bytes) {
    const uint32_t on_wire = std::max(raw_.wire_bytes, raw_.captured_bytes) - packet_->ip_offset;
    ip_end_ = static_cast<uint64_t>(packet_->ip_offset) + (ip_bytes == 0 ? on_wire : ip_bytes);
    end_ = static_cast<uint32_t>(std::min<uint64_t>(raw_.captured_bytes, ip_end_));
  }

  DecodeOutcome ip_v4() {
    if (!has(20)) return DecodeOutcome::kTruncated;
    const uint8_t* ip = at(position_);
    const uint32_t header_bytes = (ip[0] & 0x0f) * 4u;
    const uint32_t total_bytes = big_endian_16(ip + 2);
    if (ip[0] >> 4 != 4 || header_bytes < 20) return DecodeOutcome::kMalformed;
    if (total_bytes != 0 && total_bytes < header_bytes) return DecodeOutcome::kMalformed;
    packet_->ip_version = 4;
    packet_->src_ip = IpAddress::v4(ip + 12);
    packet_->dst_ip = IpAddress::v4(ip + 16);
    packet_->protocol = ip[9];
    end_at(total_bytes);
    if ((big_endian_16(ip + 6) & 0x1fff) != 0) return DecodeOutcome::kFragment;
    if (!has(header_bytes)) return missing(header_bytes);
    position_ += header_bytes;
    if (packet_->protocol == protocol::kAh) return extension_headers();
    return transport();
  }

  DecodeOutcome ip_v6() {
    if (!has(40)) return DecodeOutcome::kTruncated;
    const uint8_t* ip = at(position_);
    if (ip[0] >> 4 != 6) return DecodeOutcome::kMalformed;
    const uint32_t payload_bytes = big_endian_16(ip + 4);
    packet_->ip_version = 6;
    packet_->src_ip = IpAddress::v6(ip + 8);
    packet_->dst_ip = IpAddress::v6(ip + 24);
    packet_->protocol = ip[6];
    end_at(payload_bytes == 0 ? 0 : payload_bytes + 40);
    position_ += 40;
    return extension_headers();
  }

  DecodeOutcome extension_headers() {
    for (int i = 0; i < kMaxExtensionHeaders; ++i) {
      const uint8_t header = packet_->protocol;
      const bool fragment = header == kFragmentHeader;
      if (!fragment && header != protocol::kAh && !is_skipped_extension(header)) return transport();
      if (!has(8)) return missing(8);
      const uint8_t* bytes = at(position_);
      const uint32_t length = fragment ? 8 : header == protocol::kAh ? (bytes[1] + 2u) * 4 : (bytes[1] + 1u) * 8;
      packet_->protocol = bytes[0];
      if (fragment && (big_endian_16(bytes + 2) & 0xfff8) != 0) return DecodeOutcome::kFragment;
      if (!has(length)) return missing(length);
      position_ += length;
    }
    return DecodeOutcome::kTooManyHeaders;
  }

  DecodeOutcome transport() {
    packet_->transport_offset = position_;
    if (packet_->protocol == protocol::kTcp) return tcp();
    if (packet_->protocol == protocol::kUdp) return udp();
    return payload(position_, ip_end_);
  }

  DecodeOutcome tcp() {
    if (!has(20)) return missing(20);
    const uint8_t* header = at(position_);
    const uint32_t header_bytes = (header[12] >> 4) * 4u;
    if (header_bytes < 20 || position_ + static_cast<uint64_t>(header_bytes) > ip_end_)
      return DecodeOutcome::kMalformed;
    ports(header);
    packet_->tcp_seq = big_endian_32(header + 4);
    packet_->tcp_ack = big_endian_32(header + 8);
    packet_->tcp_flags = header[13];
    packet_->tcp_window = big_endian_16(header + 14);
    return payload(position_ + header_bytes, ip_end_);
  }

  DecodeOutcome udp() {
    if (!has(8)) return missing(8);
    const uint8_t* header = at(position_);
    const uint32_t length = big_endian_16(header + 4);
    if (length != 0 && length < 8) return DecodeOutcome::kMalformed;
    ports(header);
    const uint64_t udp_end = length == 0 ? ip_end_ : std::min<uint64_t>(ip_end_, position_ + length);
    return payload(position_ + 8, udp_end);
  }

  void ports(const uint8_t* header) {
    packet_->src_port = big_endian_16(header);
    packet_->dst_port = big_endian_16(header + 2);
  }

  DecodeOutcome payload(uint32_t offset, uint64_t payload_end) {
    packet_->payload_bytes = static_cast<uint32_t>(payload_end - offset);
    const uint64_t readable_end = std::min<uint64_t>(end_, payload_end);
    packet_->payload_offset = static_cast<uint32_t>(std::min<uint64_t>(offset, end_));
    packet_->payload_captured_bytes = readable_end > offset ? static_cast<uint32_t>(readable_end - offset) : 0;
    return DecodeOutcome::kOk;
  }

  const RawPacket& raw_;
  Packet* packet_;
  uint32_t position_ = 0;
  uint32_t end_;         // of what may be read
  uint64_t ip_end_ = 0;  // of the IP datagram, captured or not; 0 before its header was read
  uint16_t type_ = 0;
};

}  // namespace

DecodeOutcome decode(const RawPacket& raw, const FlowHasher& hasher, Packet* packet) {
  *packet = Packet{};
  packet->data = raw.data;
  packet->time_ns = raw.time_ns;
  packet->captured_bytes = raw.captured_bytes;
  packet->wire_bytes = raw.wire_bytes;
  const DecodeOutcome outcome = Decoder(raw, packet).run();
  if (outcome != DecodeOutcome::kOk) return outcome;
  packet->flow_hash = hasher.hash({.src_ip = packet->src_ip,
                                   .dst_ip = packet->dst_ip,
                                   .src_port = packet->src_port,
                                   .dst_port = packet->dst_port,
                                   .protocol = packet->protocol,
                                   .vlan = packet->vlan_key(),
                                   .network_id = packet->network_id});
  return outcome;
}

}  // namespace tapline
