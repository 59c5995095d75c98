// Where a lane's tuples go. One per lane; called on the lane's thread only, but for Prepare(). Queries have places,
// numbered as the bits of TupleHeader::queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "packet_io/accounting/accounting.h"
#include "packet_io/base/status.h"
#include "parsers/api/tuple.h"

namespace tapline {

// One entry a query. The lane counts packets, the output counts tuples. They may lie in memory that outlives the
// process.
using QueryAccounts = std::pmr::vector<Accounting>;

// Counts a parser's loss against the queries of the mask; bits beyond the accounts are nobody's.
void CountLoss(LossReason reason, uint64_t count, uint64_t queries, QueryAccounts* accounts);

// Since the start.
struct OutputStats {
  uint64_t batches = 0;
  uint64_t bytes = 0;    // of those batches, or of JSON lines
  uint64_t refused = 0;  // batches that found no room
  // Share of the room for what waits that is taken, 0 to 1; of several outputs, of the fullest.
  double fill = 0;

  OutputStats& operator+=(const OutputStats& other) {
    batches += other.batches;
    bytes += other.bytes;
    refused += other.refused;
    fill = std::max(fill, other.fill);
    return *this;
  }
};

class TupleOutput : public TupleSink {
 public:
  // Makes sure that tuples can be taken, within a bounded time.
  virtual Status Start() = 0;

  // Makes ready for tuples of this query, within a bounded time. On any thread, also while the lane runs: it touches
  // nothing but the query's own place, which must be done() or never have been used.
  virtual Status Prepare(uint32_t query) = 0;
  // From now on tuples for this query come. REQUIRES: Prepare(query) has returned, and happened before.
  virtual void AddQuery(uint32_t query) = 0;

  // The query's flows are sampled at this rate from now on. Tuples from before, up to `watermark_ns`, keep theirs.
  virtual void SetSamplingRate(uint32_t, double, int64_t) {}

  // The query's packets are all seen from this packet time on; before the call it is kNotWatched.
  static constexpr int64_t kNotWatched = INT64_MAX;
  virtual void SetWatchedSince(uint32_t, int64_t) {}

  // Nothing is captured any more: from now on waiting for room, within bounds, loses nothing.
  virtual void CaptureOver() {}

  // To be called often: sends what is old enough, at `monotonic_ns`. `watermark_ns` is the lane's packet time.
  virtual void Tick(int64_t monotonic_ns, int64_t watermark_ns) = 0;

  // No more tuples for this query will come. Sends what is left of it, and that this is the end.
  virtual void EndQuery(uint32_t query, int64_t watermark_ns) = 0;
  // Whether all of it is out, after EndQuery(), or was given up.
  virtual bool done(uint32_t query) const = 0;

  // After the last EndQuery(): waits, within a bounded time, until everything is out.
  virtual Status Finish() = 0;

  virtual OutputStats stats() const = 0;

  // Not ok once nothing can be written any more; the lane then stops.
  virtual Status status() const = 0;
};

}  // namespace tapline
