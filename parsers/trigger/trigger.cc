#include "parsers/trigger/trigger.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace tapline::trigger {
namespace {

template <typename List, typename Contains>
bool allows(const List& list, Contains contains) {
  return list.empty() || std::any_of(list.begin(), list.end(), contains);
}

// Sets the first `bits` bits of the 16 bytes.
void set_bits(uint8_t* bytes, int bits) {
  for (int bit = 0; bit < bits; ++bit) bytes[bit / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
}

Sample mask_of(const GroupBy& group_by, bool v4) {
  Sample mask;
  const auto address = [&](int v4_bits, int v6_bits) {
    uint8_t bytes[16] = {};
    // The 96 bits before an IPv4 address mark it as one.
    set_bits(bytes, v4 ? (v4_bits > 0 ? 96 + v4_bits : 0) : v6_bits);
    return IpAddress::v6(bytes);
  };
  mask.src_ip = address(group_by.src_v4_bits, group_by.src_v6_bits);
  mask.dst_ip = address(group_by.dst_v4_bits, group_by.dst_v6_bits);
  mask.src_port = group_by.src_port ? UINT16_MAX : 0;
  mask.dst_port = group_by.dst_port ? UINT16_MAX : 0;
  mask.protocol = group_by.protocol ? UINT8_MAX : 0;
  mask.packets = 0;
  mask.vlan = group_by.vlan ? UINT32_MAX : 0;
  mask.network_id = group_by.network_id ? UINT32_MAX : 0;
  return mask;
}

GroupKey words_of(const Sample& sample) {
  GroupKey key;
  std::memcpy(key.words, &sample.src_ip, sizeof key.words);
  return key;
}

}  // namespace

static_assert(offsetof(Sample, src_ip) == 8 && offsetof(Sample, bytes) == 8 + sizeof(GroupKey));

bool Prefix::contains(const IpAddress& ip) const {
  const auto& a = address.mapped();
  const auto& b = ip.mapped();
  const size_t whole = bits / 8;
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  return bits % 8 == 0 || (a[whole] ^ b[whole]) >> (8 - bits % 8) == 0;
}

bool Filter::matches(const Sample& sample) const {
  const auto in_prefix = [](const IpAddress& ip) {
    return [&ip](const Prefix& prefix) { return prefix.contains(ip); };
  };
  const auto in_range = [](uint16_t port) {
    return [port](const PortRange& range) { return range.first <= port && port <= range.last; };
  };
  const auto equals = [](uint32_t value) { return [value](uint32_t actual) { return value == actual; }; };
  return allows(src, in_prefix(sample.src_ip)) && allows(dst, in_prefix(sample.dst_ip)) &&
         allows(src_ports, in_range(sample.src_port)) && allows(dst_ports, in_range(sample.dst_port)) &&
         (!protocol || *protocol == sample.protocol) && ((sample.tcp_flags ^ tcp_flags) & tcp_flags_mask) == 0 &&
         allows(vlans, equals(sample.vlan)) && allows(network_ids, equals(sample.network_id));
}

IpAddress GroupKey::src_ip() const { return IpAddress::v6(reinterpret_cast<const uint8_t*>(words)); }
IpAddress GroupKey::dst_ip() const { return IpAddress::v6(reinterpret_cast<const uint8_t*>(words + 2)); }

GroupKeys::GroupKeys(const GroupBy& group_by)
    : v4_mask_(words_of(mask_of(group_by, true))),
      v6_mask_(words_of(mask_of(group_by, false))),
      both_directions_(group_by.both_directions) {}

void GroupKeys::put_in_order(GroupKey* key) {
  const auto port = [&](int first_bit) { return static_cast<uint16_t>(key->words[4] >> first_bit); };
  const auto address_word = [&](int word) { return __builtin_bswap64(key->words[word]); };
  const auto source = std::tuple(address_word(0), address_word(1), port(0));
  const auto destination = std::tuple(address_word(2), address_word(3), port(16));
  if (source <= destination) return;
  std::swap(key->words[0], key->words[2]);
  std::swap(key->words[1], key->words[3]);
  const uint64_t ports = uint64_t{port(16)} | uint64_t{port(0)} << 16;
  key->words[4] = (key->words[4] & ~uint64_t{UINT32_MAX}) | ports;
}

}  // namespace tapline::trigger
