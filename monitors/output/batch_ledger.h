// Records an output's unfinished work: batches that were sent but not acknowledged, tuples that were not sent, and the
// counts that each query's next batch must report. If the ledger is in memory that outlives the process, the next
// process finishes this work.
//
// A batch that was sent may or may not have arrived. The next process sends an empty batch with the dead process's
// incarnation and the same sequence number; its accounting reports the tuples as lost. Readers identify a batch by
// incarnation and sequence number, use the copy that comes first and drop the other, so nothing is counted twice.
//
// Only the output's thread writes. The ledger is plain memory: it has no pointers and is initially all zero.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "monitors/plan/query_spec.h"
#include "packet_io/accounting/accounting.h"

namespace tapline {

struct BatchLedger {
  static constexpr uint32_t kMaxInFlight = 16384;

  // A batch that was sent but not acknowledged, or counts that have yet to be reported.
  struct OutstandingBatch {
    bool open;
    bool end_of_stream;
    uint32_t query;
    uint32_t rows;
    uint64_t incarnation;
    uint64_t sequence;
    int64_t watermark_ns;
    Accounting accounting;
  };
  struct Stream {
    // The state from which the next batch continues.
    uint64_t incarnation;
    uint64_t next_sequence;
    int64_t watermark_ns;
    // The number of tuples taken but not sent, now and when the parsers last finished a burst. The difference is the
    // number of tuples from packets that count as lost.
    uint64_t waiting_rows;
    uint64_t waiting_rows_parsed;
    // The counts that batches have reported.
    Accounting reported;
  };

  // Bit mask of the queries that have been added and not yet forgotten.
  uint64_t known;
  // True if the ledger records an output's batches, false if it records only the waiting tuples.
  bool batches;
  std::array<Stream, kMaxQueries> streams;
  // Tickets at and above this number have not been used, and their entries in `debts` are all zero.
  uint32_t tickets;
  std::array<OutstandingBatch, kMaxInFlight> debts;
};

// Settles a query after the process that kept the ledger has died. Counts pending tuples as lost by the restart, in
// `account` and in the outstanding batches. Adds one more outstanding batch for counts that no batch has reported.
void settle_tuples(uint32_t query, Accounting* account, BatchLedger* ledger);

// Removes queries that have ended, since their slots may be reused.
void forget(uint64_t queries, BatchLedger* ledger);

// Returns the tickets of a query's outstanding batches, in the order in which they were sent.
std::vector<uint32_t> outstanding_of(uint32_t query, const BatchLedger& ledger);

}  // namespace tapline
