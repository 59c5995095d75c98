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

// The taps on a queue's sides, as bits of their numbers.
struct QueueSides {
  uint64_t arrivals = 0;
  uint64_t departures = 0;
};

// The configured taps and, for copies that switches mark, a pair of taps for each queue. Only queries on that queue
// receive its copies. One thread binds pairs; others read a pair's names once its packets arrive.
class MonitorTaps {
 public:
  // If `marked` is true, there are pairs for marked copies. REQUIRES: the number of configured taps leaves room for a
  // pair.
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

  // Restricts the query to the taps of its queues. If one of the query's parsers measures queues, fails if a named
  // queue lacks a tap on one of its sides or, if no queue is named, if no port has taps on both sides of its queue.
  // Also fails if all pairs are bound to other queues.
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
