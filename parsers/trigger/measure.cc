#include "parsers/trigger/measure.h"

#include <cstring>

namespace tapline::trigger {
namespace {

void count_tcp(uint64_t* counter, const TcpFacts& tcp) {
  counter[word_of(Measure::kRetransmittedBytes)] += tcp.retransmitted_bytes;
  counter[word_of(Measure::kRetransmissions)] += tcp.retransmitted_bytes > 0 ? 1 : 0;
  counter[word_of(Measure::kOutOfOrder)] += tcp.out_of_order_bytes > 0 ? 1 : 0;
  counter[word_of(Measure::kMissingBytes)] += tcp.missing_bytes;
  counter[word_of(Measure::kRttSumNs)] += tcp.rtt_ns;
  counter[word_of(Measure::kRttCount)] += tcp.rtt_ns > 0 ? 1 : 0;
  counter[word_of(Measure::kInFlightBytes)] += tcp.in_flight_bytes;
  counter[word_of(Measure::kUnackedBytes)] += static_cast<uint64_t>(int64_t{tcp.unacked_bytes});
}

void raise(uint64_t* counter, Measure measure, uint64_t value) {
  counter[word_of(measure)] = std::max(counter[word_of(measure)], value);
}

void count_extremes(uint64_t* counter, const Sample& sample, const TcpFacts& tcp) {
  raise(counter, Measure::kMaxBytes, sample.bytes);
  raise(counter, Measure::kMaxPayloadBytes, sample.payload_bytes);
  if (tcp.rtt_ns == 0) return;
  raise(counter, Measure::kMaxRttNs, tcp.rtt_ns);
  raise(counter, Measure::kMinRttNs, ~uint64_t{tcp.rtt_ns});
}

}  // namespace

void Burst::add(uint64_t* line, int64_t bin_ns, int64_t time_ns, uint32_t bytes) {
  uint32_t bins[kBins];
  std::memcpy(bins, line + kFirstBin, sizeof bins);
  const auto number = static_cast<uint64_t>(time_ns / bin_ns) + 1;
  const uint64_t passed = std::min<uint64_t>(number - line[kNewest], kBins);
  for (uint64_t i = 0; i < passed; ++i) bins[(number - i) % kBins] = 0;
  line[kNewest] = number;
  bins[number % kBins] += bytes;
  uint64_t all = 0;
  for (const uint32_t bin : bins) all += bin;
  const uint64_t oldest = bins[(number + 1) % kBins];
  line[0] = std::max(line[0], all - oldest);
  line[1] = std::max(line[1], all);
  std::memcpy(line + kFirstBin, bins, sizeof bins);
}

void count_more(uint64_t* counter, int lines, const Sample& sample, const TcpFacts& tcp) {
  count_tcp(counter, tcp);
  if (lines > 2) count_extremes(counter, sample, tcp);
}

}  // namespace tapline::trigger
