#pragma once

#include <cstdint>
#include <vector>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {

// Memory is 16 bytes per packet remembered.
struct DuplicateOptions {
  int64_t window_ns = 10'000'000;                        // for packets with an IPv4 identification
  int64_t window_without_identification_ns = 1'000'000;  // for IPv6, and IPv4 with identification 0
  uint32_t max_packets = 65536;                          // remembered; a power of two
};

// Recognises a packet that a second mirror shows again. One per lane; not thread-safe.
//
// Two packets are the same if all agree that a switch, a router or a tunnel on the way leaves alone: addresses,
// protocol, identification, fragment offset, flow label, lengths, transport header and data of the innermost datagram;
// but not link header, VLAN, outer headers, traffic class, hop limit, and the IP, TCP and UDP checksums.
//
// A retransmission is another packet: its sender gives it an identification of its own. Where there is none, IPv6 and
// identification 0, only time tells: the window is then far below the shortest retransmission time-out in use (200 ms),
// so that what it may take for a copy is a fast retransmission within one millisecond of the original, and the second
// of two acknowledgements or datagrams that are equal in every bit.
//
// When more packets than it can remember fall into the window, the oldest of a few is forgotten and a copy may be
// missed: it errs towards keeping.
class DuplicateFilter {
 public:
  DuplicateFilter(const DuplicateOptions& options, HashKey key);

  // Whether the packet is the copy of an earlier one. If not, it is remembered. Times may go back a little, as those of
  // two mirrors do.
  // REQUIRES: decode() returned kOk or kFragment.
  bool is_copy(const Packet& packet);

 private:
  static constexpr uint32_t kWays = 4;
  struct Entry {
    uint64_t digest = 0;
    int64_t time_ns = INT64_MIN / 2;
  };

  uint64_t digest(const Packet& packet) const;

  DuplicateOptions options_;
  HashKey key_;
  std::vector<Entry> entries_;  // sets of kWays, which the low bits of the digest choose
  uint64_t set_mask_;
};

}  // namespace tapline
