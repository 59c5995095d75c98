// Private to this folder: walks the frames that the fast path of decode() does not cover.
//
// Each step reads one header at position_, moves position_ past it and calls the next step; the last one returns the
// frame's outcome. No step reads at or beyond end_. Steps that can recur through a tunnel count in depth_, so the
// number of steps per frame is bounded.
#pragma once

#include <cstdint>

#include "parsers/api/packet.h"

namespace tapline {

// Returns the length of an extension header. `number` is its protocol number. REQUIRES: at least 8 of its bytes are
// readable.
inline uint32_t extension_bytes(uint8_t number, const uint8_t* extension) {
  if (number == protocol::kFragment) return 8;
  return number == protocol::kAh ? (extension[1] + 2u) * 4 : (extension[1] + 1u) * 8;
}

class Decoder {
 public:
  // REQUIRES: *packet has the fields that `raw` provides (for a datagram, also its VLAN tags and VNI), and defaults in
  // all other fields.
  Decoder(const RawPacket& raw, Packet* packet) : raw_(raw), packet_(packet), end_(raw.captured_bytes) {}

  DecodeOutcome frame();     // starts at the link header
  DecodeOutcome datagram();  // starts at an IP header

 private:
  using Step = DecodeOutcome (Decoder::*)();
  // The evidence for a tunnel. A UDP port alone is weak evidence, since it may be a client's ephemeral port.
  enum class Evidence : uint8_t { kProtocol, kPort };

  static constexpr int kMaxDepth = 8;
  static constexpr int kMaxVlanTags = 8;
  static constexpr int kMaxLabels = 16;
  static constexpr int kMaxExtensionHeaders = 10;

  const uint8_t* at(uint32_t offset) const { return raw_.data + offset; }
  bool has(uint32_t bytes) const { return end_ - position_ >= bytes; }  // position_ <= end_ always
  // Returns the outcome for an incomplete header: kMalformed if the enclosing layer has no room for the header,
  // kTruncated if the capture was cut.
  DecodeOutcome missing(uint32_t bytes) const {
    return ip_end_ != 0 && position_ + static_cast<uint64_t>(bytes) > ip_end_ ? DecodeOutcome::kMalformed
                                                                              : DecodeOutcome::kTruncated;
  }
  bool too_deep() { return ++depth_ > kMaxDepth; }

  // Defined in link.cc:
  DecodeOutcome typed_link(uint32_t header_bytes, uint32_t type_offset);
  DecodeOutcome null_link();
  DecodeOutcome inner_ethernet();
  DecodeOutcome tags_and_network();
  DecodeOutcome network();
  DecodeOutcome pppoe();
  DecodeOutcome ppp();
  DecodeOutcome mpls();
  DecodeOutcome pseudowire();
  DecodeOutcome nsh();
  bool telemetry(DecodeOutcome* outcome);
  DecodeOutcome telemetry_tag();
  DecodeOutcome by_ip_version();
  bool looks_like_ip(uint32_t offset) const;
  bool ip_fits(uint32_t offset) const;
  bool looks_like_ethernet(uint32_t offset) const;

  // Defined in ip.cc:
  DecodeOutcome ip_v4();
  DecodeOutcome ip_v6();
  DecodeOutcome extension_headers();
  DecodeOutcome fragment(uint32_t offset, bool has_more);
  DecodeOutcome transport();
  DecodeOutcome tcp();
  DecodeOutcome udp();
  DecodeOutcome sctp();
  uint64_t around() const;
  bool has_wrong_length(uint32_t header_bytes, uint32_t ip_bytes) const;
  void end_at(uint32_t ip_bytes);
  void ports(const uint8_t* header);
  DecodeOutcome payload(uint32_t offset, uint64_t payload_end);

  // Defined in tunnel.cc:
  DecodeOutcome through(Evidence because, uint32_t header_bytes, Step inside);
  DecodeOutcome udp_tunnel();
  DecodeOutcome gre();
  DecodeOutcome pptp(const uint8_t* header);
  DecodeOutcome ether_ip();
  DecodeOutcome erspan_2();
  DecodeOutcome erspan_3();
  DecodeOutcome wccp();
  DecodeOutcome vxlan();
  DecodeOutcome vxlan_gpe();
  DecodeOutcome gpe_next(uint8_t next);
  DecodeOutcome geneve();
  DecodeOutcome gtp_u();
  DecodeOutcome teredo();

  const RawPacket& raw_;
  Packet* packet_;
  uint32_t position_ = 0;
  uint32_t end_;         // end of the readable bytes
  uint64_t ip_end_ = 0;  // end of the innermost datagram so far, captured or not; 0 until a length was read
  uint16_t type_ = 0;    // EtherType of the data at position_
  int depth_ = 0;
};

namespace ether_type {
inline constexpr uint16_t kIpV4 = 0x0800, kIpV6 = 0x86dd, kVlan = 0x8100, kProviderVlan = 0x88a8, kOldQinQ = 0x9100,
                          kVnTag = 0x8926, kETag = 0x893f, kMpls = 0x8847, kMplsMulticast = 0x8848,
                          kPppoeSession = 0x8864, kNsh = 0x894f, kArp = 0x0806, kTelemetry = 0x88b5;
}

// The UDP ports that udp_tunnel() examines, defined next to the check that the fast path uses.
namespace tunnel_port {
inline constexpr uint16_t kGtpU = 2152, kTeredo = 3544, kGre = 4754, kVxlan = 4789, kVxlanGpe = 4790, kGeneve = 6081,
                          kMpls = 6635, kVxlanOld = 8472;
}
inline bool may_be_udp_tunnel(uint16_t src_port, uint16_t dst_port) {
  using namespace tunnel_port;
  return (dst_port == kGtpU) | (dst_port == kTeredo) | (src_port == kTeredo) | (dst_port == kGre) |
         (dst_port == kVxlan) | (dst_port == kVxlanGpe) | (dst_port == kGeneve) | (dst_port == kMpls) |
         (dst_port == kVxlanOld);
}

}  // namespace tapline
