#include "parsers/packets/sample.h"

namespace tapline {

Sample sample_of(const Packet& packet) {
  Sample sample;
  sample.time_ns = packet.time_ns;
  sample.src_ip = packet.src_ip;
  sample.dst_ip = packet.dst_ip;
  sample.src_port = packet.src_port;
  sample.dst_port = packet.dst_port;
  sample.protocol = packet.protocol;
  sample.tcp_flags = packet.tcp_flags;
  sample.ip_version = packet.ip_version;
  sample.vlan = packet.vlan_key();
  sample.network_id = packet.network_id;
  sample.bytes = packet.wire_bytes;
  sample.payload_bytes = packet.payload_bytes;
  return sample;
}

}  // namespace tapline
