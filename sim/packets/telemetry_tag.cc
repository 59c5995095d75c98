#include "sim/packets/telemetry_tag.h"

#include <ns3/tag-buffer.h>

namespace tapline::packets {

NS_OBJECT_ENSURE_REGISTERED(TelemetryTag);

ns3::TypeId TelemetryTag::GetTypeId() {
  static const ns3::TypeId id =
      ns3::TypeId("tapline::TelemetryTag").SetParent<ns3::Tag>().AddConstructor<TelemetryTag>();
  return id;
}

uint32_t TelemetryTag::GetSerializedSize() const { return 4 + 29 * static_cast<uint32_t>(hops.size()); }

void TelemetryTag::Serialize(ns3::TagBuffer buffer) const {
  buffer.WriteU8(retransmitted);
  buffer.WriteU16(ingress_port);
  buffer.WriteU8(static_cast<uint8_t>(hops.size()));
  for (const HopRecord& hop : hops) {
    buffer.WriteU32(hop.switch_id);
    buffer.WriteU16(hop.ingress_port);
    buffer.WriteU16(hop.egress_port);
    buffer.WriteU8(hop.queue_id);
    buffer.WriteU32(hop.queue_packets);
    buffer.WriteU64(hop.entered_ns);
    buffer.WriteU64(hop.left_ns);
  }
}

void TelemetryTag::Deserialize(ns3::TagBuffer buffer) {
  retransmitted = buffer.ReadU8() != 0;
  ingress_port = buffer.ReadU16();
  hops.resize(buffer.ReadU8());
  for (HopRecord& hop : hops) {
    hop.switch_id = buffer.ReadU32();
    hop.ingress_port = buffer.ReadU16();
    hop.egress_port = buffer.ReadU16();
    hop.queue_id = buffer.ReadU8();
    hop.queue_packets = buffer.ReadU32();
    hop.entered_ns = buffer.ReadU64();
    hop.left_ns = buffer.ReadU64();
  }
}

void TelemetryTag::Print(std::ostream& out) const {
  for (const HopRecord& hop : hops) out << hop.switch_id << ' ';
}

}  // namespace tapline::packets
