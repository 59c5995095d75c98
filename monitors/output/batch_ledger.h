// Records what an output owes: batches that were sent and not acknowledged, tuples that were not sent, and what each
// query's next batch must account for. If it lies in memory that outlives the process, the next process pays.
//
// A batch that was sent may or may not have arrived. The next process sends, under the dead one's incarnation and with
// the same sequence number, an empty batch whose accounting reports the tuples as lost. Readers identify a batch by
// incarnation and sequence number, take whichever comes first and drop the other, so nothing is counted twice.
//
// Only the output's thread writes. Plain memory: no pointers, initially all zero.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "monitors/plan/query_spec.h"
#include "packet_io/accounting/accounting.h"

namespace tapline {

struct BatchLedger {
  static constexpr uint32_t kMaxInFlight = 16384;

  // A batch that is still to be accounted for, or was sent and not acknowledged.
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
    // Number of tuples taken and not sent, now and when the parsers last finished a burst. The difference is due to
    // packets that count as lost.
    uint64_t waiting_rows;
    uint64_t waiting_rows_parsed;
    // Counts that batches have accounted for.
    Accounting reported;
  };

  // Bits of the queries that were ever added.
  uint64_t known;
  // True if it keeps an output's batches, false if only its waiting tuples.
  bool batches;
  std::array<Stream, kMaxQueries> streams;
  // Tickets below this were used; the rest of `debts` is all zero.
  uint32_t tickets;
  std::array<OutstandingBatch, kMaxInFlight> debts;
};

// Settles a query after the process that kept the ledger has died. Pending tuples become lost by restart, in `account`
// and in the debts; what no batch had accounted for becomes one more debt.
void settle_tuples(uint32_t query, Accounting* account, BatchLedger* ledger);

// Forgets queries that have ended, since their slots may be reused.
void forget(uint64_t queries, BatchLedger* ledger);

// Tickets of a query's open debts, in the order in which their batches were sent.
std::vector<uint32_t> outstanding_of(uint32_t query, const BatchLedger& ledger);

}  // namespace tapline
