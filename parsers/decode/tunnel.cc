// Decodes IP, Ethernet and PPP inside IP: GRE, ERSPAN, VXLAN, Geneve, GTP-U, Teredo and similar tunnels.
#include <algorithm>

#include "parsers/api/bytes.h"
#include "parsers/api/carried.h"
#include "parsers/decode/decoder.h"

namespace tapline {
namespace {

// Returns true if the payload is exactly one IPv6 packet from or to an address in Teredo's prefix 2001::/32.
bool has_teredo_shape(std::span<const uint8_t> payload, uint32_t payload_bytes) {
  constexpr uint32_t kPrefix = 0x20010000;
  return payload.size() >= 40 && payload[0] >> 4 == 6 && big_endian_16(&payload[4]) + 40u == payload_bytes &&
         (big_endian_32(&payload[8]) == kPrefix || big_endian_32(&payload[24]) == kPrefix);
}

}  // namespace

// decode() sets packet.protocol to the innermost packet's transport, so these protocols remain only if decode()
// followed no tunnel.
bool may_carry_packet(const Packet& packet) {
  switch (packet.protocol) {
    case protocol::kIpV4:
    case protocol::kIpV6:
    case protocol::kGre:
    case protocol::kEtherIp:
    case protocol::kMpls:
      return true;
    case protocol::kUdp:
      // The ports of a fragment are unknown.
      return packet.payload_offset == packet.transport_offset || may_be_udp_tunnel(packet.src_port, packet.dst_port) ||
             has_teredo_shape(packet.payload(), packet.payload_bytes);
    default:
      return false;
  }
}

// Continues inside the tunnel. If the content is not IP, the packet keeps its outer headers and belongs to the outer
// flow. The same applies to malformed content if only a port suggested a tunnel.
DecodeOutcome Decoder::through(Evidence because, uint32_t header_bytes, Step inside) {
  payload(position_ + header_bytes, ip_end_);
  if (too_deep()) return DecodeOutcome::kTooManyHeaders;
  const Packet outer = *packet_;
  packet_->src_port = packet_->dst_port = 0;
  position_ += header_bytes;
  end_ = static_cast<uint32_t>(std::min<uint64_t>(end_, ip_end_));
  const DecodeOutcome outcome = (this->*inside)();
  const bool is_cut = raw_.captured_bytes < raw_.wire_bytes;
  const bool nonsense = outcome == DecodeOutcome::kMalformed || (outcome == DecodeOutcome::kTruncated && !is_cut);
  if (outcome != DecodeOutcome::kNotIp && !(nonsense && because == Evidence::kPort)) return outcome;
  *packet_ = outer;
  return DecodeOutcome::kOk;
}

// Teredo data packets use arbitrary ports, so a payload with exactly Teredo's shape is examined on any port.
DecodeOutcome Decoder::udp_tunnel() {
  switch (packet_->dst_port) {
    case tunnel_port::kVxlan:
    case tunnel_port::kVxlanOld:
      return through(Evidence::kPort, 8, &Decoder::vxlan);
    case tunnel_port::kVxlanGpe:
      return through(Evidence::kPort, 8, &Decoder::vxlan_gpe);
    case tunnel_port::kGeneve:
      return through(Evidence::kPort, 8, &Decoder::geneve);
    case tunnel_port::kGtpU:
      return through(Evidence::kPort, 8, &Decoder::gtp_u);
    case tunnel_port::kMpls:
      return through(Evidence::kPort, 8, &Decoder::mpls);
    case tunnel_port::kGre:
      return through(Evidence::kPort, 8, &Decoder::gre);  // RFC 8086
    default:
      break;
  }
  const bool teredo_port = packet_->src_port == tunnel_port::kTeredo || packet_->dst_port == tunnel_port::kTeredo;
  if (!teredo_port && !has_teredo_shape(packet_->payload(), packet_->payload_bytes)) return DecodeOutcome::kOk;
  return through(Evidence::kPort, 8, &Decoder::teredo);
}

// Layout (RFC 2784, 2890): flags, type; then checksum, key and sequence number, each if its flag is set. Version 1 is
// PPTP's (RFC 2637). The key is not part of the flow's identity, since mirrors use a separate key for each direction.
DecodeOutcome Decoder::gre() {
  if (!has(4)) return missing(4);
  const uint8_t* header = at(position_);
  const bool checksum = (header[0] & 0x80) != 0, routing = (header[0] & 0x40) != 0;
  const bool key = (header[0] & 0x20) != 0, sequence = (header[0] & 0x10) != 0;
  type_ = big_endian_16(header + 2);
  if ((header[1] & 7) == 1) return pptp(header);
  if ((header[1] & 7) != 0 || routing) return DecodeOutcome::kNotIp;
  const uint32_t bytes = 4 + checksum * 4u + key * 4u + sequence * 4u;
  if (!has(bytes)) return missing(bytes);
  position_ += bytes;
  switch (type_) {
    case 0x6558:  // transparent Ethernet bridging, NVGRE (RFC 7637)
      return inner_ethernet();
    case 0x88be:
      return sequence ? erspan_2() : inner_ethernet();  // type I has no header
    case 0x22eb:
      return erspan_3();
    case 0x880b:
      return ppp();
    case 0x883e:
      return wccp();
    default:
      return tags_and_network();
  }
}

DecodeOutcome Decoder::pptp(const uint8_t* header) {
  const bool sequence = (header[0] & 0x10) != 0, acknowledgement = (header[1] & 0x80) != 0;
  const uint32_t bytes = 8 + sequence * 4u + acknowledgement * 4u;
  if (type_ != 0x880b || !sequence) return DecodeOutcome::kNotIp;
  if (!has(bytes)) return missing(bytes);
  position_ += bytes;
  return ppp();
}

// Layout (RFC 3378): version 3 in the first nibble, and the rest is 0.
DecodeOutcome Decoder::ether_ip() {
  if (!has(2)) return missing(2);
  if (*at(position_) >> 4 != 3) return DecodeOutcome::kNotIp;
  position_ += 2;
  return inner_ethernet();
}

// Layout of type II, 8 bytes: version (1) and VLAN; class, En, T, session; index. En = 2 means that the mirrored frame
// had a tag, which only this header preserves. The session belongs to a mirror, which may cover one direction only, so
// it identifies no flow.
DecodeOutcome Decoder::erspan_2() {
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  if (header[0] >> 4 != 1) return DecodeOutcome::kNotIp;
  const bool tag_removed = (header[2] >> 3 & 3) == 2;
  position_ += 8;
  if (!tag_removed) return inner_ethernet();
  if (!has(14)) return missing(14);
  packet_->vlan_tags = 1;
  packet_->vlan[0] = big_endian_16(header) & 0x0fff;
  packet_->vlan[1] = 0;
  type_ = big_endian_16(at(position_ + 12));
  position_ += 14;
  return tags_and_network();
}

// Layout of type III, 12 bytes: version (2) and VLAN; class, BSO, T, session; time; SGT; P, frame type, hardware, D,
// Gra, O. If O is set, 8 more bytes follow. Frame type 0 is Ethernet, 2 is IP.
DecodeOutcome Decoder::erspan_3() {
  if (!has(12)) return missing(12);
  const uint8_t* header = at(position_);
  if (header[0] >> 4 != 2) return DecodeOutcome::kNotIp;
  const uint32_t bytes = (header[11] & 1) != 0 ? 20 : 12;
  const int frame_type = header[10] >> 2 & 0x1f;
  if (!has(bytes)) return missing(bytes);
  position_ += bytes;
  if (frame_type == 0) return inner_ethernet();
  return frame_type == 2 ? by_ip_version() : DecodeOutcome::kNotIp;
}

// WCCP version 2 has a redirect header of 4 bytes before IPv4; version 1 has none.
DecodeOutcome Decoder::wccp() {
  if (!has(1)) return missing(1);
  if (*at(position_) >> 4 != 4) {
    if (!has(4)) return missing(4);
    position_ += 4;
  }
  return ip_v4();
}

// Layout (RFC 7348): flags (I: the VNI is valid), 3 reserved bytes, VNI, reserved byte. Ignores reserved bits, as the
// RFC requires.
DecodeOutcome Decoder::vxlan() {
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  if ((header[0] & 0x08) == 0) return DecodeOutcome::kNotIp;
  packet_->network_id = big_endian_32(header + 4) >> 8;
  position_ += 8;
  return inner_ethernet();
}

// Layout (draft-ietf-nvo3-vxlan-gpe): as in VXLAN, but P means that the fourth byte names the next protocol.
DecodeOutcome Decoder::vxlan_gpe() {
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  if ((header[0] & 0x0c) != 0x0c) return DecodeOutcome::kNotIp;
  const uint8_t next = header[3];
  packet_->network_id = big_endian_32(header + 4) >> 8;
  position_ += 8;
  return gpe_next(next);
}

// Continues with the protocol `next`. P4 INT 2.1 §5.7.3 proposes 0x80 for telemetry, whose shim names the protocol
// after it.
DecodeOutcome Decoder::gpe_next(uint8_t next) {
  constexpr uint8_t kTelemetry = 0x80;
  while (next == kTelemetry) {
    const uint32_t shim = position_;
    DecodeOutcome outcome;
    if (!telemetry(&outcome)) return outcome;
    next = at(shim)[3];
  }
  if (next == 1) return ip_v4();
  if (next == 2) return ip_v6();
  if (next == 3) return inner_ethernet();
  if (next == 4) return nsh();
  return next == 5 ? mpls() : DecodeOutcome::kNotIp;
}

// Layout (RFC 8926): version (0) and options' length in 4-byte words, flags, type, VNI, reserved byte.
DecodeOutcome Decoder::geneve() {
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  if (header[0] >> 6 != 0) return DecodeOutcome::kNotIp;
  const uint32_t bytes = 8 + (header[0] & 0x3fu) * 4;
  type_ = big_endian_16(header + 2);
  packet_->network_id = big_endian_32(header + 4) >> 8;
  if (!has(bytes)) return missing(bytes);
  position_ += bytes;
  return type_ == 0x6558 ? inner_ethernet() : tags_and_network();
}

// Layout (3GPP TS 29.281): version 1, protocol type 1, E, S, PN; message type (255: user data); length; TEID. Any of
// the three flags adds 4 bytes, the last of which names the first extension header. The TEID differs between
// directions, so it identifies no flow.
DecodeOutcome Decoder::gtp_u() {
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  if ((header[0] & 0xf0) != 0x30 || header[1] != 255) return DecodeOutcome::kNotIp;
  if (position_ + 8 + static_cast<uint64_t>(big_endian_16(header + 2)) > ip_end_) return DecodeOutcome::kNotIp;
  position_ += 8;
  if ((header[0] & 7) == 0) return by_ip_version();
  if (!has(4)) return missing(4);
  uint8_t next = (header[0] & 4) != 0 ? at(position_)[3] : 0;
  position_ += 4;
  for (int i = 0; next != 0; ++i) {
    if (i == kMaxExtensionHeaders) return DecodeOutcome::kTooManyHeaders;
    if (!has(1)) return missing(1);
    const uint32_t bytes = *at(position_) * 4u;
    if (bytes == 0) return DecodeOutcome::kMalformed;
    if (!has(bytes)) return missing(bytes);
    next = at(position_)[bytes - 1];
    position_ += bytes;
  }
  return by_ip_version();
}

// Layout (RFC 4380): an authentication header, an origin indication, both or neither; then the IPv6 packet, which fills
// the datagram.
DecodeOutcome Decoder::teredo() {
  if (has(4) && big_endian_16(at(position_)) == 1) {
    const uint32_t bytes = 4 + at(position_)[2] + at(position_)[3] + 9u;
    if (!has(bytes)) return missing(bytes);
    position_ += bytes;
  }
  if (has(8) && big_endian_16(at(position_)) == 0) position_ += 8;
  if (!has(40)) return missing(40);
  const uint8_t* ip = at(position_);
  if (ip[0] >> 4 != 6 || position_ + 40u + static_cast<uint64_t>(big_endian_16(ip + 4)) != ip_end_) {
    return DecodeOutcome::kNotIp;
  }
  return ip_v6();
}

}  // namespace tapline
