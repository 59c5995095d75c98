#include "parsers/decode/duplicate_filter.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

#include "parsers/api/bytes.h"
#include "parsers/api/packet_digest.h"

namespace tapline {
namespace {

bool has_identification(const Packet& packet) {
  return packet.ip_version == 4 && big_endian_16(packet.data + packet.ip_offset + 4) != 0;
}

}  // namespace

DuplicateFilter::DuplicateFilter(const DuplicateOptions& options, HashKey key)
    : options_(options), key_(key), entries_(std::bit_ceil(std::max(options.max_packets, kWays))) {
  set_mask_ = entries_.size() / kWays - 1;
}

bool DuplicateFilter::is_copy(const Packet& packet) {
  const int64_t window_ns = has_identification(packet) ? options_.window_ns : options_.window_without_identification_ns;
  const uint64_t sought = digest_of(packet, key_);
  const std::span<Entry> set{&entries_[(sought & set_mask_) * kWays], kWays};
  Entry* replaced = &set[0];
  for (Entry& entry : set) {
    const int64_t time_ns = entry.until_ns - window_ns;  // equal packets have equal windows
    if (entry.digest == sought && std::abs(packet.time_ns - time_ns) <= window_ns) return true;
    if (entry.until_ns < replaced->until_ns) replaced = &entry;
  }
  *replaced = {sought, packet.time_ns + window_ns};
  return false;
}

}  // namespace tapline
