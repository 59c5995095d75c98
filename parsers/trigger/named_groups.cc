#include "parsers/trigger/named_groups.h"

#include <algorithm>

namespace tapline::trigger {
namespace {

// One packet for each combination of the values named so far. Empty if the filter does not name all groups.
using Packets = std::vector<Sample>;

// Combines each packet with each value. `set` sets a packet's field, and returns false if the packet can't have the
// value. Leaves no packets if there would be too many.
template <typename Value, typename Set>
void combine(const std::vector<Value>& values, Set set, Packets* packets) {
  Packets combined;
  if (packets->size() * values.size() <= 2 * kMaxNamedGroups) {
    for (const Sample& packet : *packets) {
      for (const Value& value : values) {
        Sample next = packet;
        if (set(value, &next)) combined.push_back(next);
      }
    }
  }
  *packets = std::move(combined);
}

void name_address(IpAddress Sample::*address, const std::vector<Prefix>& prefixes, int v4_bits, int v6_bits,
                  Packets* packets) {
  const bool are_groups = std::all_of(prefixes.begin(), prefixes.end(), [&](const Prefix& prefix) {
    return prefix.bits >= (prefix.address.is_v4() ? 96 + v4_bits : v6_bits);
  });
  if (!are_groups) return packets->clear();
  combine(
      prefixes,
      [&](const Prefix& prefix, Sample* packet) {
        packet->*address = prefix.address;
        return packet->ip_version == (prefix.address.is_v4() ? 4 : 6);
      },
      packets);
}

void name_port(uint16_t Sample::*port, const std::vector<PortRange>& ranges, Packets* packets) {
  const bool single =
      std::all_of(ranges.begin(), ranges.end(), [](const PortRange& range) { return range.first == range.last; });
  if (!single) return packets->clear();
  combine(
      ranges,
      [port](const PortRange& range, Sample* packet) {
        packet->*port = range.first;
        return true;
      },
      packets);
}

void name_number(uint32_t Sample::*field, const std::vector<uint32_t>& values, Packets* packets) {
  combine(
      values,
      [field](uint32_t value, Sample* packet) {
        packet->*field = value;
        return true;
      },
      packets);
}

}  // namespace

std::vector<GroupKey> named_groups(const GroupBy& group_by, const Filter& filter) {
  if (group_by == GroupBy{} || group_by.both_directions) return {};
  Packets packets(2);
  packets[0].ip_version = 4;
  packets[1].ip_version = 6;
  if (group_by.protocol && !filter.protocol) return {};
  for (Sample& packet : packets) packet.protocol = filter.protocol.value_or(0);
  if (group_by.src_v4_bits + group_by.src_v6_bits > 0) {
    name_address(&Sample::src_ip, filter.src, group_by.src_v4_bits, group_by.src_v6_bits, &packets);
  }
  if (group_by.dst_v4_bits + group_by.dst_v6_bits > 0) {
    name_address(&Sample::dst_ip, filter.dst, group_by.dst_v4_bits, group_by.dst_v6_bits, &packets);
  }
  if (group_by.src_port) name_port(&Sample::src_port, filter.src_ports, &packets);
  if (group_by.dst_port) name_port(&Sample::dst_port, filter.dst_ports, &packets);
  if (group_by.vlan) name_number(&Sample::vlan, filter.vlans, &packets);
  if (group_by.network_id) name_number(&Sample::network_id, filter.network_ids, &packets);
  std::vector<GroupKey> groups;
  const GroupKeys keys(group_by);
  for (const Sample& packet : packets) groups.push_back(keys.of(packet));
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups.size() <= kMaxNamedGroups ? groups : std::vector<GroupKey>{};
}

}  // namespace tapline::trigger
