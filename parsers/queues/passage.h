#pragma once

#include <cstdint>

namespace tapline::queues {

// One packet's passage through a queue, known once the packet has left. Times are nanoseconds of the departures' clock.
//
// The true arrival lies between `earliest_ns` and `latest_ns`. If it is certain, `arrival_ns` equals both.
struct Passage {
  uint64_t flow_key = 0;  // keyed hash of a 5-tuple, a pair or a destination; those of different flows differ
  int64_t departure_ns = 0;
  int64_t arrival_ns = 0;  // valid if arrival_known
  int64_t earliest_ns = 0;
  int64_t latest_ns = 0;
  uint32_t bytes = 0;
  uint32_t tag = 0;  // tag of the departure's view
  bool arrival_known = false;

  int64_t delay_ns() const { return departure_ns - arrival_ns; }
  bool is_certain() const { return arrival_known && earliest_ns == latest_ns; }

  static Passage certain(uint64_t flow_key, int64_t arrival_ns, int64_t departure_ns, uint32_t bytes) {
    return {flow_key, departure_ns, arrival_ns, arrival_ns, arrival_ns, bytes, 0, true};
  }
};

}  // namespace tapline::queues
