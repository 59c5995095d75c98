#include "monitors/lane/sampling_limit.h"

#include <algorithm>

namespace tapline {

void SamplingLimit::observe(int64_t now_ns, double fill, uint64_t refused) {
  bool refuses = refused != refused_;
  refused_ = refused;
  if (fill < kFull && !refuses) not_full_at_ns_ = now_ns;
  if (fill > kEmpty || refuses) not_empty_at_ns_ = now_ns;
  if (not_full_at_ns_ == 0) not_full_at_ns_ = now_ns;
  if (not_empty_at_ns_ == 0) not_empty_at_ns_ = now_ns;
  double previous_rate = rate_;
  if (now_ns - not_full_at_ns_ >= kFallAfterNs) rate_ = std::max(rate_ / 2, kLowest);
  if (now_ns - not_empty_at_ns_ >= kRiseAfterNs) rate_ = std::min(rate_ * 2, 1.0);
  if (rate_ != previous_rate) not_full_at_ns_ = not_empty_at_ns_ = now_ns;
}

}  // namespace tapline
