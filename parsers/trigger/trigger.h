#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parsers/packets/sample.h"
#include "parsers/trigger/condition.h"

namespace tapline::trigger {

// The addresses that share the first `bits` bits. For an IPv4 prefix of n bits, `bits` is 96 + n, since addresses are
// stored IPv4-mapped; 0 bits match any address.
struct Prefix {
  IpAddress address;
  uint8_t bits = 0;  // 0 to 128

  bool contains(const IpAddress& ip) const;
};

struct PortRange {
  uint16_t first = 0;
  uint16_t last = UINT16_MAX;
};

// The packets that a trigger counts: each field must have one of the listed values; an empty list allows any.
struct Filter {
  std::vector<Prefix> src, dst;
  std::vector<PortRange> src_ports, dst_ports;
  std::optional<uint8_t> protocol;
  uint8_t tcp_flags_mask = 0;  // the flags that must equal those in tcp_flags
  uint8_t tcp_flags = 0;
  std::vector<uint32_t> vlans;  // as in FlowKey
  std::vector<uint32_t> network_ids;

  // Returns true if the filter matches the sample. Tests compare the engine's classes with it.
  bool matches(const Sample& sample) const;
};

// The fields that identify a group. If nothing is set, all packets are one group.
struct GroupBy {
  uint8_t src_v4_bits = 0, src_v6_bits = 0;  // 0 to 32, 0 to 128
  uint8_t dst_v4_bits = 0, dst_v6_bits = 0;
  bool src_port = false, dst_port = false, protocol = false, vlan = false, network_id = false;
  // Both directions of a flow are one group: the lower address, then the lower port, is the source.
  bool both_directions = false;

  // Returns true if each group is one flow, or one direction of it.
  bool is_whole_flow() const {
    return src_v4_bits == 32 && src_v6_bits == 128 && dst_v4_bits == 32 && dst_v6_bits == 128 && src_port && dst_port &&
           protocol;
  }
  static GroupBy flow() { return {32, 128, 32, 128, true, true, true, true, true, true}; }
  static GroupBy source(uint8_t v4_bits, uint8_t v6_bits) { return {.src_v4_bits = v4_bits, .src_v6_bits = v6_bits}; }
  static GroupBy destination(uint8_t v4_bits, uint8_t v6_bits) {
    return {.dst_v4_bits = v4_bits, .dst_v6_bits = v6_bits};
  }
  friend auto operator<=>(const GroupBy&, const GroupBy&) = default;
};

// A group's key: the 48 bytes of a Sample after its time, with zeros in the fields outside the group.
struct GroupKey {
  uint64_t words[kKeyWords] = {};

  IpAddress src_ip() const;
  IpAddress dst_ip() const;
  uint16_t src_port() const { return static_cast<uint16_t>(words[4]); }
  uint16_t dst_port() const { return static_cast<uint16_t>(words[4] >> 16); }
  uint8_t protocol() const { return static_cast<uint8_t>(words[4] >> 32); }
  uint32_t vlan() const { return static_cast<uint32_t>(words[5]); }
  uint32_t network_id() const { return static_cast<uint32_t>(words[5] >> 32); }
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

// Computes group keys.
class GroupKeys {
 public:
  GroupKeys() = default;
  explicit GroupKeys(const GroupBy& group_by);
  [[gnu::always_inline]] GroupKey of(const Sample& sample) const {
    const uint64_t* mask = sample.ip_version == 4 ? v4_mask_.words : v6_mask_.words;
    GroupKey key;
    std::memcpy(key.words, &sample.src_ip, sizeof key.words);
    if (both_directions_) put_in_order(&key);
    for (int word = 0; word < kKeyWords; ++word) key.words[word] &= mask[word];
    return key;
  }

 private:
  static void put_in_order(GroupKey* key);

  GroupKey v4_mask_, v6_mask_;
  bool both_directions_ = false;
};

struct Trigger {
  uint64_t id = 0;  // chosen by the caller, repeated in events
  Filter filter;
  GroupBy group;
  Expression when;
  int64_t every_ns = 10'000'000;  // time between the ends of consecutive windows, aligned to the epoch
  int64_t window_ns = 0;          // a multiple of every_ns, so windows may overlap; 0: every_ns
  int64_t burst_ns = 0;           // the span of kBurst
  Expression clear;               // once an alert has begun, it lasts as long as this is true; empty: `when`
  uint32_t after = 1;             // number of consecutive windows that meet `when` before an alert begins
  int64_t cooldown_ns = 0;        // minimum time between the starts of two alerts of a group
  // True if other monitors or lanes capture packets of the same trigger, which this one does not count. At the end of
  // each window, the value of each group with packets is then reported, even if it does not meet `when`.
  bool partial = false;
};

}  // namespace tapline::trigger
