// Tuples into batches, batches into a sink, per query: sequence numbers, watermarks, accounting, the end of the stream.
//
// All batches of a query leave together, when one of its builders is full, the oldest tuple has waited long enough or a
// second of packet time is over: only then does one watermark hold for all of its parsers. Of these only the last
// carries the new watermark.
//
// A change of the sampling rate closes the batches before it: what a batch says of its rate holds for each of its
// tuples. Tuples that come later of flows that a lower rate leaves out are dropped as rate_fell.
//
// A batch that the sink had no room for is gone; its sequence number goes to the next one, and so does what it had
// accounted for, its tuples now as dropped. Not thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monitors/output/batch_builder.h"
#include "monitors/output/batch_ledger.h"
#include "monitors/output/batch_sink.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"

namespace tapline {

struct BatchOutputOptions {
  std::string monitor_id;
  uint64_t incarnation = 0;
  uint32_t lane = 0;
  uint32_t max_rows = 4096;
  int64_t flush_after_ns = 100'000'000;
  // An idle query says so this often.
  int64_t heartbeat_after_ns = 500'000'000;
  // Capture files wait for room in the sink; live captures only once they are over, and not for ever.
  bool wait_for_room = false;
  // Where to keep what is owed, beyond the end of this process; null: nowhere. What is in there already a dead process
  // owed: queries that it knew go on with their accounts, and its debts are paid first.
  BatchLedger* ledger = nullptr;
  // Bits of queries whose streams don't end with their work here; null: all do.
  const std::atomic<uint64_t>* abandoned = nullptr;
  // Of texts that queries want hashed.
  HashKey hash_key = {};
};

class BatchOutput final : public TupleOutput, private DeliveryListener {
 public:
  // `queries` are places: one is looked at in Prepare(). `schemas` are those of all parsers in the engine's order. All
  // outlive the output.
  BatchOutput(BatchOutputOptions options, std::span<const QuerySpec> queries, std::span<const Schema* const> schemas,
              QueryAccounts* accounts, std::unique_ptr<BatchSink> sink);

  Status Start() override { return sink_->Start(this); }
  Status Prepare(uint32_t query) override;
  void AddQuery(uint32_t query) override;
  void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override;
  void lose(LossReason reason, uint64_t count, uint64_t queries) override;
  void Tick(int64_t monotonic_ns, int64_t watermark_ns) override;
  void EndQuery(uint32_t query, int64_t watermark_ns) override;
  bool done(uint32_t query) const override;
  void CaptureOver() override { capture_over_ = !options_.wait_for_room; }
  void SetSamplingRate(uint32_t query, double rate, int64_t watermark_ns) override;
  void SetWatchedSince(uint32_t query, int64_t time_ns) override { streams_[query].watched_since_ns = time_ns; }
  Status Finish() override;
  OutputStats stats() const override {
    OutputStats stats = stats_;
    stats.fill = sink_->fill();
    return stats;
  }
  Status status() const override { return sink_->status(); }

 private:
  struct Stream {
    const QuerySpec* spec = nullptr;
    uint32_t index = 0;
    // By parser; null for those that the query did not name.
    std::vector<std::unique_ptr<BatchBuilder>> builders;
    // By parser; null for those whose texts go out as they are.
    std::vector<std::unique_ptr<TextShaper>> shapers;
    BatchBuilder* heartbeat_builder = nullptr;
    double sampling_rate = 1;
    // While the rate is lower than the query's own; else every flow is in.
    std::optional<uint64_t> sampling_threshold;
    uint64_t sequence = 0;
    int64_t sent_watermark_ns = INT64_MIN;
    int64_t watched_since_ns = kNotWatched;
    int64_t last_sent_at_ns = 0;
    // What earlier batches accounted for.
    Accounting reported;
    // Batches that the sink has taken and not yet delivered.
    uint32_t in_flight = 0;
    bool ending = false;
    bool ended = false;
  };
  // A batch that the sink has taken and not yet delivered.
  struct InFlight {
    uint32_t query = 0;
    uint32_t rows = 0;
    Accounting reported;
    bool end_of_stream = false;
    uint64_t incarnation = 0;
    uint64_t sequence = 0;
    int64_t watermark_ns = 0;
  };

  void OnDelivery(uint64_t ticket, bool delivered) override;
  void Flush(Stream& stream, int64_t watermark_ns);
  bool SendBatch(Stream& stream, BatchBuilder& builder, int64_t watermark_ns, bool end_of_stream);
  BatchSink::Sent Send(uint32_t query, const std::string& batch, uint64_t ticket);
  void TryEnd(Stream& stream);
  const std::string& MonitorOf(const Stream& stream) const;
  bool HasRoom() const;
  uint64_t NewTicket(InFlight batch);
  void Close(uint64_t ticket);
  // Writes down what the stream's next batch has to follow.
  void ForgetEnded();
  void Note(const Stream& stream);
  void PayDebts(Stream& stream);

  BatchOutputOptions options_;
  std::span<const QuerySpec> queries_;
  std::span<const Schema* const> schemas_;
  std::vector<Stream> streams_;
  // Those that were added and have not ended.
  std::vector<uint32_t> added_;
  QueryAccounts* accounts_;
  std::unique_ptr<BatchSink> sink_;
  OutputStats stats_;
  std::vector<InFlight> in_flight_;
  std::vector<uint64_t> free_tickets_;
  // Of a live capture: it may wait for room, but gives up where there is none for long.
  bool capture_over_ = false;
  int64_t now_ns_ = 0;
  int64_t flushed_at_ns_ = 0;
  int64_t flushed_watermark_ns_ = INT64_MIN;
  // Queries that a dead process knew and that were not added again yet.
  uint64_t resumable_ = 0;
  // Whether the end of some query was taken by the sink and then lost.
  bool end_lost_ = false;
};

}  // namespace tapline
