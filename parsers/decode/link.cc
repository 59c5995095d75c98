// Decodes the headers from the link to the first IP header: Ethernet and its tags, PPPoE, MPLS and pseudowires, NSH.
#include <algorithm>

#include "parsers/api/bytes.h"
#include "parsers/decode/decoder.h"

namespace tapline {
namespace {

bool is_vlan_type(uint16_t type) {
  return type == ether_type::kVlan || type == ether_type::kProviderVlan || type == ether_type::kOldQinQ;
}

// The P4 INT specification's type number for metadata in the packet (INT-MD).
constexpr uint8_t kIntMd = 1;

// Returns the distance from the end of one type field to the end of the next, for tags that are irrelevant to the flow;
// 0 for any other type.
uint32_t port_tag_bytes(uint16_t type) {
  if (type == ether_type::kVnTag) return 6;
  return type == ether_type::kETag ? 8 : 0;
}

}  // namespace

DecodeOutcome Decoder::frame() {
  switch (raw_.link) {
    case LinkType::kEthernet:
      if (has(12)) packet_->ethernet_offset = 0;
      return typed_link(14, 12);
    case LinkType::kLinuxSll:
      return typed_link(16, 14);
    case LinkType::kLinuxSll2:
      return typed_link(20, 0);
    case LinkType::kNull:
      return null_link();
    case LinkType::kRawIp:
      return by_ip_version();
  }
  return DecodeOutcome::kUnsupportedLink;
}

DecodeOutcome Decoder::datagram() { return by_ip_version(); }

DecodeOutcome Decoder::typed_link(uint32_t header_bytes, uint32_t type_offset) {
  if (!has(header_bytes)) return DecodeOutcome::kTruncated;
  type_ = big_endian_16(at(type_offset));
  position_ = header_bytes;
  return tags_and_network();
}

// Layout: address family, in the capturing host's byte order; then IP. The number for IPv6 differs between systems.
DecodeOutcome Decoder::null_link() {
  if (!has(4)) return DecodeOutcome::kTruncated;
  const uint32_t stored = big_endian_32(at(0));
  const uint32_t family = stored > 0xffff ? __builtin_bswap32(stored) : stored;
  const bool is_v6 = family == 10 || family == 24 || family == 28 || family == 30;
  if (family != 2 && !is_v6) return DecodeOutcome::kNotIp;
  type_ = is_v6 ? ether_type::kIpV6 : ether_type::kIpV4;
  position_ = 4;
  return network();
}

// Decodes a frame inside a tunnel. Its tags replace those of the outer frame.
DecodeOutcome Decoder::inner_ethernet() {
  if (!has(14)) return missing(14);
  packet_->vlan_tags = 0;
  packet_->vlan[0] = packet_->vlan[1] = 0;
  packet_->ethernet_offset = position_;
  type_ = big_endian_16(at(position_ + 12));
  position_ += 14;
  return tags_and_network();
}

DecodeOutcome Decoder::tags_and_network() {
  for (int tags = 0;; ++tags) {
    const bool vlan = is_vlan_type(type_);
    const uint32_t bytes = vlan ? 4 : port_tag_bytes(type_);
    if (bytes == 0) return network();
    if (tags == kMaxVlanTags) return DecodeOutcome::kTooManyHeaders;
    if (!has(bytes)) return missing(bytes);
    if (vlan && packet_->vlan_tags < 2) packet_->vlan[packet_->vlan_tags] = big_endian_16(at(position_)) & 0x0fff;
    if (vlan) ++packet_->vlan_tags;
    type_ = big_endian_16(at(position_ + bytes - 2));
    position_ += bytes;
  }
}

DecodeOutcome Decoder::network() {
  switch (type_) {
    case ether_type::kIpV4:
      return ip_v4();
    case ether_type::kIpV6:
      return ip_v6();
    case ether_type::kMpls:
    case ether_type::kMplsMulticast:
      return mpls();
    case ether_type::kPppoeSession:
      return pppoe();
    case ether_type::kNsh:
      return nsh();
    case ether_type::kTelemetry:
      return telemetry_tag();
    default:
      return DecodeOutcome::kNotIp;
  }
}

// Layout (RFC 2516): version and type, code (0: a session's data), session, length; then PPP.
DecodeOutcome Decoder::pppoe() {
  if (!has(6)) return missing(6);
  const uint8_t* header = at(position_);
  if (header[0] != 0x11 || header[1] != 0) return DecodeOutcome::kNotIp;
  position_ += 6;
  return ppp();
}

// PPP begins with a protocol number of one or two bytes (RFC 1661: the last byte is odd), which follows ff 03 in
// HDLC-like framing (RFC 1662).
DecodeOutcome Decoder::ppp() {
  if (!has(2)) return missing(2);
  if (big_endian_16(at(position_)) == 0xff03) position_ += 2;
  if (!has(1)) return missing(1);
  uint32_t protocol = *at(position_++);
  if ((protocol & 1) == 0) {
    if (!has(1)) return missing(1);
    protocol = protocol << 8 | *at(position_++);
  }
  switch (protocol) {
    case 0x0021:
      return ip_v4();
    case 0x0057:
      return ip_v6();
    case 0x0281:
    case 0x0283:
      return mpls();
    default:
      return DecodeOutcome::kNotIp;
  }
}

// Layout (RFC 3032): labels of 4 bytes up to the one with the bottom-of-stack bit, then IP or a pseudowire.
DecodeOutcome Decoder::mpls() {
  for (int labels = 0;; ++labels) {
    if (labels == kMaxLabels) return DecodeOutcome::kTooManyHeaders;
    if (!has(4)) return missing(4);
    const bool bottom = (at(position_)[2] & 1) != 0;
    position_ += 4;
    if (bottom) break;
  }
  if (!looks_like_ip(position_)) return pseudowire();
  return !ip_fits(position_) && looks_like_ethernet(position_) ? pseudowire() : by_ip_version();
}

// Decodes an Ethernet pseudowire. A packet does not show what its labels mean (RFC 4928), and a pseudowire may begin
// with a control word (RFC 4448: 2 bytes of 0 and a sequence number) or with a destination address, which can have any
// bits. Assumes a control word if a plausible Ethernet header follows it, and otherwise none.
DecodeOutcome Decoder::pseudowire() {
  if (too_deep()) return DecodeOutcome::kTooManyHeaders;
  if (!has(2)) return missing(2);
  const bool control_word = big_endian_16(at(position_)) == 0 && looks_like_ethernet(position_ + 4);
  if (!control_word && !looks_like_ethernet(position_)) return has(19) ? DecodeOutcome::kNotIp : missing(19);
  if (control_word) position_ += 4;
  return inner_ethernet();
}

// The header (RFC 8300) contains its total length in 4-byte words, and the next protocol.
DecodeOutcome Decoder::nsh() {
  if (too_deep()) return DecodeOutcome::kTooManyHeaders;
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  const uint32_t bytes = (header[1] & 0x3fu) * 4;
  const uint8_t next = header[3];
  if (bytes < 8) return DecodeOutcome::kMalformed;
  if (!has(bytes)) return missing(bytes);
  position_ += bytes;
  if (next == 1) return ip_v4();
  if (next == 2) return ip_v6();
  if (next == 3) return inner_ethernet();
  if (next == 4) return nsh();
  return next == 5 ? mpls() : DecodeOutcome::kNotIp;
}

// Skips telemetry. Returns false, and sets the frame's outcome, if it is incomplete or nested too deeply. Layout
// (docs/reference/in-band-telemetry.md): a shim of 4 bytes (type and 4 reserved bits, length after the shim in 4-byte
// words, next type), and the data that switches wrote.
bool Decoder::telemetry(DecodeOutcome* outcome) {
  constexpr uint32_t kShimBytes = 4;
  *outcome = DecodeOutcome::kTooManyHeaders;
  if (too_deep()) return false;
  *outcome = missing(kShimBytes);
  if (!has(kShimBytes)) return false;
  const uint8_t* shim = at(position_);
  const uint32_t bytes = shim[1] * 4u;
  *outcome = missing(kShimBytes + bytes);
  if (!has(kShimBytes + bytes)) return false;
  position_ += kShimBytes + bytes;
  if (shim[0] >> 4 == kIntMd) {
    packet_->telemetry_offset = position_ - bytes;
    packet_->telemetry_bytes = bytes;
  }
  return true;
}

DecodeOutcome Decoder::telemetry_tag() {
  DecodeOutcome outcome;
  const uint32_t shim = position_;
  if (!telemetry(&outcome)) return outcome;
  type_ = big_endian_16(at(shim + 2));
  return tags_and_network();
}

DecodeOutcome Decoder::by_ip_version() {
  if (!has(1)) return missing(1);
  const uint8_t version = *at(position_) >> 4;
  if (version == 4) return ip_v4();
  return version == 6 ? ip_v6() : DecodeOutcome::kNotIp;
}

bool Decoder::looks_like_ip(uint32_t offset) const {
  if (end_ <= offset) return false;
  const uint8_t first = *at(offset);
  return first >> 4 == 6 || (first >> 4 == 4 && (first & 0x0f) >= 5);
}

// Returns true unless the length in an IP header exceeds the enclosing layer.
bool Decoder::ip_fits(uint32_t offset) const {
  if (end_ - offset < 20) return true;
  const uint64_t around = ip_end_ != 0 ? ip_end_ : std::max(raw_.wire_bytes, raw_.captured_bytes);
  const uint8_t* ip = at(offset);
  return offset + (ip[0] >> 4 == 4 ? big_endian_16(ip + 2) : big_endian_16(ip + 4) + uint64_t{40}) <= around;
}

bool Decoder::looks_like_ethernet(uint32_t offset) const {
  if (end_ < offset || end_ - offset < 14) return false;
  const uint16_t type = big_endian_16(at(offset + 12));
  if (type == ether_type::kIpV4 || type == ether_type::kIpV6) {
    return looks_like_ip(offset + 14) && (*at(offset + 14) >> 4 == 4) == (type == ether_type::kIpV4);
  }
  return is_vlan_type(type) || type == ether_type::kArp || type == ether_type::kMpls ||
         type == ether_type::kPppoeSession;
}

}  // namespace tapline
