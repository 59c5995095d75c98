// The rows of Confluo's evaluation (§5.1): 54 bytes, addresses from a /24, ten common ports. The generator can recreate
// every row from its number. This header is C++17 and includes no other header of this project, for bench/confluo.
#pragma once

#include <cstdint>
#include <cstring>

namespace tapline::multilog {

struct PaperRow {
  uint64_t time_ns = 0;
  uint32_t src_ip = 0, dst_ip = 0;
  uint16_t src_port = 0, dst_port = 0;
  uint32_t seq = 0, ack = 0;
  uint16_t window = 0, bytes = 0;
  uint8_t flags = 0, ttl = 0;
  uint8_t rest[20] = {};
} __attribute__((packed));
static_assert(sizeof(PaperRow) == 54);

inline constexpr uint16_t kPaperPorts[10] = {80, 443, 22, 53, 25, 110, 143, 3306, 8080, 11211};
inline constexpr uint32_t kPaperNet = 0x0a000100;  // 10.0.1.0/24

inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

inline PaperRow make_paper_row(uint64_t number, uint64_t time_ns, uint64_t seed = 0) {
  const uint64_t a = mixed(number * 2 + seed * 0x10001), b = mixed(number * 2 + 1 + seed * 0x10001);
  PaperRow row;
  row.time_ns = time_ns;
  row.src_ip = kPaperNet + (a & 255);
  row.dst_ip = kPaperNet + (a >> 8 & 255);
  row.src_port = kPaperPorts[(a >> 16 & 0xffff) % 10];
  row.dst_port = kPaperPorts[(a >> 32 & 0xffff) % 10];
  row.seq = static_cast<uint32_t>(number);
  row.ack = static_cast<uint32_t>(b);
  row.window = static_cast<uint16_t>(b >> 32);
  row.bytes = static_cast<uint16_t>(64 + (b >> 48) % 1437);
  row.flags = static_cast<uint8_t>(a >> 48 & 31);
  row.ttl = static_cast<uint8_t>(a >> 56);
  std::memcpy(row.rest, &a, 8);
  return row;
}

inline const uint8_t* bytes_of(const PaperRow* rows) { return reinterpret_cast<const uint8_t*>(rows); }
inline PaperRow row_at(const uint8_t* bytes) {
  PaperRow row;
  std::memcpy(&row, bytes, sizeof row);
  return row;
}

}  // namespace tapline::multilog
