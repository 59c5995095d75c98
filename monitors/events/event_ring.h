// A bounded queue of events from one parsing thread to the monitor's control thread.
//
// The parsing thread never waits and, unless the control thread sleeps, makes no system call. If there is no room for
// an event, it is counted for its query and dropped. Records are contiguous in a ring of bytes. A record is never
// split: if it does not fit at the end of the ring, the end is skipped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "monitors/events/event_bell.h"
#include "parsers/api/tuple.h"

namespace tapline {

// An event as the control thread reads it. The event's strings are valid until EventRing::pop().
struct RingEvent {
  uint32_t query = 0;
  uint32_t parser = 0;
  int64_t made_ns = 0;
  TupleHeader header = {};
  std::span<const Value> values = {};
};

class EventRing {
 public:
  static constexpr size_t kQueries = 64;
  static constexpr size_t kMaxValues = 64;

  // `bytes` must be a power of two. A record can take at most an eighth of it. `bell` must outlive the ring.
  EventRing(size_t bytes, EventBell* bell);

  // Parsing thread: adds a query's event. `values` must equal those in the query's stream.
  void push(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values);

  // Control thread: reads the oldest event. Returns false if there is none.
  bool front(RingEvent* event);
  void pop();

  // Any thread: returns the number of this query's events dropped since the start.
  uint64_t lost(uint32_t query) const { return lost_[query].load(std::memory_order_acquire); }

 private:
  struct Record;

  uint8_t* reserve(size_t bytes);

  const size_t bytes_;
  std::unique_ptr<uint8_t[]> memory_;
  EventBell* bell_;
  std::atomic<uint64_t> lost_[kQueries] = {};
  alignas(64) std::atomic<uint64_t> tail_{0};  // bytes written since the start, by the parsing thread
  uint64_t head_seen_ = 0;
  alignas(64) std::atomic<uint64_t> head_{0};  // bytes read since the start, by the control thread
  uint64_t front_bytes_ = 0;
  std::vector<Value> values_ = std::vector<Value>(kMaxValues, Value::u64(0));  // the values of the front event
};

}  // namespace tapline
