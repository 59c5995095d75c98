#pragma once

#include <cmath>
#include <string>

#include "parsers/api/flow_text.h"
#include "parsers/rates/link_flows.h"

namespace tapline::rates {

inline void append_bits(double bits_per_second, std::string* text) {
  *text += std::isfinite(bits_per_second) ? std::to_string(std::llround(bits_per_second)) : "null";
}

// Returns the flows as a JSON array of [flow, bits/s, lower bound, upper bound], with null for an unknown rate and for
// a missing upper bound: [["10.0.0.1:40000-10.0.0.2:80/tcp",812000000,790000000,830000000]]. The text is at most 12 KiB
// long.
inline std::string text_of(const LinkFlows::List& list) {
  std::string text = "[";
  for (const LinkFlows::Flow& flow : list.flows) {
    text += text.size() == 1 ? "[\"" : ",[\"";
    append_flow(flow.ends.src_ip, flow.ends.src_port, flow.ends.dst_ip, flow.ends.dst_port, flow.ends.protocol, &text);
    text += "\",";
    append_bits(flow.bits_per_second.value, &text);
    text += ',';
    append_bits(flow.bits_per_second.low, &text);
    text += ',';
    append_bits(flow.bits_per_second.high, &text);
    text += ']';
  }
  return text + "]";
}

}  // namespace tapline::rates
