// Reads the arrival times that the kernel stamped on packets. net_af_packet copies packets out of a ring that it shares
// with the kernel, and drops the stamps. Without them, all packets of a poll would have the time of the poll, which is
// up to a millisecond late, and the fastest responses would seem to take no time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet_io/source/packet_source.h"

struct tpacket2_hdr;

namespace tapline {

// The times of one queue's ring. Follows the driver, which takes frames in order, starting with the first.
class ArrivalTimes {
 public:
  // A ring of TPACKET_V2 frames, which the driver owns.
  ArrivalTimes(const uint8_t* ring, size_t frame_bytes, size_t frames)
      : ring_(ring), frame_bytes_(frame_bytes), frames_(frames) {}

  // Finds ring number `queue` of these packet sockets. Returns nothing if there is none.
  static std::optional<ArrivalTimes> find(std::span<const int> sockets, uint16_t queue, size_t frame_bytes,
                                          size_t frames);

  // Must precede the request for up to `room` packets from the driver: afterwards, the kernel may overwrite the stamps.
  void look(uint16_t room);
  // Returns the time, since the epoch, of packet `index` of those that the driver then returned. If that is not the
  // expected packet, this and all later calls return nothing. A packet that arrived after look(), which can be long ago
  // if this thread did not run in the meantime, gets its time from the header that the driver left in its frame, or
  // nothing if the kernel has wrapped around the ring since then.
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
