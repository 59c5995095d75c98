#pragma once

#include <cstdint>

#include "parsers/queues/flow_table.h"
#include "parsers/queues/passage.h"

namespace tapline::queues {

// Accounts for the time that packets wait. Each nanosecond is blamed on the flow that the link served at that time,
// which may be the waiting packet's own. So the total wait of all flows equals their total blame plus unknown_ns(). Not
// thread-safe.
//
// A departure is blamed by each packet that waits while it is served: itself, and packets that leave later but arrived
// before it left. With g = the number of packets settled so far, a flow's blame is
//
//   Σ own service time + (g when it left the window - g when it entered) × service time
//     =   settled + g × Σ service time in the window
//
// so a packet costs constant time, regardless of the number of packets that it waited for. Sums wrap around, and are
// correct once all terms are added.
class WaitLedger {
 public:
  // Records that a departure of the flow entered or left the window, which contains the departures before a packet's
  // own departure but not before its arrival.
  void entered(QueueFlow& flow, int64_t service_ns) const { count(flow, static_cast<uint64_t>(service_ns)); }
  void left(QueueFlow& flow, int64_t service_ns) const { count(flow, -static_cast<uint64_t>(service_ns)); }

  // Settles a packet of the flow `own`, which the link served from start_ns until its departure. The first departure in
  // its window, or the packet itself if the window is empty, belongs to the flow `first`; its service began at
  // first_start_ns.
  void settle(const Passage& passage, QueueFlow& own, int64_t start_ns, QueueFlow& first, int64_t first_start_ns) {
    ++settled_;
    own.waited_ns += static_cast<uint64_t>(passage.delay_ns());
    own.settled_ns += static_cast<uint64_t>(passage.departure_ns - start_ns);
    // The packet waited for only part of the first departure's service.
    if (passage.arrival_ns >= first_start_ns) {
      first.settled_ns -= static_cast<uint64_t>(passage.arrival_ns - first_start_ns);
    } else {
      unknown_ns_ += static_cast<uint64_t>(first_start_ns - passage.arrival_ns);
    }
  }

  uint64_t blamed_ns(const QueueFlow& flow) const { return flow.settled_ns + settled_ * flow.service_ns; }
  // Resets the flow's sums to 0.
  void clear(QueueFlow& flow) const {
    flow.waited_ns = 0;
    flow.settled_ns = -settled_ * flow.service_ns;
  }

  // Returns the time that packets waited for others that precede the log's first departure.
  uint64_t unknown_ns() const { return unknown_ns_; }

 private:
  void count(QueueFlow& flow, uint64_t service_ns) const {
    flow.service_ns += service_ns;
    flow.settled_ns -= settled_ * service_ns;
  }

  uint64_t settled_ = 0;
  uint64_t unknown_ns_ = 0;
};

}  // namespace tapline::queues
