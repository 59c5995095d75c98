// The output for the tuples of one parsing thread. After start(), must be called on that thread only, except for
// prepare(). Query slots are numbered like the bits of TupleHeader::queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "packet_io/accounting/accounting.h"
#include "packet_io/base/status.h"
#include "parsers/api/tuple.h"

namespace tapline {

// One account per query. The lane counts packets, and the output counts tuples. The accounts may be in memory that
// outlives the process.
using QueryAccounts = std::pmr::vector<Accounting>;

// Counts a parser's loss against the queries in the mask; ignores bits beyond the accounts.
void count_loss(LossReason reason, uint64_t count, uint64_t queries, QueryAccounts* accounts);

// Counts since the start.
struct OutputStats {
  uint64_t batches = 0;
  uint64_t bytes = 0;    // size of these batches, or of JSON lines
  uint64_t refused = 0;  // batches for which there was no room
  // Events that lack the tuple that decided them, because it was too long, or because there was no room for it among
  // the tuples kept for open windows.
  uint64_t event_tuples_too_long = 0;
  uint64_t event_tuples_no_room = 0;
  // The used share of the queue, 0 to 1; with several outputs, that of the fullest one.
  double fill = 0;

  OutputStats& operator+=(const OutputStats& other) {
    batches += other.batches;
    bytes += other.bytes;
    refused += other.refused;
    event_tuples_too_long += other.event_tuples_too_long;
    event_tuples_no_room += other.event_tuples_no_room;
    fill = std::max(fill, other.fill);
    return *this;
  }
};

class TupleOutput : public TupleSink {
 public:
  // Makes the output ready for tuples, within a bounded time.
  virtual Status start() = 0;

  // Prepares for tuples of this query, within a bounded time. May be called on any thread, even while the lane runs,
  // since it touches only the query's own slot, which must be done() or never have been used.
  virtual Status prepare(uint32_t query) = 0;
  // Announces tuples for this query. REQUIRES: prepare(query) was called first.
  virtual void add_query(uint32_t query) = 0;

  // Samples the query's flows at this rate from now on. Earlier tuples, up to `watermark_ns`, keep their rate.
  virtual void set_sampling_rate(uint32_t, double, int64_t) {}

  // Sets the packet time since which all of the query's packets have been seen; kNotWatched until the first call.
  static constexpr int64_t kNotWatched = INT64_MAX;
  virtual void set_watched_since(uint32_t, int64_t) {}

  // Announces that the capture is over: from now on, waiting for room (within bounds) loses nothing.
  virtual void capture_over() {}

  // Must be called often. Sends tuples that are due at `monotonic_ns`; `watermark_ns` is the lane's packet time.
  virtual void tick(int64_t monotonic_ns, int64_t watermark_ns) = 0;

  // Ends a query, for which no more tuples follow. Sends its remaining tuples and the end of the stream.
  virtual void end_query(uint32_t query, int64_t watermark_ns) = 0;
  // Returns true once everything has been delivered or has failed after end_query().
  virtual bool done(uint32_t query) const = 0;

  // Waits for a bounded time until everything is delivered. REQUIRES: end_query() was called for every query.
  virtual Status finish() = 0;

  virtual OutputStats stats() const = 0;

  // Returns an error once output is no longer possible; the lane then stops.
  virtual Status status() const = 0;
};

}  // namespace tapline
