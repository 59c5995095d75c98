#include "monitors/output/batch_ledger.h"

#include <algorithm>

namespace tapline {
namespace {

BatchLedger::OutstandingBatch* find_room(BatchLedger* ledger) {
  for (uint32_t i = 0; i < ledger->tickets; ++i) {
    if (!ledger->debts[i].open) return &ledger->debts[i];
  }
  return ledger->tickets < BatchLedger::kMaxInFlight ? &ledger->debts[ledger->tickets++] : nullptr;
}

}  // namespace

void settle_tuples(uint32_t query, Accounting* account, BatchLedger* ledger) {
  constexpr int kLost = index_of(Drop::kMonitorRestartedTuples);
  BatchLedger::Stream& stream = ledger->streams[query];
  account->lose_tuples(kLost, std::min(stream.waiting_rows, stream.waiting_rows_parsed));
  stream.waiting_rows = stream.waiting_rows_parsed = 0;
  if (!ledger->batches) return;
  for (uint32_t i = 0; i < ledger->tickets; ++i) {
    BatchLedger::OutstandingBatch& debt = ledger->debts[i];
    if (!debt.open || debt.query != query) continue;
    for (Accounting* accounting : {account, &debt.accounting, &stream.reported}) {
      accounting->tuples_out -= debt.rows;
      accounting->dropped[kLost] += debt.rows;
    }
    debt.rows = 0;
    // The next process ends the query itself.
    debt.end_of_stream = false;
  }
  const Accounting unreported = *account - stream.reported;
  BatchLedger::OutstandingBatch* debt = unreported == Accounting() ? nullptr : find_room(ledger);
  // If there is no room, the counts stay unreported until the next process's first batch.
  if (debt == nullptr) return;
  *debt = {true, false, query, 0, stream.incarnation, stream.next_sequence++, stream.watermark_ns, unreported};
  stream.reported = *account;
}

void forget(uint64_t queries, BatchLedger* ledger) {
  ledger->known &= ~queries;
  for (uint32_t i = 0; i < ledger->tickets; ++i) {
    BatchLedger::OutstandingBatch& debt = ledger->debts[i];
    if ((queries >> debt.query & 1) != 0) debt.open = false;
  }
}

std::vector<uint32_t> outstanding_of(uint32_t query, const BatchLedger& ledger) {
  std::vector<uint32_t> tickets;
  for (uint32_t i = 0; i < ledger.tickets; ++i) {
    if (ledger.debts[i].open && ledger.debts[i].query == query) tickets.push_back(i);
  }
  std::sort(tickets.begin(), tickets.end(), [&](uint32_t i, uint32_t j) {
    const BatchLedger::OutstandingBatch &a = ledger.debts[i], &b = ledger.debts[j];
    return a.incarnation != b.incarnation ? a.incarnation < b.incarnation : a.sequence < b.sequence;
  });
  return tickets;
}

}  // namespace tapline
