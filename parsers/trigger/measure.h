#pragma once

#include <algorithm>
#include <cstdint>

#include "parsers/packets/sample.h"
#include "parsers/packets/tcp_facts.h"

namespace tapline::trigger {

// The quantities counted in a window. A measure's value is the index of its word in a counter, eight words to a cache
// line:
//
//   line 0   sums over all packets, which need no connection state
//   line 1   sums over TCP connections (TcpFlows)
//   line 2   extremes
//   line 3   burst: its lower and upper bound, then the bins that determine them
//
// Counters have only the lines up to the last one that a trigger of their channel uses.
enum class Measure : uint8_t {
  kPackets = 0,
  kBytes,
  kPayloadBytes,
  kSyn,     // packets with SYN, without ACK
  kSynAck,  // packets with SYN and ACK
  kFin,
  kRst,
  // Word 7 marks the counter as touched in this window.
  kRetransmittedBytes = 8,
  kRetransmissions,  // packets with retransmitted_bytes
  kOutOfOrder,       // packets with out_of_order_bytes
  kMissingBytes,
  kRttSumNs,
  kRttCount,
  kInFlightBytes,
  kUnackedBytes,  // two's complement while summed
  kMaxBytes = 16,
  kMaxPayloadBytes,
  kMaxRttNs,
  kMinRttNs,    // stored as its complement, so the maximum is the shortest time; 0: none
  kBurst = 24,  // most bytes within any burst_ns of the window
  // Values of sketches instead of counters (WindowSketches): numbers of distinct flows and values, and quantiles.
  kFlows = 32,
  kDistinctSrcIps,
  kDistinctSrcPorts,
  kDistinctDstIps,
  kDistinctDstPorts,
  kBytesQuantile,
  kPayloadBytesQuantile,
  kRttQuantile,
};
inline constexpr int kTouched = 7;
inline constexpr int kBurstHigh = 25;
inline constexpr int kLineWords = 8;
inline constexpr int kLines = 4;
inline constexpr int kWords = kLines * kLineWords;

constexpr int word_of(Measure measure) { return static_cast<int>(measure); }
constexpr int line_of(Measure measure) { return word_of(measure) / kLineWords; }
constexpr bool is_sum(Measure measure) { return word_of(measure) < word_of(Measure::kMaxBytes); }
constexpr bool is_sketch(Measure measure) { return word_of(measure) >= kWords; }
constexpr bool is_quantile(Measure measure) { return word_of(measure) >= word_of(Measure::kBytesQuantile); }

// A set of kinds of sketches, one bit each.
using SketchKinds = uint8_t;
constexpr SketchKinds kind_of(Measure sketch) { return static_cast<SketchKinds>(1u << (word_of(sketch) - kWords)); }
inline constexpr SketchKinds kDistinctKinds = kind_of(Measure::kBytesQuantile) - 1;

// A number of distinct values, or a quantile, in a condition.
struct SketchTerm {
  Measure measure = Measure::kFlows;
  double share = 0;  // a quantile's share of the values
  friend bool operator==(const SketchTerm&, const SketchTerm&) = default;
};

// The maximum number of bytes in any span of a fixed length, as two bounds. The lower bound is the maximum over spans
// that begin at a bin's boundary (eight bins, summed exactly). The upper bound is the maximum over nine consecutive
// bins, because any other span lies within nine bins. An exact maximum would require remembering each packet of the
// span.
class Burst {
 public:
  static constexpr int kBins = 9;

  // Adds a packet's bytes. `line` is line 3 of a counter. REQUIRES: bin_ns is an eighth of the span; time_ns does not
  // decrease.
  static void add(uint64_t* line, int64_t bin_ns, int64_t time_ns, uint32_t bytes);

 private:
  static constexpr int kNewest = 2;  // the number of the newest bin, plus 1
  static constexpr int kFirstBin = 3;
};

// Adds one counter to another. REQUIRES: they count disjoint packets.
inline void merge(uint64_t* target, const uint64_t* source, int lines) {
  const int sums = std::min(lines, 2) * kLineWords;
  for (int word = 0; word < sums; ++word) target[word] += source[word];
  if (lines > 2) {
    for (int word = 16; word < 24; ++word) target[word] = std::max(target[word], source[word]);
  }
  if (lines > 3) {
    // Bursts in different counters may or may not have been simultaneous.
    target[word_of(Measure::kBurst)] = std::max(target[word_of(Measure::kBurst)], source[word_of(Measure::kBurst)]);
    target[kBurstHigh] += source[kBurstHigh];
  }
}

[[gnu::always_inline]] inline void count_packet(uint64_t* line, const Sample& sample) {
  line[word_of(Measure::kPackets)] += sample.packets;
  line[word_of(Measure::kBytes)] += sample.bytes;
  line[word_of(Measure::kPayloadBytes)] += sample.payload_bytes;
  constexpr uint8_t kControl = tcp_flag::kSyn | tcp_flag::kFin | tcp_flag::kRst;
  if ((sample.tcp_flags & kControl) == 0) return;
  const uint8_t flags = sample.tcp_flags;
  const int syn = flags >> 1 & 1, ack = flags >> 4 & 1;
  line[word_of(Measure::kSyn)] += static_cast<uint64_t>(syn & ~ack);
  line[word_of(Measure::kSynAck)] += static_cast<uint64_t>(syn & ack);
  line[word_of(Measure::kFin)] += flags & 1u;
  line[word_of(Measure::kRst)] += flags >> 2 & 1u;
}

// Updates line 1 and, if there are more than two lines, line 2.
void count_more(uint64_t* counter, int lines, const Sample& sample, const TcpFacts& tcp);

}  // namespace tapline::trigger
