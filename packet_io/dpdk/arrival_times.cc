#include "packet_io/dpdk/arrival_times.h"

#include <linux/if_packet.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "parsers/api/time.h"

namespace tapline {
namespace {

constexpr uint32_t kVlanTagBytes = 4;

// Returns the start of a socket's mapping of at least `bytes`, or null if there is none.
const uint8_t* memory_of(int socket, size_t bytes) {
  struct stat status = {};
  if (fstat(socket, &status) != 0) return nullptr;
  const std::string name = "socket:[" + std::to_string(status.st_ino) + "]";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(name)) continue;
    char* end = nullptr;
    const uintptr_t from = std::strtoull(line.c_str(), &end, 16), to = std::strtoull(end + 1, nullptr, 16);
    if (to - from >= bytes) return reinterpret_cast<const uint8_t*>(from);
  }
  return nullptr;
}

}  // namespace

std::optional<ArrivalTimes> ArrivalTimes::find(std::span<const int> sockets, uint16_t queue, size_t frame_bytes,
                                               size_t frames) {
  std::vector<const uint8_t*> rings;
  for (const int socket : sockets) {
    if (const uint8_t* ring = memory_of(socket, frame_bytes * frames); ring != nullptr) rings.push_back(ring);
  }
  if (queue >= rings.size()) return std::nullopt;
  return ArrivalTimes(rings[queue], frame_bytes, frames);
}

const tpacket2_hdr* ArrivalTimes::frame_at(uint16_t index) const {
  return reinterpret_cast<const tpacket2_hdr*>(ring_ + (next_ + index) % frames_ * frame_bytes_);
}

ArrivalTimes::Stamp ArrivalTimes::read(const tpacket2_hdr* frame) {
  return {int64_t{frame->tp_sec} * kNsPerSecond + frame->tp_nsec, frame->tp_snaplen};
}

// Returns true if the timestamp may belong to a packet of this length. The kernel removes VLAN tags, and the driver
// puts them back.
bool ArrivalTimes::Stamp::is_of(uint32_t packet_bytes) const {
  return packet_bytes == bytes || packet_bytes == bytes + kVlanTagBytes;
}

void ArrivalTimes::look(uint16_t room) {
  const auto max = static_cast<uint16_t>(std::min<size_t>(room, stamps_.size()));
  for (seen_ = 0; seen_ < max; ++seen_) {
    const tpacket2_hdr* frame = frame_at(seen_);
    if ((__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) return;
    stamps_[seen_] = read(frame);
  }
}

std::optional<int64_t> ArrivalTimes::of(uint16_t index, uint32_t bytes) {
  if (lost_) return std::nullopt;
  const bool is_seen = index < seen_;
  const Stamp stamp = is_seen ? stamps_[index] : read(frame_at(index));
  if (stamp.is_of(bytes)) return stamp.time_ns;
  lost_ = is_seen;
  return std::nullopt;
}

}  // namespace tapline
