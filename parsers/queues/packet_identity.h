#pragma once

#include <cstdint>
#include <cstring>
#include <random>

#include "parsers/api/bytes.h"
#include "parsers/api/packet.h"

namespace tapline::queues {

// Returns true if a number in the packet distinguishes it from all others that its sender sent within a queue's delay:
// the IPv4 identification (Linux sets 0 if it does not guarantee a unique one), the identification of an IPv6 fragment,
// or the sequence number of TCP data. A retransmission with equal bytes follows a round trip later; by then, packets
// that arrived after the original have left, which shows that it was lost.
inline bool is_identified(const Packet& packet) {
  if (packet.ip_version == 4 && big_endian_16(packet.data + packet.ip_offset + 4) != 0) return true;
  if (packet.fragment) return packet.ip_version == 6;
  return packet.is_tcp() && packet.payload_bytes > 0;
}

// The packets that form a flow: packets of one direction with the same addresses, protocol and ports; with the same two
// addresses; or to the same destination (incast).
enum class FlowUnit : uint8_t { kFiveTuple, kPair, kDestination };

// Hashes flows under a random key, so that no sender can direct flows to one bucket.
class FlowKeys {
 public:
  explicit FlowKeys(FlowUnit unit) : unit_(unit) {
    std::random_device random;
    for (uint64_t& word : key_) word = (uint64_t{random()} << 32 | random()) | 1;
  }

  uint64_t key_of(const Packet& packet) const {
    uint64_t key = fold(packet.dst_ip, key_[0]);
    if (unit_ == FlowUnit::kDestination) return key;
    key = fold(key ^ key_[1], fold(packet.src_ip, key_[2]));
    if (unit_ == FlowUnit::kPair) return key;
    // The VLAN may differ between the taps, so flow_hash is unsuitable.
    const uint64_t ports = uint64_t{packet.src_port} << 32 | uint64_t{packet.dst_port} << 16 | packet.protocol;
    return fold(key ^ key_[3], ports + key_[1]);
  }

 private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t fold(const IpAddress& ip, uint64_t key) const {
    uint64_t halves[2];
    std::memcpy(halves, ip.mapped().data(), sizeof halves);
    return fold(halves[0] + key, halves[1] + key_[4]);
  }

  FlowUnit unit_;
  uint64_t key_[5];
};

}  // namespace tapline::queues
