// When packets came, as the kernel stamped them: net_af_packet copies packets out of a ring that it shares with the
// kernel, and leaves the stamps behind. Without them all packets of a poll would have the time of the poll, up to a
// millisecond late, and answers that are quicker would take no time at all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "packet_io/source/packet_source.h"

struct tpacket2_hdr;

namespace tapline {

// Of one queue's ring. Follows the driver, which takes frames in order, from the first one on.
class ArrivalTimes {
 public:
  // A ring of TPACKET_V2 frames; it stays the driver's.
  ArrivalTimes(const uint8_t* ring, size_t frame_bytes, size_t frames)
      : ring_(ring), frame_bytes_(frame_bytes), frames_(frames) {}

  // The ring number `queue` of the process, in the order in which their sockets were opened. Nothing if there is none.
  static std::optional<ArrivalTimes> Find(uint16_t queue, size_t frame_bytes, size_t frames);

  // Before the driver is asked for up to `room` packets: afterwards the kernel may write over them.
  void Look(uint16_t room);
  // Nanoseconds since the epoch of packet `index` of those that the driver then gave; nothing if it is another one than
  // expected: then nothing is told any more. One that came after the look, which can be long ago if this thread did not
  // run meanwhile, is told by what the driver left in its frame; nothing if the kernel was all round the ring since.
  std::optional<int64_t> Of(uint16_t index, uint32_t bytes);
  // The driver gave that many.
  void Took(uint16_t packets) { next_ = (next_ + packets) % frames_; }

 private:
  struct Stamp {
    int64_t time_ns;
    uint32_t bytes;
    bool IsOf(uint32_t packet_bytes) const;
  };

  const tpacket2_hdr* Frame(uint16_t index) const;
  static Stamp Read(const tpacket2_hdr* frame);

  const uint8_t* ring_;
  size_t frame_bytes_, frames_;
  size_t next_ = 0;
  uint16_t seen_ = 0;
  bool lost_ = false;
  std::array<Stamp, kBurstPackets> stamps_ = {};
};

}  // namespace tapline
