#include "sim/mirroring/originals.h"

#include <cstddef>
#include <unordered_map>

namespace tapline::mirroring {
namespace {

// The first transmission and the first arrival of a segment.
struct Segment {
  int64_t sent_ns;
  int64_t received_ns;  // < 0: never received
  uint32_t flow, payload_bytes;
};

std::vector<Segment> segments_of(const Observation& seen) {
  std::vector<Segment> segments;
  std::vector<std::unordered_map<uint32_t, size_t>> by_number(seen.flows);
  for (const SentPacket& packet : seen.sent) {
    if (packet.payload_bytes == 0 || packet.udp || packet.from_server) continue;
    const auto [it, is_new] = by_number[packet.flow].emplace(packet.seq, segments.size());
    if (is_new) {
      segments.push_back({packet.sent_ns, packet.received_ns, packet.flow, packet.payload_bytes});
    } else if (segments[it->second].received_ns < 0) {
      segments[it->second].received_ns = packet.received_ns;
    }
  }
  return segments;
}

double lost_share(const Observation& seen, int64_t from_ns, int64_t to_ns) {
  uint64_t sent = 0, lost = 0;
  for (const SentPacket& packet : seen.sent) {
    if (packet.sent_ns < from_ns || packet.sent_ns >= to_ns) continue;
    ++sent;
    lost += packet.received_ns < 0;
  }
  return sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent);
}

}  // namespace

Originals originals_of(const Observation& seen, int64_t from_ns, int64_t to_ns, int64_t slice_ns) {
  const auto slices = static_cast<size_t>((to_ns - from_ns) / slice_ns);
  std::vector<uint64_t> bytes(seen.flows * slices, 0);
  Originals originals;
  for (const Segment& segment : segments_of(seen)) {
    if (segment.received_ns < 0) continue;
    if (segment.sent_ns >= from_ns && segment.sent_ns < to_ns)
      originals.delays_us.push_back(static_cast<double>(segment.received_ns - segment.sent_ns) / 1e3);
    if (segment.received_ns < from_ns) continue;
    const auto slice = static_cast<size_t>((segment.received_ns - from_ns) / slice_ns);
    if (slice < slices) bytes[segment.flow * slices + slice] += segment.payload_bytes;
  }
  for (const uint64_t count : bytes)
    originals.gigabits_per_second.push_back(static_cast<double>(count) * 8 / static_cast<double>(slice_ns));
  originals.lost = lost_share(seen, from_ns, to_ns - slice_ns);
  return originals;
}

}  // namespace tapline::mirroring
