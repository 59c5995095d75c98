#include "parsers/testing/frames.h"

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>

namespace tapline::testing {
namespace {

void put_16(Bytes* out, size_t value) {
  out->push_back(static_cast<uint8_t>(value >> 8));
  out->push_back(static_cast<uint8_t>(value));
}
void put_32(Bytes* out, uint32_t value) {
  put_16(out, value >> 16);
  put_16(out, value & 0xffff);
}
void put(Bytes* out, std::span<const uint8_t> bytes) { out->insert(out->end(), bytes.begin(), bytes.end()); }
void put(Bytes* out, std::string_view text) { out->insert(out->end(), text.begin(), text.end()); }

}  // namespace

RawPacket Frame::raw() const {
  return {.data = bytes.data(),
          .captured_bytes = static_cast<uint32_t>(bytes.size()),
          .wire_bytes = wire_bytes == 0 ? static_cast<uint32_t>(bytes.size()) : wire_bytes,
          .time_ns = time_ns,
          .link = link,
          .tap = tap};
}

IpAddress address(const std::string& text) {
  uint8_t bytes[16];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return IpAddress::v4(bytes);
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return IpAddress::v6(bytes);
  std::fprintf(stderr, "not an address: %s\n", text.c_str());
  std::abort();
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(address.is_v4() ? AF_INET : AF_INET6, address.bytes().data(), text, sizeof(text));
  return text;
}

Bytes tcp_segment(const TcpSpec& spec) {
  Bytes out;
  put_16(&out, spec.src_port);
  put_16(&out, spec.dst_port);
  put_32(&out, spec.seq);
  put_32(&out, spec.ack);
  out.push_back(5 << 4);
  out.push_back(spec.flags);
  put_16(&out, 65535);
  put_32(&out, 0);
  put(&out, spec.payload);
  return out;
}

Bytes udp_datagram(uint16_t src_port, uint16_t dst_port, std::string_view payload) {
  Bytes out;
  put_16(&out, src_port);
  put_16(&out, dst_port);
  put_16(&out, 8 + payload.size());
  put_16(&out, 0);
  put(&out, payload);
  return out;
}

Bytes ip_v4(const std::string& src, const std::string& dst, uint8_t protocol, const Bytes& payload) {
  Bytes out = {0x45, 0};
  put_16(&out, 20 + payload.size());
  put_32(&out, 0);
  out.push_back(64);
  out.push_back(protocol);
  put_16(&out, 0);
  put(&out, address(src).bytes());
  put(&out, address(dst).bytes());
  put(&out, payload);
  return out;
}

Bytes with_checksum(Bytes ip) {
  ip[10] = ip[11] = 0;
  uint32_t sum = 0;
  for (size_t offset = 0; offset < (ip[0] & 0x0fu) * 4; offset += 2)
    sum += static_cast<uint32_t>(ip[offset]) << 8 | ip[offset + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  ip[10] = static_cast<uint8_t>(~sum >> 8);
  ip[11] = static_cast<uint8_t>(~sum);
  return ip;
}

Bytes ip_v6(const std::string& src, const std::string& dst, uint8_t next_header, const Bytes& payload) {
  Bytes out = {0x60, 0, 0, 0};
  put_16(&out, payload.size());
  out.push_back(next_header);
  out.push_back(64);
  put(&out, address(src).bytes());
  put(&out, address(dst).bytes());
  put(&out, payload);
  return out;
}

Bytes ethernet(uint16_t type, const Bytes& payload, const std::vector<uint16_t>& vlans) {
  Bytes out(12, 0x02);
  for (size_t i = 0; i < vlans.size(); ++i) {
    put_16(&out, i + 1 < vlans.size() ? 0x88a8 : 0x8100);
    put_16(&out, vlans[i]);
  }
  put_16(&out, type);
  put(&out, payload);
  return out;
}

namespace {

template <typename Spec>
Frame frame_around(const Spec& spec, uint8_t protocol, const Bytes& transport, int64_t time_ns) {
  const bool is_v4 = address(spec.src).is_v4();
  const Bytes ip =
      is_v4 ? ip_v4(spec.src, spec.dst, protocol, transport) : ip_v6(spec.src, spec.dst, protocol, transport);
  Frame frame;
  frame.bytes = ethernet(is_v4 ? 0x0800 : 0x86dd, ip, spec.vlans);
  frame.time_ns = time_ns;
  return frame;
}

}  // namespace

Frame tcp_frame(const TcpSpec& spec, int64_t time_ns) {
  return frame_around(spec, protocol::kTcp, tcp_segment(spec), time_ns);
}

Frame udp_frame(const UdpSpec& spec, int64_t time_ns) {
  return frame_around(spec, protocol::kUdp, udp_datagram(spec.src_port, spec.dst_port, spec.payload), time_ns);
}

Frame icmp_frame(const std::string& src, const std::string& dst, std::string_view message, int64_t time_ns) {
  const UdpSpec spec = {.src = src, .dst = dst};
  const uint8_t protocol = address(src).is_v4() ? protocol::kIcmp : protocol::kIcmpV6;
  return frame_around(spec, protocol, Bytes(message.begin(), message.end()), time_ns);
}

}  // namespace tapline::testing
