// Writes tuples as lines of JSON to a file descriptor. Keys are in the order of the columns, after "parser":
//
//   {"parser":"tcp_conn_time","time_ns":…,"flow_id":"<16 hex>-<8 hex>","client_known_by":"handshake",
//    "src_ip":"10.0.0.1",…}
//
// If lines name their query, "query" follows "parser". A tuple that several queries want has one line for each. A live
// capture never waits for its reader: another thread writes, up to kMaxWaitingBytes wait for it, and further lines are
// dropped as output_full. A capture file waits. Triggers on tuples are tested, and their events are lines as well. Not
// thread-safe.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "monitors/output/batch_ledger.h"
#include "monitors/output/line_writer.h"
#include "monitors/output/query_tuple_triggers.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"

namespace tapline {

class JsonOutput final : public TupleOutput, private QueryTupleTriggers::Output {
 public:
  static constexpr size_t kMaxWaitingBytes = 4 << 20;

  // With a `ledger`, tuples count once they are written: the ledger records the waiting ones, and queries that it knows
  // resume from their accounts. `hash_key` is the key for strings that queries want hashed.
  //
  // Writes to `fd`, which the caller still owns and must keep open. `queries` are the query slots, and `schemas` are in
  // the engine's order. All pointers and spans must outlive the output. With `name_queries`, lines name their query.
  JsonOutput(int fd, std::span<const QuerySpec> queries, bool name_queries, std::span<const Schema* const> schemas,
             QueryAccounts* accounts, bool is_live, BatchLedger* ledger = nullptr, HashKey hash_key = {});

  Status start() override { return {}; }
  Status prepare(uint32_t query) override;
  void add_query(uint32_t query) override;
  void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override;
  void lose(LossReason reason, uint64_t count, uint64_t queries) override;
  // Writes the waiting lines every tenth of a second.
  void tick(int64_t monotonic_ns, int64_t watermark_ns) override;
  void end_query(uint32_t query, int64_t watermark_ns) override;
  void set_watched_since(uint32_t query, int64_t time_ns) override;
  bool done(uint32_t) const override { return true; }
  Status finish() override;
  OutputStats stats() const override;
  Status status() const override { return writer_ ? writer_->status() : status_; }

 private:
  // Writes the tuple, unless there is no room. Returns its values as they leave the monitor, valid until the next call.
  std::span<const Value> put(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values);
  void put_event(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values) override;
  void lose_tuples(uint32_t query, uint64_t tuples) override;
  void append_line(const Schema& schema, uint32_t query, const TupleHeader& header, std::span<const Value> values);
  void count_written(uint32_t query, uint64_t rows);
  void count_all_written();
  void write();

  int fd_;
  std::span<const QuerySpec> queries_;
  bool name_queries_;
  HashKey hash_key_;
  // By query, then by parser; null if the strings are written unchanged.
  std::vector<std::vector<std::unique_ptr<TextShaper>>> shapers_;
  std::span<const Schema* const> schemas_;
  // By query; null if no triggers of the query are tested here.
  std::vector<std::unique_ptr<QueryTupleTriggers>> triggers_;
  // Bits of the queries that have triggers, were added and have not ended.
  uint64_t triggered_ = 0;
  QueryAccounts* accounts_;
  // Used for live captures only.
  std::unique_ptr<LineWriter> writer_;
  std::string buffer_;
  OutputStats stats_;
  int64_t written_at_ns_ = 0;
  BatchLedger* ledger_;
  // The ledger's waiting tuples that were passed to the writer but may not be written yet.
  std::array<uint64_t, kMaxQueries> offered_ = {};
  // Queries that a dead process knew and that have not been added again yet.
  uint64_t resumable_ = 0;
  Status status_;
};

}  // namespace tapline
