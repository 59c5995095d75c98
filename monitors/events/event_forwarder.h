// Collects the events of all parsing threads, numbers them by query, and passes them on in batches. One thread uses it.
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

// The ring of one parsing thread, and the parsers that its numbers stand for.
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
  // The query's lanes are done: forwards the remaining events and the total number. Its slot may then be reused.
  void end_query(uint32_t query);

 private:
  struct Stream {
    uint64_t sent = 0;  // events that have a number, lost ones included
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
  uint64_t refused_ = 0;  // bits of the queries whose last batch found no room: the next one reports it, even if empty
};

}  // namespace tapline
