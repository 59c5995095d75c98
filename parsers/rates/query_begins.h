#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "parsers/api/bits.h"

namespace tapline::rates {

// The time of each query's first packet. A query that is added in the middle of an interval observes only a part of it,
// and its rate is the mean over that part. Not thread-safe.
class QueryBegins {
 public:
  // Records that these queries selected a packet with this time.
  void observe(uint64_t queries, int64_t time_ns) {
    const uint64_t begin = queries & ~known_;
    if (begin == 0) [[likely]]
      return;
    for (const uint32_t query : SetBits(begin)) begin_ns_[query] = time_ns;
    known_ |= begin;
  }

  // Removes a query whose number is reused by another one.
  void forget(uint32_t query) { known_ &= ~(uint64_t{1} << query); }

  // Returns the time from which the lowest-numbered query observed the interval that began at `interval_ns`. REQUIRES:
  // queries != 0.
  int64_t begin_of(uint64_t queries, int64_t interval_ns) const {
    return std::max(interval_ns, begin_ns_[static_cast<uint32_t>(std::countr_zero(queries))]);
  }

  // Returns the queries that observed the same part of the interval as the lowest-numbered one. REQUIRES: queries != 0.
  uint64_t with_one_begin(uint64_t queries, int64_t interval_ns) const {
    const int64_t begin_ns = begin_of(queries, interval_ns);
    uint64_t alike = 0;
    for (const uint32_t query : SetBits(queries)) {
      if (std::max(interval_ns, begin_ns_[query]) == begin_ns) alike |= uint64_t{1} << query;
    }
    return alike;
  }

 private:
  std::array<int64_t, 64> begin_ns_ = {};
  uint64_t known_ = 0;
};

}  // namespace tapline::rates
