#include "bench/traffic/frame.h"

#include <array>
#include <cstring>

namespace tapline::traffic {
namespace {

constexpr size_t kEthernetBytes = 14;
constexpr size_t kIpBytes = 20;
constexpr size_t kTcpBytes = 20;
constexpr size_t kUdpBytes = 8;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

void put_u16(uint32_t value, uint8_t* out) {
  out[0] = static_cast<uint8_t>(value >> 8);
  out[1] = static_cast<uint8_t>(value);
}

void put_u32(uint32_t value, uint8_t* out) {
  put_u16(value >> 16, out);
  put_u16(value & 0xffff, out + 2);
}

// Returns the RFC 1071 sum before folding.
uint64_t sum(const uint8_t* bytes, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i + 1 < count; i += 2) sum += static_cast<uint64_t>(bytes[i] << 8 | bytes[i + 1]);
  return count % 2 == 1 ? sum + (uint64_t{bytes[count - 1]} << 8) : sum;
}

uint16_t fold(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void write_ethernet(uint8_t* out) {
  constexpr std::array<uint8_t, kEthernetBytes> kHeader = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
  std::memcpy(out, kHeader.data(), kHeader.size());
}

void write_ip(const Endpoint& from, const Endpoint& to, uint8_t protocol, uint8_t code_point, size_t payload_bytes,
              uint8_t* ip) {
  constexpr std::array<uint8_t, kIpBytes> kHeader = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64};
  std::memcpy(ip, kHeader.data(), kHeader.size());
  ip[1] = static_cast<uint8_t>(code_point << 2);
  ip[9] = protocol;
  put_u16(static_cast<uint32_t>(kIpBytes + payload_bytes), ip + 2);
  put_u32(from.address, ip + 12);
  put_u32(to.address, ip + 16);
  put_u16(fold(sum(ip, kIpBytes)), ip + 10);
}

}  // namespace

size_t write_frame(const Endpoint& from, const Endpoint& to, uint32_t sequence, uint32_t acknowledgement, uint8_t flags,
                   std::string_view payload, uint8_t* out) {
  write_ethernet(out);
  uint8_t* ip = out + kEthernetBytes;
  uint8_t* tcp = ip + kIpBytes;
  size_t tcp_bytes = kTcpBytes + payload.size();
  write_ip(from, to, kTcp, 0, tcp_bytes, ip);
  std::memset(tcp, 0, kTcpBytes);
  put_u16(from.port, tcp);
  put_u16(to.port, tcp + 2);
  put_u32(sequence, tcp + 4);
  put_u32(acknowledgement, tcp + 8);
  tcp[12] = 0x50;
  tcp[13] = flags;
  put_u16(65535, tcp + 14);
  if (!payload.empty()) std::memcpy(tcp + kTcpBytes, payload.data(), payload.size());
  put_u16(fold(sum(tcp, tcp_bytes) + sum(ip + 12, 8) + kTcp + tcp_bytes), tcp + 16);
  return kEthernetBytes + kIpBytes + tcp_bytes;
}

size_t write_datagram(const Endpoint& from, const Endpoint& to, uint8_t code_point, std::string_view payload,
                      uint8_t* out) {
  write_ethernet(out);
  uint8_t* ip = out + kEthernetBytes;
  uint8_t* udp = ip + kIpBytes;
  const size_t udp_bytes = kUdpBytes + payload.size();
  write_ip(from, to, kUdp, code_point, udp_bytes, ip);
  std::memset(udp, 0, kUdpBytes);
  put_u16(from.port, udp);
  put_u16(to.port, udp + 2);
  put_u16(static_cast<uint32_t>(udp_bytes), udp + 4);
  if (!payload.empty()) std::memcpy(udp + kUdpBytes, payload.data(), payload.size());
  put_u16(fold(sum(udp, udp_bytes) + sum(ip + 12, 8) + kUdp + udp_bytes), udp + 6);
  return kEthernetBytes + kIpBytes + udp_bytes;
}

}  // namespace tapline::traffic
