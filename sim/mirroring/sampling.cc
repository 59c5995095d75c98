#include "sim/mirroring/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tapline::mirroring {
namespace {

constexpr uint32_t kFramingBytes = 24;  // frame check sequence, preamble and inter-frame gap

// Adds the idle times of the senders' links, as the number of 1,500-byte packets that would have fitted into them.
void add_sender_gaps(const Observation& seen, int64_t from_ns, uint64_t link_bits_per_second, Sampling* sampling) {
  const double ns_per_byte = 8e9 / static_cast<double>(link_bits_per_second);
  std::vector<double> free_ns(seen.flows, -1);
  for (const SentPacket& packet : seen.sent) {
    if (packet.payload_bytes == 0 || packet.sent_ns < from_ns) continue;
    double& free = free_ns[packet.flow];
    const auto sent = static_cast<double>(packet.sent_ns);
    if (free >= 0) {
      const double mtu = (sent - free) / ns_per_byte / kMtuBytes;
      if (mtu > 0.1) sampling->sender_gap_mtu.push_back(mtu);
    }
    free = sent + (packet.wire_bytes + kFramingBytes) * ns_per_byte;
  }
}

}  // namespace

Sampling sampling_of(const Observation& seen, int64_t from_ns, uint64_t link_bits_per_second) {
  constexpr double kNever = -1;
  Sampling sampling;
  sampling.samples_by_flow.assign(seen.flows, 0);
  std::vector<double> left_at(seen.flows,
                              kNever);  // position at the end of the flow's last burst, in MTUs since the beginning
  double total = 0, burst = 0;
  uint32_t current = seen.flows;
  const auto end_burst = [&] {
    if (current == seen.flows) return;
    sampling.burst_mtu.push_back(burst);
    left_at[current] = total;
  };
  for (const Copy& copy : seen.copies) {
    const SentPacket& packet = seen.sent[copy.packet];
    if (copy.time_ns < from_ns || packet.payload_bytes == 0) continue;
    if (packet.flow != current) {
      end_burst();
      current = packet.flow;
      burst = 0;
      if (left_at[current] != kNever) sampling.gap_mtu.push_back(total - left_at[current]);
    }
    const double mtu = std::ceil(packet.payload_bytes / kMtuBytes);
    burst += mtu;
    total += mtu;
    ++sampling.samples_by_flow[current];
  }
  end_burst();
  add_sender_gaps(seen, from_ns, link_bits_per_second, &sampling);
  return sampling;
}

std::vector<double> sample_delays_us(const Observation& seen, int64_t from_ns) {
  std::vector<double> delays;
  for (const Copy& copy : seen.copies) {
    const SentPacket& packet = seen.sent[copy.packet];
    if (copy.time_ns < from_ns || packet.payload_bytes == 0) continue;
    delays.push_back(static_cast<double>(copy.time_ns - packet.sent_ns) / 1e3);
  }
  return delays;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto index = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<size_t>(index)];
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

double share_within(const std::vector<double>& values, double limit) {
  const auto within =
      std::count_if(values.begin(), values.end(), [limit](double value) { return value <= limit + 1e-9; });
  return values.empty() ? 0 : static_cast<double>(within) / static_cast<double>(values.size());
}

}  // namespace tapline::mirroring
