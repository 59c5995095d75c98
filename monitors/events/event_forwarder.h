// Collects the events from all parsing threads, numbers them per query, and forwards them in batches. Used by one
// thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "monitors/events/event_ring.h"
#include "monitors/plan/query_spec.h"
#include "parsers/api/schema.h"
#include "schema/event.pb.h"

namespace tapline {

// A parsing thread's ring, and the schemas of its parsers, indexed by the parser numbers in its events.
struct EventSource {
  EventRing* ring = nullptr;
  std::vector<const Schema*> schemas = {};
};

class EventForwarder {
 public:
  // Sends a batch. Returns false if there is no room for it; its events are then lost.
  using Send = std::function<bool(const v1::EventBatch& batch)>;

  // The rings and schemas of `sources`, and the query slots, must outlive this object. `monitor` is the name of this
  // process, for batches of queries that name no monitor (QuerySpec::monitor).
  EventForwarder(std::vector<EventSource> sources, std::span<const QuerySpec> queries, std::string monitor,
                 uint64_t incarnation, Send send);

  // Forwards waiting events, up to a bound that keeps the caller responsive, and reports lost ones. Returns true if
  // there may be more.
  bool forward();
  // Forwards a query's remaining events in a last batch, which is omitted if the query never had an event. The slot may
  // then be reused. REQUIRES: all lanes are done with the query.
  void end_query(uint32_t query);

 private:
  struct Stream {
    uint64_t sent = 0;  // events numbered so far, including lost ones
    uint64_t lost = 0;  // the number of lost events when the rings were last read
    v1::EventList list = {};
    std::vector<const Schema*> schemas = {};  // the schemas in the batch's list, in the same order
    size_t bytes = 0;
  };

  void take(const RingEvent& event, const Schema& schema);
  static uint32_t index_of(const Schema& schema, Stream* stream);
  uint64_t lost_in_rings(uint32_t query) const;
  void flush(uint32_t query, bool is_last);

  std::vector<EventSource> sources_;
  std::span<const QuerySpec> queries_;
  std::string monitor_;
  uint64_t incarnation_;
  Send send_;
  std::array<Stream, kMaxQueries> streams_;
  uint64_t filled_ = 0;   // bits of the queries whose batch is not empty
  uint64_t refused_ = 0;  // bits of the queries whose last batch had no room; their next one is sent even if empty
};

}  // namespace tapline
