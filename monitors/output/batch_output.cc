#include "monitors/output/batch_output.h"

#include <algorithm>

#include "packet_io/base/clock.h"
#include "parsers/api/bits.h"
#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

// Time limit for a query's last batch if the sink stays full.
constexpr int64_t kEndTimeoutNs = 10 * kNsPerSecond;

// Minimum flush interval. Each flush costs a Kafka record per query and thread, so tuples of shorter intervals share
// batches.
constexpr int64_t kShortestFlushNs = 10 * kNsPerMs;

// Returns the second of packet time. Before the first packet (INT64_MIN), the result is below any second.
int64_t second(int64_t time_ns) { return time_ns / kNsPerSecond; }

// Applies the same rule as the gate: the query decides which side is TO, regardless of the side that opened the
// connection.
bool keeps(const QuerySpec& spec, const TupleHeader& header, uint64_t threshold) {
  if (!spec.sampled_by_port) return sampled(header.flow_hash, threshold);
  const uint16_t far_port = spec.match.far_port({header.src_ip, header.src_port}, {header.dst_ip, header.dst_port});
  return sampled(header.flow_hash, far_port, threshold);
}

}  // namespace

BatchOutput::BatchOutput(BatchOutputOptions options, std::span<const QuerySpec> queries,
                         std::span<const Schema* const> schemas, QueryAccounts* accounts,
                         std::unique_ptr<BatchSink> sink)
    : options_(std::move(options)),
      queries_(queries),
      schemas_(schemas),
      streams_(queries.size()),
      accounts_(accounts),
      sink_(std::move(sink)) {
  if (options_.ledger == nullptr) return;
  options_.ledger->batches = true;
  resumable_ = options_.ledger->known;
  in_flight_.resize(options_.ledger->tickets);
  for (uint64_t ticket = 0; ticket < in_flight_.size(); ++ticket) {
    if (!options_.ledger->debts[ticket].open) free_tickets_.push_back(ticket);
  }
}

Status BatchOutput::prepare(uint32_t query) {
  Stream& stream = streams_[query];
  stream = {};
  stream.spec = &queries_[query];
  stream.index = query;
  stream.sampling_rate = stream.spec->sampling_rate;
  stream.builders.resize(schemas_.size());
  stream.shapers.resize(schemas_.size());
  stream.filters.resize(schemas_.size());
  int64_t shortest_ns = kNsPerSecond;
  for (size_t parser = 0; parser < schemas_.size(); ++parser) {
    const auto& wanted = stream.spec->parsers;
    if (std::find(wanted.begin(), wanted.end(), schemas_[parser]->name) == wanted.end()) continue;
    stream.builders[parser] = std::make_unique<BatchBuilder>(*schemas_[parser], options_.max_rows);
    stream.shapers[parser] = TextShaper::make(*schemas_[parser], stream.spec->shapes, options_.hash_key);
    for (const ParserFilter& filter : stream.spec->filters) {
      if (filter.parser == schemas_[parser]->name) stream.filters[parser].push_back(&filter.condition);
    }
    if (stream.heartbeat_builder == nullptr) stream.heartbeat_builder = stream.builders[parser].get();
    const int64_t interval_ns = stream.spec->interval_ns(*schemas_[parser]);
    if (interval_ns != 0) shortest_ns = std::min(shortest_ns, interval_ns);
  }
  stream.flush_after_ns = options_.flush_after_ns;
  stream.heartbeat_after_ns = options_.heartbeat_after_ns;
  if (shortest_ns < kNsPerSecond) {
    // This query's windows may be as short as its parsers' intervals, and a window ends only once the watermark has
    // passed it.
    stream.flush_after_ns = std::min(stream.flush_after_ns, std::max(shortest_ns, kShortestFlushNs));
    stream.heartbeat_after_ns = std::min(stream.heartbeat_after_ns, stream.flush_after_ns);
  }
  // Without a channel for events, only the stream job tests the triggers, since events from here would arrive no
  // sooner.
  if (options_.events != nullptr) stream.triggers = QueryTupleTriggers::make(query, queries_[query], schemas_);
  return sink_->prepare(query);
}

void BatchOutput::add_query(uint32_t query) {
  const uint64_t bit = uint64_t{1} << query;
  if (streams_[query].triggers != nullptr) triggered_ |= bit;
  const bool goes_on = (resumable_ & bit) != 0;
  resumable_ &= ~bit;
  if (goes_on) {
    streams_[query].reported = options_.ledger->streams[query].reported;
    settle_batches(streams_[query]);
  } else {
    (*accounts_)[query] = {};
  }
  if (options_.ledger != nullptr) {
    options_.ledger->known |= bit;
    options_.ledger->streams[query].waiting_rows = 0;
    note(streams_[query]);
  }
  if (std::find(added_.begin(), added_.end(), query) == added_.end()) added_.push_back(query);
  next_flush_at_ns_ = 0;
}

void BatchOutput::put_event(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  put(streams_[query], parser, header, values, options_.events);
}

void BatchOutput::lose_tuples(uint32_t query, uint64_t tuples) {
  lose(LossReason::kParserMemoryFull, tuples, uint64_t{1} << query);
}

void BatchOutput::advance_triggers(int64_t watermark_ns) {
  for (const uint32_t query : SetBits(triggered_)) {
    streams_[query].triggers->advance(watermark_ns, (*accounts_)[query], this);
  }
}

bool BatchOutput::done(uint32_t query) const { return streams_[query].ended && streams_[query].in_flight == 0; }

void BatchOutput::append(uint32_t parser, const TupleHeader& header, std::span<const Value> values, EventRing* events) {
  for (uint32_t query : SetBits(header.queries)) {
    Stream& stream = streams_[query];
    if (!stream.spec->reports(header)) continue;
    if (stream.sampling_threshold && !keeps(*stream.spec, header, *stream.sampling_threshold)) {
      (*accounts_)[query].lose_tuples(index_of(Drop::kRateFell), 1);
      continue;
    }
    const std::span<const Value> shaped = put(stream, parser, header, values, events);
    if (stream.triggers != nullptr) [[unlikely]]
      stream.triggers->add(parser, header, shaped, this);
  }
}

std::span<const Value> BatchOutput::put(Stream& stream, uint32_t parser, const TupleHeader& header,
                                        std::span<const Value> values, EventRing* events) {
  BatchBuilder& builder = *stream.builders[parser];
  TextShaper* shaper = stream.shapers[parser].get();
  const std::span<const Value> shaped = shaper == nullptr ? values : shaper->shape(values);
  // Tuples arrive in order of time_ns, so this tuple's time is a lower bound for all later ones.
  if (!builder.fits(shaped)) flush(stream, header.time_ns);
  builder.append(header, shaped);
  // Evaluates conditions on the values as they leave the monitor, as consumers of the stream do.
  if (events != nullptr && meets(stream.filters[parser], header, shaped)) [[unlikely]]
    events->push(stream.index, parser, header, shaped);
  if (options_.ledger != nullptr) ++options_.ledger->streams[stream.index].waiting_rows;
  return shaped;
}

void BatchOutput::lose(LossReason reason, uint64_t count, uint64_t queries) {
  count_loss(reason, count, queries, accounts_);
}

void BatchOutput::set_sampling_rate(uint32_t query, double rate, int64_t watermark_ns) {
  Stream& stream = streams_[query];
  flush(stream, watermark_ns);
  stream.sampling_rate = rate;
  stream.sampling_threshold.reset();
  if (rate < stream.spec->sampling_rate) stream.sampling_threshold = sampling_threshold(rate);
}

void BatchOutput::tick(int64_t monotonic_ns, int64_t watermark_ns) {
  now_ns_ = monotonic_ns;
  sink_->poll();
  if (triggered_ != 0) advance_triggers(watermark_ns);
  if (flushed_watermark_ns_ == INT64_MIN) flushed_watermark_ns_ = watermark_ns;
  bool second_passed = second(watermark_ns) > second(flushed_watermark_ns_);
  if (!second_passed && now_ns_ < next_flush_at_ns_) return;
  if (second_passed) flushed_watermark_ns_ = watermark_ns;
  next_flush_at_ns_ = now_ns_ + options_.flush_after_ns;
  for (uint32_t query : added_) {
    Stream& stream = streams_[query];
    if (second_passed || now_ns_ - stream.flushed_at_ns >= stream.flush_after_ns) {
      report(stream, watermark_ns, second_passed);
    }
    next_flush_at_ns_ = std::min(next_flush_at_ns_, stream.flushed_at_ns + stream.flush_after_ns);
  }
  forget_ended();
}

void BatchOutput::report(Stream& stream, int64_t watermark_ns, bool second_passed) {
  stream.flushed_at_ns = now_ns_;
  if (stream.ending) try_end(stream);
  if (stream.ending || stream.ended || watermark_ns == INT64_MIN) return;
  flush(stream, watermark_ns);
  const bool news = watermark_ns > stream.sent_watermark_ns || (*accounts_)[stream.index] != stream.reported;
  if (news && (second_passed || now_ns_ - stream.last_sent_at_ns >= stream.heartbeat_after_ns)) {
    send_batch(stream, *stream.heartbeat_builder, watermark_ns, false);
  }
}

void BatchOutput::flush(Stream& stream, int64_t watermark_ns) {
  BatchBuilder* last = nullptr;
  for (auto& builder : stream.builders) {
    if (builder == nullptr || builder->rows() == 0) continue;
    if (last != nullptr) send_batch(stream, *last, stream.sent_watermark_ns, false);
    last = builder.get();
  }
  if (last != nullptr) send_batch(stream, *last, watermark_ns, false);
}

bool BatchOutput::send_batch(Stream& stream, BatchBuilder& builder, int64_t watermark_ns, bool end_of_stream) {
  Accounting& account = (*accounts_)[stream.index];
  uint32_t rows = builder.rows();
  account.tuples_in += rows;
  account.tuples_out += rows;
  if (options_.ledger != nullptr) options_.ledger->streams[stream.index].waiting_rows -= rows;
  Accounting delta = account - stream.reported;
  BatchHeader header{.query = stream.spec->name,
                     .monitor = monitor_of(stream),
                     .incarnation = options_.incarnation,
                     .epoch = stream.spec->epoch,
                     .lane = options_.lane,
                     .lanes = stream.spec->lanes,
                     .sequence = stream.sequence,
                     .watermark_ns = watermark_ns,
                     .watched_since_ns = stream.watched_since_ns,
                     .end_of_stream = end_of_stream,
                     .sampling_rate = stream.sampling_rate,
                     .accounting = &delta};
  const std::string& batch = builder.encode(header);
  BatchSink::Sent sent = BatchSink::Sent::kFull;
  if (has_room()) {
    uint64_t ticket =
        new_ticket({stream.index, rows, delta, end_of_stream, options_.incarnation, stream.sequence++, watermark_ns});
    // This must precede sending, because within send() the sink may report the outcome of this batch or of earlier
    // ones.
    stream.reported = account;
    note(stream);
    sent = send(stream.index, batch, ticket);
    if (sent != BatchSink::Sent::kTaken) {
      close(ticket);
      --stream.sequence;
      stream.reported = stream.reported - delta;
    }
  }
  stream.last_sent_at_ns = now_ns_;
  if (sent == BatchSink::Sent::kTaken) {
    ++stats_.batches;
    stats_.bytes += batch.size();
    stream.sent_watermark_ns = std::max(stream.sent_watermark_ns, watermark_ns);
    note(stream);
    return true;
  }
  ++stats_.refused;
  account.tuples_out -= rows;
  account.dropped[index_of(sent == BatchSink::Sent::kFull ? Drop::kQueueFull : Drop::kDeliveryFailed)] += rows;
  note(stream);
  return false;
}

const std::string& BatchOutput::monitor_of(const Stream& stream) const {
  return stream.spec->monitor.empty() ? options_.monitor_id : stream.spec->monitor;
}

BatchSink::Sent BatchOutput::send(uint32_t query, const std::string& batch, uint64_t ticket) {
  BatchSink::Sent sent = sink_->send(query, batch, ticket);
  int64_t deadline_ns = monotonic_ns() + kEndTimeoutNs;
  while (sent == BatchSink::Sent::kFull && (options_.wait_for_room || capture_over_) && sink_->status().ok()) {
    sink_->wait();
    sent = sink_->send(query, batch, ticket);
    if (sent == BatchSink::Sent::kFull && monotonic_ns() > deadline_ns) capture_over_ = false;
  }
  return sent;
}

uint64_t BatchOutput::new_ticket(InFlight batch) {
  if (free_tickets_.empty()) {
    free_tickets_.push_back(in_flight_.size());
    in_flight_.emplace_back();
  }
  uint64_t ticket = free_tickets_.back();
  free_tickets_.pop_back();
  ++streams_[batch.query].in_flight;
  in_flight_[ticket] = batch;
  if (options_.ledger != nullptr) {
    BatchLedger& ledger = *options_.ledger;
    ledger.debts[ticket] = {true,           batch.end_of_stream, batch.query,   batch.rows, batch.incarnation,
                            batch.sequence, batch.watermark_ns,  batch.reported};
    ledger.tickets = std::max(ledger.tickets, static_cast<uint32_t>(ticket + 1));
  }
  return ticket;
}

bool BatchOutput::has_room() const {
  return options_.ledger == nullptr || !free_tickets_.empty() || in_flight_.size() < BatchLedger::kMaxInFlight;
}

void BatchOutput::close(uint64_t ticket) {
  --streams_[in_flight_[ticket].query].in_flight;
  if (options_.ledger != nullptr) options_.ledger->debts[ticket].open = false;
  free_tickets_.push_back(ticket);
}

void BatchOutput::note(const Stream& stream) {
  if (options_.ledger == nullptr) return;
  BatchLedger::Stream& noted = options_.ledger->streams[stream.index];
  noted.incarnation = options_.incarnation;
  noted.next_sequence = stream.sequence;
  noted.watermark_ns = stream.sent_watermark_ns;
  noted.reported = stream.reported;
}

// Sends the outstanding batches on behalf of the dead process. If the original of a batch did arrive, readers drop this
// one as a duplicate.
void BatchOutput::settle_batches(Stream& stream) {
  for (uint32_t ticket : outstanding_of(stream.index, *options_.ledger)) {
    const BatchLedger::OutstandingBatch& debt = options_.ledger->debts[ticket];
    BatchHeader header{.query = stream.spec->name,
                       .monitor = monitor_of(stream),
                       .incarnation = debt.incarnation,
                       .epoch = stream.spec->epoch,
                       .lane = options_.lane,
                       .lanes = stream.spec->lanes,
                       .sequence = debt.sequence,
                       .watermark_ns = debt.watermark_ns,
                       .end_of_stream = false,
                       .sampling_rate = stream.sampling_rate,
                       .accounting = &debt.accounting};
    const std::string& batch = stream.heartbeat_builder->encode(header);
    in_flight_[ticket] = {stream.index, 0, debt.accounting, false, debt.incarnation, debt.sequence, debt.watermark_ns};
    ++stream.in_flight;
    if (send(stream.index, batch, ticket) == BatchSink::Sent::kTaken) continue;
    // This process's own batches then report the refused batch's counts.
    stream.reported = stream.reported - in_flight_[ticket].reported;
    close(ticket);
  }
}

void BatchOutput::on_delivery(uint64_t ticket, bool delivered) {
  const InFlight& batch = in_flight_[ticket];
  if (!delivered) {
    end_lost_ |= batch.end_of_stream;
    Accounting& account = (*accounts_)[batch.query];
    account.tuples_out -= batch.rows;
    account.dropped[index_of(Drop::kDeliveryFailed)] += batch.rows;
    streams_[batch.query].reported = streams_[batch.query].reported - batch.reported;
    note(streams_[batch.query]);
  }
  close(ticket);
}

void BatchOutput::end_query(uint32_t query, int64_t watermark_ns) {
  Stream& stream = streams_[query];
  if (stream.ending || stream.ended) return;
  if (stream.triggers != nullptr) {
    stream.triggers->finish(watermark_ns, this);
    stream.triggers->count_omissions(&stats_);
    stream.triggers.reset();
    triggered_ &= ~(uint64_t{1} << query);
  }
  flush(stream, watermark_ns);
  stream.sent_watermark_ns = std::max(stream.sent_watermark_ns, watermark_ns);
  stream.ending = true;
  try_end(stream);
  forget_ended();
}

// Removes queries that have ended. Must run before other threads learn that the queries are done, because they then
// reuse the slots.
void BatchOutput::forget_ended() {
  std::erase_if(added_, [this](uint32_t query) { return streams_[query].ended; });
}

void BatchOutput::try_end(Stream& stream) {
  const bool goes_on = options_.abandoned != nullptr && (options_.abandoned->load() >> stream.index & 1) != 0;
  stream.ended = send_batch(stream, *stream.heartbeat_builder, stream.sent_watermark_ns, !goes_on);
  stream.ending = !stream.ended;
}

Status BatchOutput::finish() {
  int64_t deadline_ns = monotonic_ns() + kEndTimeoutNs;
  for (uint32_t query : added_) {
    Stream& stream = streams_[query];
    while (stream.ending && sink_->status().ok() && monotonic_ns() < deadline_ns) {
      sink_->wait();
      try_end(stream);
    }
    if (stream.ending && sink_->status().ok()) {
      return Status::resources("the end of query '" + stream.spec->name + "' could not be sent: the queue stayed full");
    }
  }
  Status status = sink_->flush();
  if (status.ok() && end_lost_) return Status::resources("the end of a query was not delivered");
  return status;
}

}  // namespace tapline
