#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "parsers/queues/passage.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline::queues::testing {

// Returns the number in an environment variable, which `make soak` sets to run a test longer, or the default.
inline uint64_t count_of(const char* variable, uint64_t by_default) {
  const char* text = std::getenv(variable);
  return text == nullptr ? by_default : std::strtoull(text, nullptr, 10);
}

// A packet of the model, with its true times.
struct SimPacket {
  uint64_t digest = 0;
  uint64_t flow_key = 0;
  int64_t arrival_ns = 0;
  int64_t departure_ns = 0;  // meaningless if dropped
  uint32_t bytes = 0;
  bool dropped = false;
  bool identified = true;
};

struct TrafficOptions {
  uint32_t packets = 1000;
  uint32_t flows = 20;
  double load = 0.9;          // mean load of the link
  double burst_share = 0.02;  // share of packets that start a burst, mostly of one flow, at 3 times the link's rate
  double equal_share = 0;     // share of packets that equal others of their flow and are not identified
  int64_t ns_per_byte_thousandth = 800;  // 0.8 ns: 10 Gb/s
  uint64_t buffer_bytes = 1 << 20;       // packets that don't fit are dropped
  int64_t resolution_ns = 1;             // resolution of all times
};

// Simulates random traffic through a FIFO queue of a known rate with a bounded buffer, in order of arrival. The same
// seed gives the same result.
std::vector<SimPacket> simulate(const TrafficOptions& options, uint32_t seed);

// Returns the passages in order of departure.
std::vector<Passage> passages_of(const std::vector<SimPacket>& packets);

struct TapOptions {
  double arrivals_lost = 0, departures_lost = 0;
  int64_t departures_late_ns = 0;  // time by which the departures' clock is ahead of the arrivals' clock
  int64_t reordering_ns = 0;       // each tap delivers packets up to this long after their timestamp
};

// A packet that a tap shows. tapped() returns events in order of delivery.
struct TapEvent {
  View view;
  size_t packet;  // index among all packets
  bool departure;
};
std::vector<TapEvent> tapped(const std::vector<SimPacket>& packets, const TapOptions& options, uint32_t seed);

}  // namespace tapline::queues::testing
