#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "parsers/api/parser.h"
#include "parsers/queues/packet_identity.h"
#include "parsers/queues/queue_contents.h"
#include "parsers/queues/tap_matcher.h"

namespace tapline {

// Where a packet was copied. Digests are equal for views of one packet, and differ for different packets.
struct QueueView {
  enum class Side : uint8_t { kNone, kArrival, kDeparture };
  Side side = Side::kNone;
  uint32_t queue = 0;  // index into QueueFlowsOptions::queues
  uint64_t digest = 0;
};

// What the parser's arguments and the monitor's taps set.
struct QueueFlowsOptions {
  int64_t delay_ns = 500'000;   // a flow is reported if one of its packets waited so long,
  double share = 0.01;          // and its flow then had this share of the queue's bytes
  int64_t every_ns = kNsPerMs;  // and then once in each such interval of packet time
  queues::FlowUnit flow = queues::FlowUnit::kFiveTuple;
  std::vector<std::string> queues;                  // their names
  std::function<QueueView(const Packet&)> view_of;  // null: no taps
  queues::MatchOptions match;
  queues::ContentsOptions contents;
};

std::unique_ptr<Parser> make_queue_flows(QueueFlowsOptions options);

}  // namespace tapline
