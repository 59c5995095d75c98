#pragma once

#include <cstdint>
#include <memory>

#include "parsers/api/parser.h"
#include "parsers/rates/burst_windows.h"
#include "parsers/rates/mirror_queue.h"

namespace tapline {

// What the parser's arguments will set, once queries can pass them, and what is known of the tap.
struct FlowRateOptions {
  int64_t interval_ns = kIntervalNs;  // of the calls to on_interval()
  uint64_t link_bits_per_second = 0;  // the speed of the links that the flows cross; 0: unknown
  rates::MirrorPort mirror = {};      // the port that sends the copies
  uint32_t max_flows = 1 << 16;       // directions of flows that are followed by their sequence numbers
};

std::unique_ptr<Parser> make_flow_rate(const FlowRateOptions& options);

}  // namespace tapline
