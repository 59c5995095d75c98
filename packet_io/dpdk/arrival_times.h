// Reads the arrival times that the kernel recorded for packets. net_af_packet copies packets out of a ring that it
// shares with the kernel, and drops the timestamps. Without them, all packets of a poll would have the time of the
// poll, which is up to a millisecond late, and the fastest responses would seem to take no time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet_io/source/packet_source.h"

struct tpacket2_hdr;

namespace tapline {

// The arrival times in one queue's ring. Follows the driver, which takes frames in order, starting with the first.
class ArrivalTimes {
 public:
  // `ring` has TPACKET_V2 frames and belongs to the driver.
  ArrivalTimes(const uint8_t* ring, size_t frame_bytes, size_t frames)
      : ring_(ring), frame_bytes_(frame_bytes), frames_(frames) {}

  // Finds ring number `queue` among the rings of these packet sockets. Returns nullopt if there are fewer rings.
  static std::optional<ArrivalTimes> find(std::span<const int> sockets, uint16_t queue, size_t frame_bytes,
                                          size_t frames);

  // Reads the waiting packets' timestamps. Must be called before up to `room` packets are requested from the driver:
  // afterwards, the kernel may overwrite the timestamps.
  void look(uint16_t room);
  // Returns the time, since the epoch, of packet `index` among those that the driver returned after look(). If its
  // length differs from the one that look() saw, this and all later calls return nullopt. The time of a packet that
  // arrived after look() is in the header that the driver left in its frame. Returns nullopt for it if the kernel has
  // already reused the frame, which can happen if this thread was suspended for long.
  std::optional<int64_t> of(uint16_t index, uint32_t bytes);
  // Records that the driver returned this number of packets.
  void took(uint16_t packets) { next_ = (next_ + packets) % frames_; }

 private:
  struct Stamp {
    int64_t time_ns;
    uint32_t bytes;
    bool is_of(uint32_t packet_bytes) const;
  };

  const tpacket2_hdr* frame_at(uint16_t index) const;
  static Stamp read(const tpacket2_hdr* frame);

  const uint8_t* ring_;
  size_t frame_bytes_, frames_;
  size_t next_ = 0;
  uint16_t seen_ = 0;
  bool lost_ = false;
  std::array<Stamp, kBurstPackets> stamps_ = {};
};

}  // namespace tapline
