#include "packet_io/source/marked_source.h"

namespace tapline {
namespace {

constexpr std::array<uint8_t, 3> kPrefix = {0x02, 0x7a, 0x91};

// Returns the mark in an Ethernet destination address, if there is one.
std::optional<uint32_t> mark_of(std::span<const uint8_t, 6> address) {
  if (address[0] != kPrefix[0] || address[1] != kPrefix[1] || address[2] != kPrefix[2]) return std::nullopt;
  return uint32_t{address[3]} << 16 | uint32_t{address[4]} << 8 | address[5];
}

}  // namespace

std::optional<uint8_t> CopyMarks::bind(uint32_t queue) {
  for (size_t i = 0; i < room(); ++i) {
    const uint32_t bound = queues_[i].load(std::memory_order_relaxed);
    if (bound != 0 && bound != queue) continue;
    queues_[i].store(queue, std::memory_order_release);
    return static_cast<uint8_t>(first_ + 2 * i);
  }
  return std::nullopt;
}

uint8_t CopyMarks::tap_of(uint32_t mark) const {
  for (size_t i = 0; i < room(); ++i) {
    const uint32_t bound = queues_[i].load(std::memory_order_acquire);
    if (bound == 0) break;
    if (bound == mark >> 1) return static_cast<uint8_t>(first_ + 2 * i + (mark & 1));
  }
  return unbound_tap();
}

PacketSource::Burst MarkedSource::poll(std::span<RawPacket> packets) {
  const Burst burst = source_->poll(packets);
  for (RawPacket& packet : packets.first(burst.packets)) {
    const auto ethernet = packet.ethernet();
    const auto mark = ethernet ? mark_of(ethernet->destination) : std::nullopt;
    if (mark) packet.tap = marks_->tap_of(*mark);
  }
  return burst;
}

}  // namespace tapline
