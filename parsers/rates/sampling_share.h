#pragma once

#include <algorithm>
#include <cstdint>

#include "parsers/rates/bounded.h"
#include "parsers/rates/coverage.h"

namespace tapline::rates {

// Estimates the share of packets that an oversubscribed mirror port delivers. The share is derived from TCP flows,
// whose sequence numbers reveal missing data, and applies to traffic without numbers: UDP, QUIC, acknowledgements.
// Flows do not share a drop-tail queue evenly (a ratio of three to one was observed among equal flows), hence the wide
// bounds.
class SamplingShare {
 public:
  // Adds the samples of one flow in the interval.
  void add(const Coverage& flow) {
    if (flow.sequence_bytes == 0) return;
    sequence_bytes_ += flow.sequence_bytes;
    seen_bytes_ += std::min(flow.seen_bytes, flow.sequence_bytes);
    if (flow.samples < kFewSamples) return;
    min_ = std::min(min_, flow.sampling_share());
    max_ = std::max(max_, flow.sampling_share());
  }

  SamplingShare& operator+=(const SamplingShare& other) {
    sequence_bytes_ += other.sequence_bytes_;
    seen_bytes_ += other.seen_bytes_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    return *this;
  }

  // Returns false if there are no samples of TCP data, so that the share is unknown.
  bool known() const { return seen_bytes_ > 0; }

  // REQUIRES: known().
  Bounded share() const {
    Bounded share;
    share.value = static_cast<double>(seen_bytes_) / static_cast<double>(sequence_bytes_);
    share.low = std::min(min_, share.value) / kUnfairness;
    share.high = std::min(1.0, std::max(max_, share.value) * kUnfairness);
    return share;
  }

 private:
  static constexpr uint32_t kFewSamples = 8;
  static constexpr double kUnfairness = 2;

  uint64_t sequence_bytes_ = 0;
  uint64_t seen_bytes_ = 0;
  double min_ = 1;  // minimum over flows with more than a few samples
  double max_ = 0;
};

}  // namespace tapline::rates
