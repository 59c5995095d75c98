// The latest flows among a group's tuples, for the events of triggers on tuples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "parsers/api/flow_text.h"
#include "parsers/api/tuple.h"

namespace tapline {

// Takes up to about 400 bytes, so up to 26 MB for the TupleTriggers::kMaxGroups groups of a trigger.
class LatestFlows {
 public:
  static constexpr size_t kMax = 8;

  // Adds the tuple's flow, unless the tuple has no addresses. If there are kMax other flows, evicts the least recently
  // seen one.
  void add(const TupleHeader& header) {
    if (header.src_ip == IpAddress() && header.dst_ip == IpAddress()) return;
    for (Flow& flow : flows_) {
      if (!flow.has_ends_of(header)) continue;
      flow.latest_ns = header.time_ns;
      return;
    }
    const Flow added = {header.time_ns, header.src_ip, header.dst_ip, header.src_port, header.dst_port};
    if (flows_.size() < kMax) {
      flows_.push_back(added);
    } else {
      *std::min_element(flows_.begin(), flows_.end(),
                        [](const Flow& a, const Flow& b) { return a.latest_ns < b.latest_ns; }) = added;
    }
  }

  // Appends the flows that have had a tuple since this time, from client to server and separated by spaces:
  // "10.0.0.1:40000-10.0.0.2:80".
  void append_since(int64_t time_ns, std::string* text) const {
    for (const Flow& flow : flows_) {
      if (flow.latest_ns < time_ns) continue;
      if (!text->empty()) *text += ' ';
      append_flow(flow.src_ip, flow.src_port, flow.dst_ip, flow.dst_port, text);
    }
  }

 private:
  struct Flow {
    int64_t latest_ns;
    IpAddress src_ip, dst_ip;
    uint16_t src_port, dst_port;

    bool has_ends_of(const TupleHeader& header) const {
      return src_ip == header.src_ip && dst_ip == header.dst_ip && src_port == header.src_port &&
             dst_port == header.dst_port;
    }
  };

  std::vector<Flow> flows_;
};

}  // namespace tapline
