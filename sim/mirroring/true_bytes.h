#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

// The bytes put on the sender's link in one direction of a flow, by time. A packet's bytes are spread over its
// transmission time; if they all counted at one time, short intervals would exceed the link's speed.
class TrueBytes {
 public:
  TrueBytes(const Observation& seen, uint64_t link_bits_per_second)
      : ns_per_byte_(8e9 / static_cast<double>(link_bits_per_second)), sent_(seen.flows * 2) {
    for (const SentPacket& packet : seen.sent) sent_[side_of(packet)].push_back(&packet);
  }

  static size_t side_of(const SentPacket& packet) { return packet.flow * 2 + packet.from_server; }

  // Returns the bytes sent in [from_ns, to_ns).
  double between(size_t side, int64_t from_ns, int64_t to_ns) const {
    return before(side, to_ns) - before(side, from_ns);
  }

 private:
  double before(size_t side, int64_t time_ns) const {
    const auto& sent = sent_[side];
    const auto next = std::lower_bound(sent.begin(), sent.end(), time_ns,
                                       [](const SentPacket* packet, int64_t at_ns) { return packet->sent_ns < at_ns; });
    if (next == sent.begin()) return 0;
    const SentPacket& last = **(next - 1);
    const double bytes = static_cast<double>(time_ns - last.sent_ns) / ns_per_byte_;
    return static_cast<double>(last.sent_before) + std::min(bytes, static_cast<double>(last.wire_bytes));
  }

  double ns_per_byte_;
  std::vector<std::vector<const SentPacket*>> sent_;
};

}  // namespace tapline::mirroring
