// Decides for each packet which queries get it: match, sampling, LIMIT. Counts what it decides. One per lane.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "parsers/api/packet.h"

namespace tapline {

class QueryGate {
 public:
  // `queries` (at most kMostQueries) and `accounts` outlive the gate.
  QueryGate(std::span<const QuerySpec> queries, QueryAccounts* accounts);

  // Packet time from which the durations of LIMIT count.
  void StartClock(int64_t start_ns);

  // Bits of the queries that have not ended.
  uint64_t active() const { return active_; }
  void End(uint64_t queries);

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // The earliest packet time that is beyond the duration of an active query.
  int64_t next_deadline_ns() const { return next_deadline_ns_; }
  // Active queries for which `time_ns` is beyond.
  uint64_t ExpiredAt(int64_t time_ns) const;

  // Sets packet->queries and packet->to_side. Returns whether any active query's match wants it, sampled or not.
  bool Admit(Packet* packet);
  // Active queries that have all the packets that they may have.
  uint64_t satisfied() const { return satisfied_; }

 private:
  struct Query {
    const ConnectionMatch* match;
    uint64_t sampling_threshold;
    int64_t duration_ns;
    int64_t deadline_ns;
    uint64_t packets_left;
  };
  void AdmitTo(uint32_t index, Packet* packet);

  std::vector<Query> queries_;
  QueryAccounts* accounts_;
  uint64_t active_ = 0;
  uint64_t satisfied_ = 0;
  int64_t next_deadline_ns_ = kNever;
};

}  // namespace tapline
