// One query's triggers on its tuples, as an output tests them: events become tuples of the parser `trigger`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "monitors/output/tuple_output.h"
#include "monitors/output/tuple_triggers.h"
#include "monitors/plan/query_spec.h"

namespace tapline {

// Not thread-safe.
class QueryTupleTriggers {
 public:
  // Receives the events and the losses.
  class Output {
   public:
    virtual ~Output() = default;
    virtual void put_event(uint32_t query, uint32_t parser, const TupleHeader& header,
                           std::span<const Value> values) = 0;
    virtual void lose_tuples(uint32_t query, uint64_t tuples) = 0;
  };

  // Returns null if the query has no such triggers, does not name the parser `trigger`, or is split among several
  // threads, each of which sees only some of its tuples. `spec` and `schemas` (of all parsers) must outlive the result.
  static std::unique_ptr<QueryTupleTriggers> make(uint32_t query, const QuerySpec& spec,
                                                  std::span<const Schema* const> schemas);

  // Sets the time since which all of the query's packets have been seen.
  void set_watched_since(int64_t time_ns) { watched_since_ns_ = time_ns; }
  // Counts a tuple, with its values as they leave the monitor.
  void add(uint32_t parser, const TupleHeader& header, std::span<const Value> values, Output* output);
  // Advances to this time. `account` is the query's. REQUIRES: no earlier tuple follows.
  void advance(int64_t time_ns, const Accounting& account, Output* output);
  // Ends the query at this time.
  void finish(int64_t time_ns, Output* output);

  // Adds the number of events that lack the tuple that decided them.
  void count_omissions(OutputStats* stats) const {
    stats->event_tuples_too_long += too_long_;
    stats->event_tuples_no_room += no_room_;
  }

 private:
  class Events;

  QueryTupleTriggers(uint32_t query, uint32_t trigger_parser, const QuerySpec& spec,
                     std::span<const Schema* const> schemas);

  uint32_t query_;
  uint32_t trigger_parser_;
  TupleTriggers triggers_;
  // By parser: the conditions that tuples must meet.
  std::vector<std::vector<const TupleCondition*>> filters_;
  int64_t watched_since_ns_ = TupleOutput::kNotWatched;
  // The query's total losses at the last advance(), regardless of the unit.
  uint64_t losses_ = 0;
  uint64_t too_long_ = 0, no_room_ = 0;
};

// Returns true if the tuple meets all conditions.
bool meets(const std::vector<const TupleCondition*>& conditions, const TupleHeader& header,
           std::span<const Value> values);

}  // namespace tapline
