#include "parsers/queues/testing/queue_simulator.h"

#include <algorithm>
#include <deque>

namespace tapline::queues::testing {
namespace {

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double uniform(std::mt19937& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

// Returns a random flow. Some flows are much larger than others.
uint64_t random_flow(const TrafficOptions& options, std::mt19937& random) {
  return static_cast<uint64_t>(uniform(random) * uniform(random) * options.flows);
}

SimPacket random_packet(const TrafficOptions& options, uint64_t number, uint64_t flow, std::mt19937& random) {
  SimPacket packet;
  packet.flow_key = mixed(flow + 1);
  packet.bytes = uniform(random) < 0.4 ? 64 : 64 + static_cast<uint32_t>(uniform(random) * 1450);
  packet.identified = uniform(random) >= options.equal_share;
  if (!packet.identified) packet.bytes = 66;
  packet.digest = mixed(packet.identified ? number + (uint64_t{1} << 40) : flow + (uint64_t{2} << 40));
  return packet;
}

}  // namespace

std::vector<SimPacket> simulate(const TrafficOptions& options, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<SimPacket> packets;
  std::deque<SimPacket> queue;
  uint64_t queued_bytes = 0;
  int64_t free_ns = 0, now_ns = 1'000'000'000'000;
  uint32_t burst = 0;       // packets remaining in the burst
  uint64_t burst_flow = 0;  // sends most of the burst
  const auto rounded = [&](int64_t ns) { return ns / options.resolution_ns * options.resolution_ns; };
  const auto service_ns = [&](uint32_t bytes) { return bytes * options.ns_per_byte_thousandth / 1000; };
  for (uint32_t number = 0; number < options.packets; ++number) {
    if (burst == 0 && uniform(random) < options.burst_share) {
      burst = 20 + random() % 100;
      burst_flow = random_flow(options, random);
    }
    const bool of_burst = burst > 0 && uniform(random) < 0.6;
    SimPacket packet = random_packet(options, number, of_burst ? burst_flow : random_flow(options, random), random);
    const double load = burst > 0 ? 3 : options.load * 0.6;
    burst -= burst > 0;
    const double mean_ns = static_cast<double>(service_ns(packet.bytes)) / load;
    now_ns += 1 + static_cast<int64_t>(std::exponential_distribution<double>(1 / mean_ns)(random));
    while (!queue.empty() && queue.front().departure_ns <= now_ns) {
      queued_bytes -= queue.front().bytes;
      queue.pop_front();
    }
    packet.arrival_ns = rounded(now_ns);
    packet.dropped = queued_bytes + packet.bytes > options.buffer_bytes;
    if (!packet.dropped) {
      free_ns = std::max(free_ns, now_ns) + service_ns(packet.bytes);
      packet.departure_ns = rounded(free_ns);
      queued_bytes += packet.bytes;
      queue.push_back(packet);
      queue.back().departure_ns = free_ns;
    }
    packets.push_back(packet);
  }
  return packets;
}

std::vector<Passage> passages_of(const std::vector<SimPacket>& packets) {
  std::vector<Passage> passages;
  for (const SimPacket& packet : packets) {
    if (!packet.dropped)
      passages.push_back(Passage::certain(packet.flow_key, packet.arrival_ns, packet.departure_ns, packet.bytes));
  }
  return passages;
}

std::vector<TapEvent> tapped(const std::vector<SimPacket>& packets, const TapOptions& options, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<int64_t, TapEvent>> delivered;
  const auto show = [&](size_t i, int64_t time_ns, bool is_departure, double lost) {
    if (uniform(random) < lost) return;
    const SimPacket& packet = packets[i];
    const auto late_ns = static_cast<int64_t>(uniform(random) * static_cast<double>(options.reordering_ns));
    const View view{packet.digest, packet.flow_key, time_ns, packet.bytes, packet.identified};
    delivered.push_back({time_ns + late_ns, {view, i, is_departure}});
  };
  for (size_t i = 0; i < packets.size(); ++i) {
    show(i, packets[i].arrival_ns, false, options.arrivals_lost);
    if (!packets[i].dropped)
      show(i, packets[i].departure_ns + options.departures_late_ns, true, options.departures_lost);
  }
  std::stable_sort(delivered.begin(), delivered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TapEvent> events;
  for (auto& [time_ns, event] : delivered) events.push_back(event);
  return events;
}

}  // namespace tapline::queues::testing
