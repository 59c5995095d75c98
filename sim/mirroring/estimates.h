#pragma once

#include <cstdint>
#include <vector>

#include "parsers/rates/burst_windows.h"
#include "parsers/rates/flow_rate_estimate.h"
#include "sim/mirroring/observation.h"

namespace tapline::mirroring {

struct EstimateOptions {
  rates::MirrorPort mirror;
  rates::BurstLimits bursts;
  uint64_t link_bits_per_second = 10'000'000'000;
  int64_t every_ns = 1'000'000;  // length of the intervals for which rates are estimated
  // A copy's delay over idle links and through an empty queue, measured from the packet's first bit on the sender's
  // link.
  int64_t path_ns = 0;
};

// The estimated and the true rate of one direction of a flow.
struct Estimate {
  uint32_t flow = 0;
  bool udp = false;
  int64_t ready_ns = 0;             // time at which the collector had the estimate
  int64_t from_ns = 0, to_ns = 0;   // the estimate's interval, on the sender's clock
  rates::Bounded bits_per_second;   // the value is NaN if the rate is unknown
  double true_bits_per_second = 0;  // rate sent on the sender's link between from_ns and to_ns
  rates::Method method = rates::Method::kUnknown;
  // True if the mirror queue was not filling: it had already dropped a copy, or never drops any.
  bool steady = false;

  bool within() const {
    return bits_per_second.low <= true_bits_per_second * (1 + 1e-9) &&
           true_bits_per_second <= bits_per_second.high * (1 + 1e-9);
  }
  // Returns the relative error, or NaN if the rate is unknown.
  double error() const { return (bits_per_second.value - true_bits_per_second) / true_bits_per_second; }
};

// The times at which a sample with payload was sent, and at which the estimate that includes it was made.
struct Wait {
  int64_t sent_ns, ready_ns;
};

struct Estimates {
  std::vector<Estimate> bursts;     // an estimate per window of a TCP flow (Planck section 3.2.2)
  std::vector<Estimate> intervals;  // an estimate per interval and flow, like those that the parser flow_rate emits
  std::vector<Wait> waits;
};

// Sends the copies through the estimators that the parsers flow_rate and link_load run (parsers/rates). Reports only
// the direction from client to server, which carries the payload.
Estimates estimate(const Observation& seen, const EstimateOptions& options);

// Makes the estimates that the paper warns against (Figure 10a), ten per window: the rate of the flow's captured bytes
// in the last `window_ns`. They have no bounds.
std::vector<Estimate> rolling_averages(const Observation& seen, uint32_t flow, int64_t window_ns,
                                       const EstimateOptions& options);

// Returns the microseconds from a sample's first bit to its estimate, for the samples sent at `from_ns` or later.
std::vector<double> waits_us(const std::vector<Wait>& waits, int64_t from_ns);

// Returns the collector's view of a copy of a TCP segment.
rates::TcpSample sample_of(const SentPacket& packet, int64_t time_ns);

}  // namespace tapline::mirroring
