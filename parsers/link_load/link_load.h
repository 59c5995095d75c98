#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/rates/mirror_queue.h"
#include "parsers/rates/routes.h"

namespace tapline {

// What the parser's arguments will set, once queries can pass them, and what is known of the tap.
struct LinkLoadOptions {
  int64_t interval_ns = kIntervalNs;      // of the calls to on_interval()
  uint64_t link_bits_per_second = 0;      // the speed of the switch's links; 0: unknown
  rates::MirrorPort mirror = {};          // the port that sends the copies
  uint32_t max_flows = 1 << 16;           // directions of flows that are followed by their sequence numbers
  std::string switch_name = {};           // which switch made the copies; empty: unknown
  uint32_t switch_number = 0;             // the same in `routes`
  const rates::Routes* routes = nullptr;  // null: no port is known, and all traffic is summed as one
};

std::unique_ptr<Parser> make_link_load(const LinkLoadOptions& options);

}  // namespace tapline
