#include "parsers/api/telemetry.h"

#include <algorithm>
#include <bit>

#include "parsers/api/bytes.h"

namespace tapline {
namespace {

constexpr uint32_t kHeaderBytes = 12;
constexpr uint8_t kVersion = 2;
// Bits of the header's first byte.
constexpr uint8_t kHopsExceeded = 0x04, kMtuExceeded = 0x02;

// The instruction bitmap: the fields that each hop wrote, in this order.
enum Instruction : uint16_t {
  kSwitchId = 0x8000,
  kPorts = 0x4000,
  kLatency = 0x2000,
  kQueue = 0x1000,
  kIngressTime = 0x0800,
  kEgressTime = 0x0400,
  kLevel2Ports = 0x0200
};
constexpr uint16_t kTwoWords = kIngressTime | kEgressTime | kLevel2Ports;

uint32_t words_of(uint16_t instructions) {
  return static_cast<uint32_t>(std::popcount(instructions) + std::popcount<uint16_t>(instructions & kTwoWords));
}

uint64_t big_endian_64(const uint8_t* bytes) {
  return static_cast<uint64_t>(big_endian_32(bytes)) << 32 | big_endian_32(bytes + 4);
}

// Returns the nanoseconds between two times that a switch reported; all ones if either is missing, and 0 if the times
// are reversed.
uint32_t between(uint64_t begin, uint64_t end) {
  if (begin == UINT64_MAX || end == UINT64_MAX) return Hop::kNoLatency;
  return end > begin ? static_cast<uint32_t>(std::min<uint64_t>(end - begin, UINT32_MAX)) : 0;
}

// REQUIRES: words_of(instructions) readable words.
Hop read_hop(uint16_t instructions, const uint8_t* word) {
  Hop hop;
  uint64_t ingress_ns = 0;
  const auto has = [instructions](Instruction bit) { return (instructions & bit) != 0; };
  if (has(kSwitchId)) hop.switch_id = big_endian_32(word), word += 4;
  if (has(kPorts)) hop.ingress_port = big_endian_16(word), hop.egress_port = big_endian_16(word + 2), word += 4;
  if (has(kLatency)) hop.latency_ns = big_endian_32(word), word += 4;
  if (has(kQueue)) hop.queue_id = word[0], hop.queue_depth = big_endian_32(word) & 0xffffff, word += 4;
  if (has(kIngressTime)) hop.time_ns = ingress_ns = big_endian_64(word), word += 8;
  if (has(kEgressTime)) hop.time_ns = big_endian_64(word);
  if (!has(kLatency) && has(kIngressTime) && has(kEgressTime)) hop.latency_ns = between(ingress_ns, hop.time_ns);
  return hop;
}

}  // namespace

bool read_telemetry(const Packet& packet, Telemetry* telemetry) {
  if (packet.telemetry_bytes < kHeaderBytes) return false;
  const uint8_t* header = packet.data + packet.telemetry_offset;
  const uint16_t instructions = big_endian_16(header + 4);
  const uint32_t hop_words = header[2] & 0x1f, hop_bytes = 4 * hop_words;
  const uint32_t stack_bytes = packet.telemetry_bytes - kHeaderBytes;
  if (header[0] >> 4 != kVersion || hop_words < words_of(instructions)) return false;
  if (hop_bytes == 0 ? stack_bytes != 0 : stack_bytes % hop_bytes != 0) return false;
  *telemetry = Telemetry{};
  telemetry->hops = hop_bytes == 0 ? 0 : stack_bytes / hop_bytes;
  telemetry->cut = (header[0] & (kHopsExceeded | kMtuExceeded)) != 0;
  telemetry->has_switch_id = (instructions & kSwitchId) != 0;
  telemetry->has_ports = (instructions & kPorts) != 0;
  telemetry->has_queue_depth = (instructions & kQueue) != 0;
  telemetry->has_time = (instructions & (kIngressTime | kEgressTime)) != 0;
  telemetry->has_departure_time = (instructions & kEgressTime) != 0;
  const bool both_times = (instructions & kIngressTime) != 0 && (instructions & kEgressTime) != 0;
  telemetry->has_latency = (instructions & kLatency) != 0 || both_times;
  // The metadata stack begins with the last switch.
  const uint8_t* first = header + packet.telemetry_bytes - hop_bytes;
  for (uint32_t i = 0; i < std::min(telemetry->hops, Telemetry::kMaxHops); ++i)
    telemetry->path[i] = read_hop(instructions, first - i * hop_bytes);
  return true;
}

}  // namespace tapline
