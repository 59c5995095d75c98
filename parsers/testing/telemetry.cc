#include "parsers/testing/telemetry.h"

#include <bit>

namespace tapline::testing {
namespace {

void put(Bytes* frame, uint64_t value, int bytes) {
  while (bytes-- > 0) frame->push_back(static_cast<uint8_t>(value >> (8 * bytes)));
}

Bytes metadata(const Hop& hop, uint16_t instructions) {
  Bytes bytes;
  const auto has_field = [instructions](int bit) { return (instructions >> (15 - bit) & 1) != 0; };
  if (has_field(0)) put(&bytes, hop.switch_id, 4);
  if (has_field(1)) put(&bytes, uint32_t{hop.ingress_port} << 16 | hop.egress_port, 4);
  if (has_field(2)) put(&bytes, hop.latency_ns, 4);
  if (has_field(3)) put(&bytes, uint32_t{hop.queue_id} << 24 | hop.queue_depth, 4);
  if (has_field(4)) put(&bytes, hop.time_ns - hop.latency_ns, 8);
  if (has_field(5)) put(&bytes, hop.time_ns, 8);
  if (has_field(6)) put(&bytes, 0, 8);
  for (int bit = 7; bit < 16; ++bit) {
    if (has_field(bit)) put(&bytes, 0xffffffff, 4);
  }
  return bytes;
}

}  // namespace

Bytes telemetry(const IntSpec& spec, uint16_t next) {
  const size_t hop_words = metadata({}, spec.instructions).size() / 4;
  Bytes bytes;
  put(&bytes, 0x10, 1);
  put(&bytes, 3 + spec.hops.size() * hop_words, 1);
  put(&bytes, next, 2);
  put(&bytes, 0x20u | spec.flags, 1);
  put(&bytes, 0, 1);
  put(&bytes, hop_words, 1);
  put(&bytes, 8, 1);
  put(&bytes, spec.instructions, 2);
  put(&bytes, 0, 6);
  for (auto hop = spec.hops.rbegin(); hop != spec.hops.rend(); ++hop) {
    const Bytes hop_metadata = metadata(*hop, spec.instructions);
    bytes.insert(bytes.end(), hop_metadata.begin(), hop_metadata.end());
  }
  return bytes;
}

Bytes with_telemetry(const IntSpec& spec, uint16_t type, const Bytes& packet, const std::vector<uint16_t>& vlans) {
  Bytes inside = telemetry(spec, type);
  inside.insert(inside.end(), packet.begin(), packet.end());
  return ethernet(0x88b5, inside, vlans);
}

Frame telemetry_frame(const IntSpec& spec, const TcpSpec& tcp, int64_t time_ns) {
  const Bytes ip = ip_v4(tcp.src, tcp.dst, protocol::kTcp, tcp_segment(tcp));
  return {.bytes = with_telemetry(spec, 0x0800, ip, tcp.vlans), .time_ns = time_ns};
}

}  // namespace tapline::testing
