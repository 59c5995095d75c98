// Frames in memory, and triggers that they match, modelled on Trumpet's experiments (SIGCOMM 2016, section 6): 64-byte
// frames, and wildcard patterns, triggers per packet and packets per flow as parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parsers/api/packet.h"
#include "parsers/packets/sample.h"
#include "parsers/trigger/trigger.h"

namespace tapline::bench {

struct WorkloadOptions {
  uint32_t triggers = 4096;
  uint32_t triggers_per_packet = 8;
  uint32_t patterns = 32;  // combinations of prefix lengths and ports among the filters, 1 to 64
  uint32_t flows = 300;    // flows active at a time
  uint32_t packets_per_flow = 10;
  bool syn_flood = false;    // only SYNs, each from a new flow
  double syn_share = 0;      // share of SYNs that are mixed into the flows' packets
  double covered = 1;        // share of the packets that match triggers
  bool adversarial = false;  // random prefixes and ports, and addresses that fall into them
  // One trigger in this many counts retransmitted bytes; 0: none.
  uint32_t retransmission_triggers_in = 0;
  int64_t window_ns = 10'000'000;
  double packets_per_second = 14.88e6;  // in packet time
  uint32_t frames = 1 << 18;            // at 64 bytes each, they stay in the third-level cache, like frames from a NIC
  uint32_t frame_bytes = 64;            // as on the wire, with the frame check sequence
  trigger::GroupBy group = {};          // the grouping of all triggers
  bool plain_thresholds = true;         // false: the engine does not recognise that conditions are thresholds
  trigger::Expression when = {};        // if not empty: the condition of all triggers
  uint32_t wire_sizes = 1;              // number of different packet sizes; frame_bytes of each packet are captured
};

class Workload {
 public:
  explicit Workload(const WorkloadOptions& options);

  const std::vector<trigger::Trigger>& triggers() const { return triggers_; }
  const WorkloadOptions& options() const { return options_; }
  // Returns a packet. The frames repeat endlessly, in packet time that advances evenly.
  RawPacket packet(uint64_t number) const {
    RawPacket raw;
    raw.data = memory_.data() + (number & (options_.frames - 1)) * stride_;
    raw.captured_bytes = options_.frame_bytes;
    raw.wire_bytes = options_.frame_bytes + static_cast<uint32_t>(number * 0x9e3779b9 >> 16) % options_.wire_sizes;
    raw.time_ns = kStartNs + static_cast<int64_t>(static_cast<double>(number) * packet_ns_);
    return raw;
  }
  uint64_t packets_per_window() const {
    return static_cast<uint64_t>(static_cast<double>(options_.window_ns) / packet_ns_);
  }

  int64_t window_start_ns(uint64_t window) const {
    return kStartNs + static_cast<int64_t>(window) * options_.window_ns;
  }
  // Returns the number of the window's first packet.
  uint64_t first_packet(uint64_t window) const {
    const double at_ns = static_cast<double>(static_cast<int64_t>(window) * options_.window_ns);
    auto number = static_cast<uint64_t>(at_ns / packet_ns_);
    if (number > 0) --number;
    while (packet(number).time_ns < window_start_ns(window)) ++number;
    return number;
  }

 private:
  static constexpr int64_t kStartNs =
      1'700'000'000'000'000'000;  // a boundary of windows of any length that divides a second
  struct Flow {
    uint32_t src, dst;
    uint16_t src_port, dst_port;
    uint32_t seq;
    uint32_t left;
  };

  void make_triggers();
  void make_random_triggers();
  void make_frames();
  Flow new_flow();
  Flow random_flow();
  uint32_t random();
  trigger::Expression condition(uint32_t number);
  void write(uint8_t* frame, const Flow& flow, uint8_t flags) const;

  WorkloadOptions options_;
  double packet_ns_;
  size_t stride_;  // distance between frames, in whole cache lines
  uint64_t state_ = 88172645463325252;
  std::vector<trigger::Trigger> triggers_;
  std::vector<uint8_t> memory_;
};

}  // namespace tapline::bench
