// What an output owes: batches that were sent and not acknowledged, tuples that were not sent, and what each query's
// next batch has to account for. Kept where it outlives the process, it lets the next one pay.
//
// A batch that was sent may have arrived or not. The next process sends, under the dead one's incarnation and with the
// same sequence number, an empty batch whose accounting names the tuples as lost: readers, who know a batch by
// incarnation and sequence number, take whichever comes first and drop the other. So nothing is counted twice.
//
// One writer, the output's thread. Plain memory: no pointers, all zero at first.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packet_io/accounting/accounting.h"
#include "monitors/plan/query_spec.h"

namespace tapline {

struct BatchLedger {
  static constexpr uint32_t kMostInFlight = 16384;

  // A batch that is to be accounted for, or has been sent without being acknowledged.
  struct Debt {
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
    // Of the batches since.
    uint64_t incarnation;
    uint64_t next_sequence;
    int64_t watermark_ns;
    // Tuples taken and not sent, and how many they were when the parsers had last finished with a burst: the others
    // are of packets that count as lost themselves.
    uint64_t waiting_rows;
    uint64_t waiting_rows_parsed;
    // What batches have accounted for.
    Accounting reported;
  };

  // Queries that were ever added: bits.
  uint64_t known;
  // Whether it keeps an output's batches, or only its tuples that wait.
  bool batches;
  std::array<Stream, kMostQueries> streams;
  // Tickets below this were used; more of `debts` is all zero.
  uint32_t tickets;
  std::array<Debt, kMostInFlight> debts;
};

// After the death of the process that kept it: what was under way for the query becomes lost by restart, in `account`
// and in the debts; what no batch had accounted for becomes one more debt.
void SettleTuples(uint32_t query, Accounting* account, BatchLedger* ledger);

// Forgets queries that are gone: their places may be used again.
void Forget(uint64_t queries, BatchLedger* ledger);

// Tickets of a query's open debts, in the order in which their batches were sent.
std::vector<uint32_t> DebtsOf(uint32_t query, const BatchLedger& ledger);

}  // namespace tapline
