#include "sim/packets/truth.h"

#include <sstream>

namespace tapline::packets {

void Truth::dropped(uint32_t switch_id, size_t flow, uint32_t seq) { ++of_flow_[flow].drops[switch_id][seq]; }

void Truth::delivered(size_t flow, const TelemetryTag& tag, uint32_t payload_bytes) {
  OfFlow& flow_truth = of_flow_[flow];
  ++flow_truth.segments;
  flow_truth.retransmitted += tag.retransmitted;
  flow_truth.payload_bytes += payload_bytes;
  std::vector<uint32_t> path;
  for (const HopRecord& hop : tag.hops) path.push_back(hop.switch_id);
  ++flow_truth.paths[path];
}

std::string Truth::text_of(size_t flow) const {
  const FlowSpec& spec = flows_[flow];
  const OfFlow& flow_truth = of_flow_[flow];
  std::ostringstream out;
  out << "{\"source\":\"" << spec.source << "\",\"destination\":\"" << spec.destination << "\",\"receiver\":\"h"
      << spec.to << "\",\"tos\":" << unsigned{spec.tos} << ",\"segments\":" << flow_truth.segments
      << ",\"retransmitted\":" << flow_truth.retransmitted << ",\"payload_bytes\":" << flow_truth.payload_bytes
      << ",\"paths\":[";
  const char* comma = "";
  for (const auto& [path, packets] : flow_truth.paths) {
    out << comma << "{\"switches\":[";
    for (size_t i = 0; i < path.size(); ++i) out << (i == 0 ? "" : ",") << path[i];
    out << "],\"segments\":" << packets << '}';
    comma = ",";
  }
  out << "],\"drops\":[";
  comma = "";
  for (const auto& [switch_id, by_seq] : flow_truth.drops) {
    uint64_t packets = 0;
    for (const auto& [seq, count] : by_seq) packets += count;
    out << comma << "{\"switch\":" << switch_id << ",\"packets\":" << packets << ",\"segments\":" << by_seq.size()
        << '}';
    comma = ",";
  }
  out << "]}";
  return out.str();
}

std::string Truth::text(const std::string& scenario, uint64_t link_bits_per_second, uint32_t queue_packets) const {
  std::ostringstream out;
  out << "{\"scenario\":\"" << scenario << "\",\"link_bits_per_second\":" << link_bits_per_second
      << ",\"queue_packets\":" << queue_packets << ",\"captured\":{";
  const char* comma = "";
  for (const auto& [host, packets] : captured_) {
    out << comma << "\"h" << host << "\":" << packets;
    comma = ",";
  }
  out << "},\"flows\":[";
  for (size_t i = 0; i < flows_.size(); ++i) out << (i == 0 ? "\n " : ",\n ") << text_of(i);
  out << "\n]}\n";
  return out.str();
}

}  // namespace tapline::packets
