#include "sim/mirroring/testing/replay.h"

#include <algorithm>
#include <cmath>

namespace tapline::mirroring::testing {
namespace {

constexpr uint32_t kCheckBytes = 4, kFramingBytes = 24;

Observation sent_by(const std::vector<rates::testing::FlowSpec>& flows, const rates::testing::MirrorRun& run,
                    std::vector<int64_t>* arrivals_ns) {
  std::vector<const rates::testing::SentPacket*> order;
  for (const auto& packet : run.sent) order.push_back(&packet);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->sent_ns < b->sent_ns; });
  Observation seen;
  seen.flows = static_cast<uint32_t>(flows.size());
  for (const auto* original : order) {
    SentPacket packet;
    packet.sent_ns = original->sent_ns;
    packet.sent_before = original->sent_before;
    packet.flow = original->flow;
    packet.udp = flows[original->flow].udp;
    packet.seq = original->seq;
    packet.payload_bytes = original->payload_bytes;
    packet.wire_bytes = original->wire_bytes;
    seen.sent.push_back(packet);
    arrivals_ns->push_back(original->arrival_ns);
  }
  return seen;
}

}  // namespace

Observation replay(const std::vector<rates::testing::FlowSpec>& flows, const ReplayOptions& options, uint64_t seed) {
  rates::testing::MirrorSpec links;
  links.link_bits_per_second = options.bits_per_second;
  std::vector<int64_t> arrivals_ns;
  Observation seen = sent_by(flows, rates::testing::run_mirror(flows, links, seed), &arrivals_ns);
  std::vector<uint32_t> order(seen.sent.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return arrivals_ns[a] < arrivals_ns[b]; });
  SharedBuffer buffer(options.buffer_bytes, options.alpha);
  PortQueue<uint32_t> queue(&buffer, options.schedule, flows.size(), options.limit_bytes);
  int64_t free_ns = 0;
  const auto send_until = [&](int64_t time_ns) {
    for (uint32_t packet; free_ns <= time_ns && queue.dequeue(&packet);) {
      const double bytes = seen.sent[packet].wire_bytes + kFramingBytes;
      free_ns += std::llround(bytes * 8e9 / static_cast<double>(options.bits_per_second));
      seen.copies.push_back({free_ns, packet});
    }
  };
  for (const uint32_t packet : order) {
    const int64_t now_ns = arrivals_ns[packet];
    send_until(now_ns);
    free_ns = std::max(free_ns, now_ns);
    queue.enqueue(seen.sent[packet].flow, packet, seen.sent[packet].wire_bytes + kCheckBytes);
    if (seen.first_drop_ns < 0 && queue.account().dropped() > 0) seen.first_drop_ns = now_ns;
    send_until(now_ns);
  }
  send_until(INT64_MAX - 1'000'000);
  seen.mirrored = queue.account().arrived;
  seen.mirrored_dropped = queue.account().dropped();
  return seen;
}

}  // namespace tapline::mirroring::testing
