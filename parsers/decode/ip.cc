// Decodes IPv4, IPv6 with its extension headers, TCP, UDP and SCTP (RFC 791, 8200, 9293, 768, 9260).
#include <algorithm>

#include "parsers/api/bytes.h"
#include "parsers/decode/decoder.h"

namespace tapline {
namespace {

bool is_skipped_extension(uint8_t header) {
  // Hop-by-hop, routing, destination options, mobility, HIP and Shim6 all have their length in the second byte (RFC
  // 6564).
  return header == 0 || header == 43 || header == 60 || header == 135 || header == 139 || header == 140;
}

// Returns true if the one's complement sum of all 16-bit words, including the checksum, is all ones (RFC 791).
bool has_right_checksum(const uint8_t* ip, uint32_t header_bytes) {
  uint32_t sum = 0;
  for (uint32_t offset = 0; offset < header_bytes; offset += 2) sum += big_endian_16(ip + offset);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace

// Returns the end, on the wire, of the layer that encloses an IP header: another datagram, or the frame.
uint64_t Decoder::around() const { return ip_end_ != 0 ? ip_end_ : std::max(raw_.wire_bytes, raw_.captured_bytes); }

// Returns true if a datagram claims to extend beyond its enclosing layer on the wire and its header checksum is wrong,
// so its length field is corrupt. If the checksum is correct, a mirror has truncated the datagram, or the driver
// delivers short frames. The wire length is known even with a snap length. Trusting a corrupt length would turn the
// next 64 KiB of the connection into a gap.
bool Decoder::has_wrong_length(uint32_t header_bytes, uint32_t ip_bytes) const {
  if (position_ + static_cast<uint64_t>(ip_bytes) <= around() || !has(header_bytes)) return false;
  return !has_right_checksum(at(position_), header_bytes);
}

// Ends the readable bytes at the end of the IP datagram, so that Ethernet padding is never mistaken for payload.
// Segmentation offload leaves a length of 0 in captures on the sending host; the enclosing layer's length then applies.
void Decoder::end_at(uint32_t ip_bytes) {
  ip_end_ = ip_bytes == 0 ? around() : static_cast<uint64_t>(position_) + ip_bytes;
  end_ = static_cast<uint32_t>(std::min<uint64_t>(end_, ip_end_));
}

DecodeOutcome Decoder::ip_v4() {
  if (!has(20)) return missing(20);
  const uint8_t* ip = at(position_);
  const uint32_t header_bytes = (ip[0] & 0x0f) * 4u;
  const uint32_t total_bytes = big_endian_16(ip + 2);
  if (ip[0] >> 4 != 4 || header_bytes < 20) return DecodeOutcome::kMalformed;
  if (total_bytes != 0 && total_bytes < header_bytes) return DecodeOutcome::kMalformed;
  packet_->ip_offset = position_;
  packet_->ip_version = 4;
  packet_->src_ip = IpAddress::v4(ip + 12);
  packet_->dst_ip = IpAddress::v4(ip + 16);
  packet_->protocol = ip[9];
  if (has_wrong_length(header_bytes, total_bytes)) return DecodeOutcome::kMalformed;
  end_at(total_bytes);
  if (!has(header_bytes)) return missing(header_bytes);
  position_ += header_bytes;
  const uint16_t flags_and_offset = big_endian_16(ip + 6);
  if ((flags_and_offset & 0x3fff) != 0) {
    return fragment((flags_and_offset & 0x1fffu) * 8, (flags_and_offset & 0x2000) != 0);
  }
  if (packet_->protocol == protocol::kAh) return extension_headers();
  return transport();
}

DecodeOutcome Decoder::ip_v6() {
  if (!has(40)) return missing(40);
  const uint8_t* ip = at(position_);
  if (ip[0] >> 4 != 6) return DecodeOutcome::kMalformed;
  const uint32_t payload_bytes = big_endian_16(ip + 4);
  packet_->ip_offset = position_;
  packet_->ip_version = 6;
  packet_->src_ip = IpAddress::v6(ip + 8);
  packet_->dst_ip = IpAddress::v6(ip + 24);
  packet_->protocol = ip[6];
  // No checksum protects the length (see has_wrong_length). A frame that is shorter than its datagram has no padding,
  // so the datagram then ends with the frame.
  const bool too_long = ip_end_ == 0 && position_ + uint64_t{40} + payload_bytes > around();
  end_at(payload_bytes == 0 || too_long ? 0 : payload_bytes + 40);
  position_ += 40;
  return extension_headers();
}

DecodeOutcome Decoder::extension_headers() {
  for (int i = 0; i < kMaxExtensionHeaders; ++i) {
    const uint8_t header = packet_->protocol;
    const bool is_fragment = header == protocol::kFragment && packet_->ip_version == 6;
    if (!is_fragment && header != protocol::kAh && !is_skipped_extension(header)) return transport();
    if (!has(8)) return missing(8);
    const uint8_t* bytes = at(position_);
    const uint32_t length = extension_bytes(header, bytes);
    if (!has(length)) return missing(length);
    packet_->protocol = bytes[0];
    position_ += length;
    // A fragment that is the whole datagram (RFC 6946) is decoded as an unfragmented one.
    const uint16_t offset_and_more = big_endian_16(bytes + 2);
    if (is_fragment && (offset_and_more & 0xfff9) != 0) return fragment(offset_and_more & 0xfff8u, offset_and_more & 1);
  }
  return DecodeOutcome::kTooManyHeaders;
}

// Checks the preconditions of FragmentTable: the fragment's data fit into a datagram and were captured completely.
DecodeOutcome Decoder::fragment(uint32_t offset, bool has_more) {
  if (position_ >= ip_end_) return DecodeOutcome::kMalformed;
  const uint64_t bytes = ip_end_ - position_;
  const uint64_t headers = position_ - packet_->ip_offset;
  // In IPv6, the length counts neither the IP header nor the fragment header.
  const uint64_t max = 65535 + (packet_->ip_version == 6 ? 48 : 0);
  if ((has_more && bytes % 8 != 0) || headers + offset + bytes > max) {
    return DecodeOutcome::kMalformed;
  }
  packet_->transport_offset = position_;
  packet_->fragment = true;
  payload(position_, ip_end_);
  return end_ < ip_end_ ? DecodeOutcome::kTruncated : DecodeOutcome::kFragment;
}

DecodeOutcome Decoder::transport() {
  packet_->transport_offset = position_;
  switch (packet_->protocol) {
    case protocol::kTcp:
      return tcp();
    case protocol::kUdp:
      return udp();
    case protocol::kSctp:
      return sctp();
    case protocol::kIpV4:
      return through(Evidence::kProtocol, 0, &Decoder::ip_v4);
    case protocol::kIpV6:
      return through(Evidence::kProtocol, 0, &Decoder::ip_v6);
    case protocol::kGre:
      return through(Evidence::kProtocol, 0, &Decoder::gre);
    case protocol::kEtherIp:
      return through(Evidence::kProtocol, 0, &Decoder::ether_ip);
    case protocol::kMpls:
      return through(Evidence::kProtocol, 0, &Decoder::mpls);
    default:
      return payload(position_, ip_end_);
  }
}

DecodeOutcome Decoder::tcp() {
  if (!has(20)) return missing(20);
  const uint8_t* header = at(position_);
  const uint32_t header_bytes = (header[12] >> 4) * 4u;
  if (header_bytes < 20 || position_ + static_cast<uint64_t>(header_bytes) > ip_end_) return DecodeOutcome::kMalformed;
  ports(header);
  packet_->tcp_seq = big_endian_32(header + 4);
  packet_->tcp_ack = big_endian_32(header + 8);
  packet_->tcp_flags = header[13];
  packet_->tcp_window = big_endian_16(header + 14);
  return payload(position_ + header_bytes, ip_end_);
}

DecodeOutcome Decoder::udp() {
  if (!has(8)) return missing(8);
  const uint8_t* header = at(position_);
  const uint32_t length = big_endian_16(header + 4);
  if (length != 0 && length < 8) return DecodeOutcome::kMalformed;
  ports(header);
  if (length != 0) ip_end_ = std::min<uint64_t>(ip_end_, position_ + static_cast<uint64_t>(length));
  payload(position_ + 8, ip_end_);
  return udp_tunnel();
}

// Layout (RFC 9260): ports, verification tag, checksum; then chunks.
DecodeOutcome Decoder::sctp() {
  if (!has(12)) return missing(12);
  ports(at(position_));
  return payload(position_ + 12, ip_end_);
}

void Decoder::ports(const uint8_t* header) {
  packet_->src_port = big_endian_16(header);
  packet_->dst_port = big_endian_16(header + 2);
}

DecodeOutcome Decoder::payload(uint32_t offset, uint64_t payload_end) {
  packet_->payload_bytes = static_cast<uint32_t>(payload_end - offset);
  const uint64_t readable_end = std::min<uint64_t>(end_, payload_end);
  packet_->payload_offset = std::min(offset, end_);
  packet_->payload_captured_bytes = readable_end > offset ? static_cast<uint32_t>(readable_end - offset) : 0;
  return DecodeOutcome::kOk;
}

}  // namespace tapline
