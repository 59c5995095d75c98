#pragma once

#include <cstdint>
#include <cstring>

#include "parsers/api/packet.h"
#include "parsers/engine/plain_segment.h"

namespace tapline {

// The hash that finds entries of the connection table. It is the same for both directions of a flow, is never exposed,
// and has a random key per table, so that an attacker can't direct all flows to one bucket.
//
// It is NH over the two ordered endpoints (Black et al., UMAC, 1999: any two flows, even if an attacker chooses them,
// collide for at most one in 2^64 keys, as long as no hash is seen), folded and mixed by one more multiplication, which
// takes fewer operations than SipHash. The bound does not cover the folding. It is not a pseudo-random function, so it
// can't serve as flow_hash, which every tuple contains.
class TableHasher {
 public:
  TableHasher();  // draws the key

  uint64_t operator()(const PlainSegment& segment) const {
    return mix(endpoint(segment.src_ip, segment.src_port), endpoint(segment.dst_ip, segment.dst_port), 0);
  }

  uint64_t operator()(const Packet& packet) const {
    // This is 0 for TCP without VLAN or tunnel, so a packet read as a PlainSegment has the same hash.
    const uint64_t rest =
        static_cast<uint64_t>(packet.network_id) << 32 | packet.vlan_key() << 8 | (packet.protocol ^ protocol::kTcp);
    return mix(endpoint(packet.src_ip, packet.src_port), endpoint(packet.dst_ip, packet.dst_port), rest);
  }

 private:
  static uint64_t endpoint(uint32_t ip, uint16_t port) { return uint64_t{ip} << 16 | port; }
  uint64_t endpoint(const IpAddress& ip, uint16_t port) const {
    uint64_t halves[2];
    std::memcpy(halves, ip.mapped().data(), sizeof halves);
    if (ip.is_v4()) return endpoint(static_cast<uint32_t>(halves[1] >> 32), port);
    return fold(halves[0] + key_[4], halves[1] + key_[5]) + port;
  }

  static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t mix(uint64_t source, uint64_t destination, uint64_t rest) const {
    // Orders the endpoints without a branch, which would often be mispredicted, since both directions of many flows are
    // mixed.
    const uint64_t exchange = (source ^ destination) & -static_cast<uint64_t>(source > destination);
    const uint64_t low = source ^ exchange, high = destination ^ exchange;
    return fold(fold(low + key_[0], high + key_[1]) + rest * key_[2], key_[3]);
  }

  uint64_t key_[6];
};

}  // namespace tapline
