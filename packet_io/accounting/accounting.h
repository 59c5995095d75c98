// A query's accounting in one lane: its input, its output, and the reasons for the difference.
//
//   packets_in = packets_out + sum of dropped, for reasons with unit packets
//   tuples_in  = tuples_out  + sum of dropped, for reasons with unit tuples
//
// Counters only grow; a batch reports the difference between two copies. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/api/packet.h"
#include "parsers/api/tuple.h"

namespace tapline {

enum class DropUnit : uint8_t { kPackets, kTuples, kStreamBytes, kFlows };
inline constexpr int kDropUnits = 4;
std::string_view name_of(DropUnit unit);  // Returns "packets", "tuples", "stream_bytes" or "flows".

// The monitor's own drop reasons. In the order of indexes, decode()'s and the parsers' reasons follow.
enum class Drop : uint8_t {
  kUnsampled,         // packets of flows that sampling excluded
  kNicMissed,         // the port had no free descriptor
  kNicNoBuffer,       // the driver had no buffer for it
  kKernelMissed,      // the kernel's ring of a packet socket was full
  kCaptureTruncated,  // the packet that the end of a capture file truncated
  kCaptureCorrupt,    // the packet at a damaged position in a capture file
  kQueueFull,         // tuples of batches for which the producer's queue had no room
  kDeliveryFailed,    // tuples of batches that the broker never acknowledged
  kWorkerRingFull,    // packets for which a parsing thread was too slow
  kOutputFull,        // tuples for which a slow reader of standard output left no room
  kRateFell,          // tuples of flows that a lower sampling rate excluded after they had begun
  kDuplicate,         // packets that had already been seen, if duplicates are dropped
  // Lost when the process died, and reported by the next one.
  kMonitorRestarted,        // packets not completely parsed, or that arrived while no process captured
  kMonitorRestartedTuples,  // tuples in batches that were not sent, or not acknowledged
  kMonitorRestartedFlows,   // connections that were followed
  kNoCredit,    // packets that arrived while this monitor had no credit of LIMIT Np, before it was granted more
  kMirrorLost,  // packets that a switch copied to this monitor, according to its counters, but that never arrived
};
inline constexpr int kOwnDrops = 17;
inline constexpr int kDropReasons = kOwnDrops + kDecodeOutcomes + kLossReasons;

// Returns the reason's index among all kDropReasons.
constexpr int index_of(Drop drop) { return static_cast<int>(drop); }
constexpr int index_of(DecodeOutcome outcome) { return kOwnDrops + static_cast<int>(outcome); }
constexpr int index_of(LossReason reason) { return kOwnDrops + kDecodeOutcomes + static_cast<int>(reason); }

struct ReasonInfo {
  std::string_view name;
  DropUnit unit;
};
// Returns a reason by its index. The name is empty for DecodeOutcome::kOk, which is not a drop.
const ReasonInfo& reason_info(int index);

struct Accounting {
  uint64_t packets_in = 0;
  uint64_t packets_out = 0;
  uint64_t bytes_in = 0;
  uint64_t tuples_in = 0;
  uint64_t tuples_out = 0;
  // The part of packets_out that was timestamped when polled. Counted for queries that measure queues.
  uint64_t packets_polled = 0;
  std::array<uint64_t, kDropReasons> dropped = {};

  // Counts packets as input and as dropped.
  void lose_packets(int reason, uint64_t count) {
    packets_in += count;
    dropped[reason] += count;
  }
  // Counts tuples as input and as dropped, even those that were never made.
  void lose_tuples(int reason, uint64_t count) {
    tuples_in += count;
    dropped[reason] += count;
  }
  uint64_t dropped_of(DropUnit unit) const;
  // Returns true if both identities hold.
  bool balanced() const {
    return packets_in == packets_out + dropped_of(DropUnit::kPackets) &&
           tuples_in == tuples_out + dropped_of(DropUnit::kTuples);
  }

  Accounting& operator+=(const Accounting& other);
  friend Accounting operator-(const Accounting& now, const Accounting& previous_accounting);
  friend bool operator==(const Accounting&, const Accounting&) = default;
};

// One lane's accounting of all packets, regardless of queries.
//
//   received = matched + unmatched + sum of undecodable + sum of lost + merged + held + repeated
struct LaneAccounting {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t matched = 0;    // wanted by at least one query that had not ended
  uint64_t unmatched = 0;  // decoded, but no query wanted them
  std::array<uint64_t, kDecodeOutcomes> undecodable = {};
  // Packets lost before they were seen, or dropped as duplicates, by Drop.
  std::array<uint64_t, kOwnDrops> lost = {};
  uint64_t merged = 0;  // fragments beyond the first of each datagram, which counts as one packet
  uint64_t held = 0;    // fragments whose datagram is not complete yet
  // Further views of packets that another tap has already shown. Passed only to parsers that ask for all views.
  uint64_t repeated = 0;
  // Packets that were forgotten before all taps could show them again. Up to this number of packets may have been
  // counted twice.
  uint64_t forgotten_views = 0;

  bool balanced() const;
  LaneAccounting& operator+=(const LaneAccounting& other);
};

// One lane's accounting of one tap's packets.
//
//   received = passed + repeated + sum of undecodable + sum of lost
struct TapAccounting {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t passed = 0;    // packets passed to the queries' match or to the reassembly of fragments
  uint64_t repeated = 0;  // packets that an earlier tap had shown
  // Counts frames only; if fragments make a datagram undecodable, the lane counts it.
  std::array<uint64_t, kDecodeOutcomes> undecodable = {};
  std::array<uint64_t, kOwnDrops> lost = {};
  uint64_t late = 0;  // received packets that arrived after a packet with a later time

  bool balanced() const;
  TapAccounting& operator+=(const TapAccounting& other);
};

}  // namespace tapline
