// A monitor's taps, by number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "monitors/plan/query_spec.h"
#include "packet_io/base/status.h"
#include "packet_io/base/tap.h"
#include "packet_io/source/marked_source.h"
#include "parsers/api/tap.h"

namespace tapline {

// The taps on each side of a queue, as bit masks of tap numbers.
struct QueueSides {
  uint64_t arrivals = 0;
  uint64_t departures = 0;
};

// The configured taps and, for copies that switches mark, a pair of taps for each queue. Only queries on that queue
// receive the pair's copies. Only one thread may call bind(); others may read a pair's names once its packets arrive.
class MonitorTaps {
 public:
  // If `marked` is true, the remaining tap numbers become pairs for marked copies. REQUIRES: the configured taps then
  // leave room for at least one pair.
  explicit MonitorTaps(std::vector<Tap> configured, bool marked = false);

  std::span<const Tap> all() const { return taps_; }
  std::span<const Tap> configured() const { return std::span(taps_).first(configured_); }
  // Returns null if there are no taps for marked copies.
  const CopyMarks* marks() const { return taps_.size() > configured_ ? &marks_ : nullptr; }
  // Returns the number of the first tap for marked copies, or kMaxTaps if there is none.
  uint8_t first_marked() const { return marks() == nullptr ? kMaxTaps : marks_.first(); }

  // Returns the taps' names for parsers.
  std::span<const TapNames> names() const { return names_; }
  std::span<const TapNames> configured_names() const { return std::span(names_).first(configured_); }

  // Restricts the query to the taps of its queues or, if it names none, to configured taps. Fails if a named queue
  // lacks a tap on one of its sides, or if all pairs are bound to other queues. If no queue is named but a parser
  // measures queues, fails if there are taps on sides of queues, but no queue has taps on both.
  Status bind(QuerySpec* spec);

 private:
  Status sides_of(const QueueName& queue, QueueSides* sides);
  Status bind_marked(const QueueName& queue, QueueSides* sides);

  std::vector<Tap> taps_;
  std::vector<TapNames> names_;
  size_t configured_;
  CopyMarks marks_;
};

}  // namespace tapline
