#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/api/address.h"

namespace tapline {

// The secret key of all hashes in a deployment. An outsider who does not know the key can't choose flows that share a
// sampling decision or a table slot.
struct HashKey {
  uint64_t low = 0;
  uint64_t high = 0;
  // Parses 32 hexadecimal digits, most significant first. Returns nullopt for any other text.
  static std::optional<HashKey> parse(std::string_view hex);
};

struct FlowKey {
  IpAddress src_ip, dst_ip;
  uint16_t src_port = 0, dst_port = 0;
  uint8_t protocol = 0;
  uint32_t vlan = 0;        // outer VLAN ID << 12 | inner; 24 bits
  uint32_t network_id = 0;  // VNI of the tunnel; 0 if there is none
};

// SipHash-1-3 (Aumasson, Bernstein 2012) of the ordered endpoints, protocol, VLAN and tunnel. Both directions of a flow
// have the same hash.
class FlowHasher {
 public:
  explicit FlowHasher(HashKey key) : key_(key) {}
  uint64_t hash(const FlowKey& key) const;

 private:
  HashKey key_;
};

// Returns a SipHash-1-3 of the string that is unrelated to flow hashes with the same key.
uint64_t keyed_hash(HashKey key, std::string_view text);

// Returns the threshold for a sampling rate. A flow is kept if the sampling_position() of its hash is below the
// threshold, so a lower rate keeps a subset of a higher rate's flows, and all monitors make the same decision. Returns
// 0 for rates of 0 or less and for NaN; saturates for rates of 1 or more, which keep every flow.
uint64_t sampling_threshold(double rate);

// Finalises the hash: returns 63 uniform bits, unrelated to the bits of the hash that tables and replicate groups use.
constexpr uint64_t sampling_position(uint64_t flow_hash) {
  uint64_t x = flow_hash ^ 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) >> 1;
}
constexpr bool sampled(uint64_t flow_hash, uint64_t threshold) { return sampling_position(flow_hash) < threshold; }

// Returns the position for queries whose flows are also sampled by switches. Switches can't compute the hash, but can
// match single bits of port numbers. Therefore the position begins with bits of the far port, the one that the query
// does not name. The first bit is the port's second lowest bit, since Linux prefers even ports for clients; the
// finaliser provides the remaining bits of the position. So at a rate of 1/2^n or less, for n up to kPortBits, the
// position of every kept flow begins with n zeros.
inline constexpr int kPortBits = 6;
constexpr uint64_t sampling_position(uint64_t flow_hash, uint16_t far_port) {
  uint64_t first = 0;
  for (int bit = 1; bit <= kPortBits; ++bit) first = first << 1 | (far_port >> bit & 1);
  return first << (63 - kPortBits) | sampling_position(flow_hash) >> kPortBits;
}
constexpr bool sampled(uint64_t flow_hash, uint16_t far_port, uint64_t threshold) {
  return sampling_position(flow_hash, far_port) < threshold;
}

}  // namespace tapline
