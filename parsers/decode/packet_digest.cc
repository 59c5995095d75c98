#include "parsers/api/packet_digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "parsers/api/bytes.h"

namespace tapline {
namespace {

__extension__ using Uint128 = unsigned __int128;

// A keyed digest that multiplies and folds 64-bit words, fast on whole packets. Packets from a sender that does not
// know the key collide only by chance, with probability 2^-64.
class Digest {
 public:
  explicit Digest(HashKey key) : state_(key.low ^ 0x9e3779b97f4a7c15), secret_(key.high ^ 0xc2b2ae3d27d4eb4f) {}

  void add(uint64_t first, uint64_t second) {
    const Uint128 product = static_cast<Uint128>(first ^ state_) * (second ^ secret_);
    state_ = std::rotl(state_, 23) ^ static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  void add(const uint8_t* bytes, size_t count) {
    uint64_t words[2];
    for (; count >= 16; count -= 16, bytes += 16) {
      std::memcpy(words, bytes, 16);
      add(words[0], words[1]);
    }
    words[0] = words[1] = 0;
    std::memcpy(words, bytes, count);
    add(words[0], words[1] ^ count << 56);
  }
  uint64_t finish() {
    add(0x165667b19e3779f9, 0x27d4eb2f165667c5);
    return state_;
  }

 private:
  uint64_t state_;
  uint64_t secret_;
};

// Returns the fields of the IP header that no hop changes: identification and fragment offset (IPv4), or the flow label
// (IPv6).
uint64_t constant_ip_fields(const Packet& packet) {
  const uint8_t* ip = packet.data + packet.ip_offset;
  return packet.ip_version == 4 ? big_endian_32(ip + 4) & 0xffff3fff : big_endian_32(ip) & 0x000fffff;
}

// Returns the number of data bytes that the digest covers: all bytes if they were captured, and otherwise those that a
// capture with the same snap length contains even if the packet has two VLAN tags there.
uint32_t common_bytes(const Packet& packet) {
  if (packet.payload_captured_bytes >= packet.payload_bytes) return packet.payload_captured_bytes;
  const uint32_t spare_bytes = packet.vlan_tags < 2 ? (2u - packet.vlan_tags) * 4 : 0;
  return packet.payload_captured_bytes - std::min(spare_bytes, packet.payload_captured_bytes);
}

}  // namespace

uint64_t digest_of(const Packet& packet, HashKey key) {
  Digest digest(key);
  digest.add(packet.src_ip.mapped().data(), 16);
  digest.add(packet.dst_ip.mapped().data(), 16);
  digest.add(static_cast<uint64_t>(packet.protocol) << 32 | packet.payload_bytes, constant_ip_fields(packet));
  const uint8_t* transport = packet.data + packet.transport_offset;
  const uint32_t header_bytes = packet.payload_offset - packet.transport_offset;  // 0 for fragments, and without ports
  if (header_bytes == 0) {
    const bool has_extension = packet.ip_version == 6 && packet.transport_offset - packet.ip_offset > 40;
    if (has_extension) digest.add(transport - 8, 8);  // the fragment header, if there is one
  } else if (packet.is_tcp()) {
    digest.add(transport, 16);  // up to the checksum
    digest.add(transport + 18, header_bytes - 18);
  } else {
    // Covers UDP only up to the checksum, which some senders leave to the network interface. Switches do not change
    // SCTP's checksum.
    digest.add(transport, packet.is_udp() ? 6 : header_bytes);
  }
  digest.add(packet.data + packet.payload_offset, common_bytes(packet));
  return digest.finish();
}

}  // namespace tapline
