#pragma once

#include <cstdint>
#include <vector>

#include "parsers/rates/sequence_tracker.h"

namespace tapline::rates::testing {

// The spacing of a sender's packets.
enum class Pattern : uint8_t {
  kPaced,      // single packets, with jitter, at a rate that varies like a congestion window
  kBursts,     // a round trip's packets at once, at link speed
  kSlowStart,  // bursts that double each round trip up to the rate, then paced
};

struct FlowSpec {
  uint64_t bits_per_second = 1'000'000'000;  // mean rate on the wire
  Pattern pattern = Pattern::kPaced;
  int64_t begin_ns = 0;
  int64_t end_ns = 50'000'000;
  uint32_t first_seq = 1;
  uint32_t payload_bytes = 1448;
  bool mixed_sizes = false;  // payloads of 1 to payload_bytes
  bool udp = false;
  double lost_before = 0;  // share of packets lost before the switch and retransmitted
  double lost_after = 0;   // share of packets lost after the switch
  double reordered = 0;    // share of packets that the next one overtakes before the switch
  int64_t round_trip_ns = 200'000;
};

enum class Scheduler : uint8_t { kFifo, kRoundRobin };

struct MirrorSpec {
  uint64_t bits_per_second = 10'000'000'000;
  uint64_t queue_bytes = 32 << 10;  // in total; divided among flows under kRoundRobin
  uint64_t queue_packets = 0;       // as above, in packets; 0: only bytes are limited
  Scheduler scheduler = Scheduler::kFifo;
  uint64_t link_bits_per_second = 10'000'000'000;  // speed of the senders' links
};

struct SentPacket {
  int64_t sent_ns = 0;     // time of its first bit on the sender's link
  int64_t arrival_ns = 0;  // time of complete arrival at the switch; < 0: lost before it
  uint32_t flow = 0;
  uint32_t seq = 0;
  uint32_t payload_bytes = 0;
  uint32_t wire_bytes = 0;
  uint64_t sent_before = 0;  // bytes that its sender had put on the link before it
};

struct Copy {
  int64_t time_ns = 0;  // time at which its last bit left the mirror port
  uint32_t packet = 0;  // index in MirrorRun::sent

  TcpSample sample(const SentPacket& sent) const;
};

struct MirrorRun {
  std::vector<SentPacket> sent;  // by flow, then by time
  std::vector<Copy> copies;      // as they left the port
  uint64_t arrived = 0;
  uint64_t dropped = 0;
  int64_t first_drop_ns = -1;
};

// Sends flows through a switch whose mirror port copies all packets. Bytes and times are known for every packet, and so
// are the dropped copies. The same seed gives the same run. There is no feedback: as with a real switch, dropped copies
// do not slow senders down.
MirrorRun run_mirror(const std::vector<FlowSpec>& flows, const MirrorSpec& mirror, uint64_t seed);

// Returns the bytes that a flow's sender put on its link in [from_ns, to_ns).
uint64_t sent_bytes(const MirrorRun& run, uint32_t flow, int64_t from_ns, int64_t to_ns);

}  // namespace tapline::rates::testing
