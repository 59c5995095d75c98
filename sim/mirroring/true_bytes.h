#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

// Bytes that a direction of a flow put on its sender's link, by time.
class TrueBytes {
 public:
  explicit TrueBytes(const Observation& seen) : sent_(seen.flows * 2) {
    for (const SentPacket& packet : seen.sent) sent_[side_of(packet)].push_back(&packet);
  }

  static size_t side_of(const SentPacket& packet) { return packet.flow * 2 + packet.from_server; }

  // Of packets whose first bit was sent in [from_ns, to_ns).
  uint64_t between(size_t side, int64_t from_ns, int64_t to_ns) const {
    return before(side, to_ns) - before(side, from_ns);
  }

 private:
  uint64_t before(size_t side, int64_t time_ns) const {
    const auto& sent = sent_[side];
    const auto next = std::lower_bound(sent.begin(), sent.end(), time_ns,
                                       [](const SentPacket* packet, int64_t at_ns) { return packet->sent_ns < at_ns; });
    if (next != sent.end()) return (*next)->sent_before;
    return sent.empty() ? 0 : sent.back()->sent_before + sent.back()->wire_bytes;
  }

  std::vector<std::vector<const SentPacket*>> sent_;
};

}  // namespace tapline::mirroring
