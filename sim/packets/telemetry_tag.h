// The records that switches write into a packet on its way. The simulation carries them outside the packet, so they
// take no time on links; capture_file.h writes them as bytes.
#pragma once

#include <ns3/tag.h>

#include <cstdint>
#include <vector>

namespace tapline::packets {

struct HopRecord {
  uint32_t switch_id = 0;
  uint16_t ingress_port = 0, egress_port = 0;  // ns-3's interface numbers
  uint8_t queue_id = 0;                        // class of service
  uint32_t queue_packets = 0;  // number of packets that were in the port's queues when this packet arrived
  uint64_t entered_ns = 0, left_ns = 0;
};

class TelemetryTag final : public ns3::Tag {
 public:
  static ns3::TypeId GetTypeId();
  ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  uint32_t GetSerializedSize() const override;
  void Serialize(ns3::TagBuffer buffer) const override;
  void Deserialize(ns3::TagBuffer buffer) override;
  void Print(std::ostream& out) const override;

  // True if the sender had already sent these bytes; known only to the simulation.
  bool retransmitted = false;
  uint16_t ingress_port = 0;    // ingress port at the switch that is processing the packet
  std::vector<HopRecord> hops;  // in path order
};

}  // namespace tapline::packets
