// The simulation's own record of events, for comparison with a diagnosis.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/packets/telemetry_tag.h"

namespace tapline::packets {

struct FlowSpec {
  uint32_t from, to;
  uint8_t tos = 0;
  double start_s = 0, stop_s = 1;
  // The application's rate; if 0, it sends as fast as TCP permits.
  uint64_t bits_per_second = 0;
  std::string source, destination;  // address:port, set by the run
};

class Truth {
 public:
  explicit Truth(std::vector<FlowSpec> flows) : flows_(std::move(flows)), of_flow_(flows_.size()) {}

  void dropped(uint32_t switch_id, size_t flow, uint32_t seq);
  void captured(uint32_t host) { ++captured_[host]; }
  // Records the delivery of a segment with data.
  void delivered(size_t flow, const TelemetryTag& tag, uint32_t payload_bytes);
  void set_source(size_t flow, const std::string& endpoint) { flows_[flow].source = endpoint; }
  // Returns the truth as JSON.
  std::string text(const std::string& scenario, uint64_t link_bits_per_second, uint32_t queue_packets) const;

 private:
  struct OfFlow {
    uint64_t segments = 0, retransmitted = 0, payload_bytes = 0;
    std::map<std::vector<uint32_t>, uint64_t> paths;
    // Number of dropped packets, by switch and first sequence number.
    std::map<uint32_t, std::map<uint32_t, uint32_t>> drops;
  };
  std::string text_of(size_t flow) const;

  std::vector<FlowSpec> flows_;
  std::vector<OfFlow> of_flow_;
  std::map<uint32_t, uint64_t> captured_;  // by host
};

}  // namespace tapline::packets
