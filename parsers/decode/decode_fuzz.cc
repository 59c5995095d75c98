// The first byte of the input is the link type; the second is the number of wire bytes that were not captured.
#include <cstdlib>

#include "parsers/api/flow_hash.h"
#include "parsers/api/telemetry.h"

using namespace tapline;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const RawPacket raw{.data = data + 2,
                      .captured_bytes = static_cast<uint32_t>(size - 2),
                      .wire_bytes = static_cast<uint32_t>(size - 2 + data[1]),
                      .time_ns = 0,
                      .link = static_cast<LinkType>(data[0] % 6)};
  Packet packet;
  if (decode(raw, FlowHasher(HashKey{1, 2}), &packet) != DecodeOutcome::kOk) return 0;
  const auto payload = packet.payload();
  if (payload.size() > packet.payload_bytes || packet.payload_offset + payload.size() > raw.captured_bytes)
    std::abort();
  unsigned sum = 0;
  if (Telemetry telemetry; read_telemetry(packet, &telemetry)) {
    if (telemetry.hops > 252) std::abort();
    for (const Hop& hop : telemetry.path) {
      if (!telemetry.has_ports && (hop.ingress_port & hop.egress_port) != Hop::kNoPort) std::abort();
      if (!telemetry.has_queue_depth && hop.queue_id != Hop::kNoQueue) std::abort();
      sum += hop.switch_id + static_cast<unsigned>(hop.time_ns) + hop.egress_port + hop.queue_id;
    }
  }
  for (const uint8_t byte : payload) sum += byte;
  return sum == UINT32_MAX ? 1 : 0;
}
