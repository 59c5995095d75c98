// Collects the events of all parsing threads, numbers them by query, and forwards them in batches. One thread uses it.
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

// The ring of one parsing thread, and the parsers to which its parser numbers refer.
struct EventSource {
  EventRing* ring = nullptr;
  std::vector<const Schema*> schemas = {};
};

class EventForwarder {
 public:
  // Takes a batch; returns false if there is no room for it and its events are lost.
  using Send = std::function<bool(const v1::EventBatch& batch)>;

  // `sources` and the query slots outlive it. `monitor` names the process in queries whose plan names no part.
  EventForwarder(std::vector<EventSource> sources, std::span<const QuerySpec> queries, std::string monitor,
                 uint64_t incarnation, Send send);

  // Forwards waiting events, up to a bound that keeps the caller responsive, and the number of lost ones. Returns
  // true if there may be more.
  bool forward();
  // Forwards the remaining events of a query, and their total number. Its slot may then be reused. REQUIRES: the
  // query's lanes are done.
  void end_query(uint32_t query);

 private:
  struct Stream {
    uint64_t sent = 0;  // events that have a number, including lost ones
    uint64_t lost = 0;  // the rings' count when it was last read
    v1::EventList list = {};
    std::vector<const Schema*> schemas = {};  // the schemas of the list, in its order
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
