// Puts tuples into batches and batches into a sink, per query, with sequence numbers, watermarks, accounting and the
// end of the stream.
//
// All batches of a query leave together: when one of its builders is full, the oldest tuple has waited long enough, or
// a second of packet time has ended. This way one watermark applies to all of the query's parsers; only the last of
// these batches carries it.
//
// A change of the sampling rate first closes the current batches, since a batch's rate applies to each of its tuples.
// Later tuples from flows that a lower rate excludes are dropped as rate_fell.
//
// A batch for which the sink has no room is dropped. The next batch takes over its sequence number and its accounting,
// which then counts the dropped batch's tuples as dropped. Not thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monitors/events/event_ring.h"
#include "monitors/output/batch_builder.h"
#include "monitors/output/batch_ledger.h"
#include "monitors/output/batch_sink.h"
#include "monitors/output/query_tuple_triggers.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "parsers/api/bits.h"

namespace tapline {

struct BatchOutputOptions {
  std::string monitor_id = {};
  uint64_t incarnation = 0;
  uint32_t lane = 0;
  uint32_t max_rows = 4096;
  int64_t flush_after_ns = 100'000'000;
  // Interval between the heartbeats of an idle query.
  int64_t heartbeat_after_ns = 500'000'000;
  // Capture files wait for room in the sink. Live captures wait only after the capture is over, and only for a bounded
  // time.
  bool wait_for_room = false;
  // If not null, records unfinished work beyond the end of this process. It may already contain the work of a process
  // that died: queries then resume from those accounts, after outstanding batches are settled.
  BatchLedger* ledger = nullptr;
  // The bits of queries whose streams continue elsewhere; null if there are none.
  const std::atomic<uint64_t>* abandoned = nullptr;
  // Receives events; null if no component forwards them.
  EventRing* events = nullptr;
  // The key for strings that queries want hashed.
  HashKey hash_key = {};
};

class BatchOutput final : public TupleOutput, private DeliveryListener, private QueryTupleTriggers::Output {
 public:
  // `queries` are the query slots; prepare() reads one. `schemas` are those of all parsers, in the engine's order.
  // `queries`, `schemas` and `accounts` must outlive the output.
  BatchOutput(BatchOutputOptions options, std::span<const QuerySpec> queries, std::span<const Schema* const> schemas,
              QueryAccounts* accounts, std::unique_ptr<BatchSink> sink);

  Status start() override { return sink_->start(this); }
  Status prepare(uint32_t query) override;
  void add_query(uint32_t query) override;
  void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override {
    append(parser, header, values, nullptr);
  }
  void event(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override {
    append(parser, header, values, options_.events);
  }
  void lose(LossReason reason, uint64_t count, uint64_t queries) override;
  void tick(int64_t monotonic_ns, int64_t watermark_ns) override;
  void end_query(uint32_t query, int64_t watermark_ns) override;
  bool done(uint32_t query) const override;
  void capture_over() override { capture_over_ = !options_.wait_for_room; }
  void set_sampling_rate(uint32_t query, double rate, int64_t watermark_ns) override;
  void set_watched_since(uint32_t query, int64_t time_ns) override {
    streams_[query].watched_since_ns = time_ns;
    if (streams_[query].triggers != nullptr) streams_[query].triggers->set_watched_since(time_ns);
  }
  Status finish() override;
  OutputStats stats() const override {
    OutputStats stats = stats_;
    for (const uint32_t query : SetBits(triggered_)) streams_[query].triggers->count_omissions(&stats);
    stats.fill = sink_->fill();
    return stats;
  }
  Status status() const override { return sink_->status(); }

 private:
  struct Stream {
    const QuerySpec* spec = nullptr;
    uint32_t index = 0;
    // By parser; null for a parser that the query does not name.
    std::vector<std::unique_ptr<BatchBuilder>> builders;
    // By parser; null for a parser whose strings are sent unchanged.
    std::vector<std::unique_ptr<TextShaper>> shapers;
    // By parser: the conditions that its events must meet.
    std::vector<std::vector<const TupleCondition*>> filters;
    BatchBuilder* heartbeat_builder = nullptr;
    // Null if the query has no triggers on tuples, or if they are not tested here.
    std::unique_ptr<QueryTupleTriggers> triggers;
    double sampling_rate = 1;
    // Set while the rate is below the query's own; otherwise every flow is included.
    std::optional<uint64_t> sampling_threshold;
    uint64_t sequence = 0;
    int64_t sent_watermark_ns = INT64_MIN;
    int64_t watched_since_ns = kNotWatched;
    int64_t last_sent_at_ns = 0;
    int64_t flushed_at_ns = 0;
    // The intervals from the options, or shorter ones if some parser's interval is shorter than a second.
    int64_t flush_after_ns = 0;
    int64_t heartbeat_after_ns = 0;
    // The counts that earlier batches have reported.
    Accounting reported;
    // Number of batches that the sink has accepted but not yet delivered.
    uint32_t in_flight = 0;
    bool ending = false;
    bool ended = false;
  };
  // A batch that the sink has accepted but not yet delivered.
  struct InFlight {
    uint32_t query = 0;
    uint32_t rows = 0;
    Accounting reported;
    bool end_of_stream = false;
    uint64_t incarnation = 0;
    uint64_t sequence = 0;
    int64_t watermark_ns = 0;
  };

  void append(uint32_t parser, const TupleHeader& header, std::span<const Value> values, EventRing* events);
  // Adds a tuple to the stream. Returns its values as they leave the monitor.
  std::span<const Value> put(Stream& stream, uint32_t parser, const TupleHeader& header, std::span<const Value> values,
                             EventRing* events);
  // Puts a trigger's event into the stream and the ring.
  void put_event(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values) override;
  void lose_tuples(uint32_t query, uint64_t tuples) override;
  void advance_triggers(int64_t watermark_ns);
  void on_delivery(uint64_t ticket, bool delivered) override;
  // Sends waiting rows. If there is anything new to report and a heartbeat is due, also sends a batch without rows.
  void report(Stream& stream, int64_t watermark_ns, bool second_passed);
  void flush(Stream& stream, int64_t watermark_ns);
  bool send_batch(Stream& stream, BatchBuilder& builder, int64_t watermark_ns, bool end_of_stream);
  BatchSink::Sent send(uint32_t query, const std::string& batch, uint64_t ticket);
  void try_end(Stream& stream);
  const std::string& monitor_of(const Stream& stream) const;
  bool has_room() const;
  uint64_t new_ticket(InFlight batch);
  void close(uint64_t ticket);
  void forget_ended();
  // Records in the ledger the state from which the stream's next batch continues.
  void note(const Stream& stream);
  void settle_batches(Stream& stream);

  BatchOutputOptions options_;
  std::span<const QuerySpec> queries_;
  std::span<const Schema* const> schemas_;
  std::vector<Stream> streams_;
  // Bits of the queries that have triggers, were added and have not ended.
  uint64_t triggered_ = 0;
  // Queries that were added and have not ended.
  std::vector<uint32_t> added_;
  QueryAccounts* accounts_;
  std::unique_ptr<BatchSink> sink_;
  OutputStats stats_;
  std::vector<InFlight> in_flight_;
  std::vector<uint64_t> free_tickets_;
  // True once a live capture is over, so that the output may wait for room; false again after the time limit.
  bool capture_over_ = false;
  int64_t now_ns_ = 0;
  int64_t next_flush_at_ns_ = 0;
  int64_t flushed_watermark_ns_ = INT64_MIN;
  // Queries of a dead process that have not been added again yet.
  uint64_t resumable_ = 0;
  // True if the sink accepted the end of some query and then lost it.
  bool end_lost_ = false;
};

}  // namespace tapline
