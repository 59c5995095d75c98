#pragma once

#include <cstdint>
#include <vector>

#include "parsers/api/flow_hash.h"
#include "parsers/api/packet.h"

namespace tapline {

// Bounds of a DuplicateFilter. A remembered packet takes 16 bytes of memory.
struct DuplicateOptions {
  int64_t window_ns = 10'000'000;                        // for packets with an IPv4 identification
  int64_t window_without_identification_ns = 1'000'000;  // for IPv6, and IPv4 with identification 0
  uint32_t max_packets = 65536;                          // remembered packets; a power of two
};

// Detects packets that a second mirror delivers again. One per lane; not thread-safe.
//
// Packets with equal digests (packet_digest.h) count as the same packet.
//
// A retransmission is a different packet: its sender assigns a new identification. Without an identification (IPv6, or
// IPv4 identification 0), only time distinguishes a retransmission from a copy. The window is then far below the
// shortest retransmission timeout in use (200 ms), so the only false positives are fast retransmissions within a
// millisecond of the original, and the second of two acknowledgements or datagrams that are equal in every bit.
//
// If more packets fall within the window than the filter can remember, it evicts, among a few, the packet whose window
// ends first. It may then miss a copy, but such an error never drops a packet.
class DuplicateFilter {
 public:
  DuplicateFilter(const DuplicateOptions& options, HashKey key);

  // Returns true if the packet is a copy of an earlier one, and remembers it otherwise. Times may run slightly
  // backwards, as between two mirrors. REQUIRES: decode() returned kOk or kFragment.
  bool is_copy(const Packet& packet);

 private:
  static constexpr uint32_t kWays = 4;
  struct Entry {
    uint64_t digest = 0;
    int64_t until_ns = INT64_MIN / 2;  // end of the packet's window
  };

  DuplicateOptions options_;
  HashKey key_;
  std::vector<Entry> entries_;  // sets of kWays; the low bits of the digest select the set
  uint64_t set_mask_;
};

}  // namespace tapline
