#include "monitors/output/json_output.h"

#include "monitors/output/json_text.h"
#include "monitors/output/tuple_json.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr int64_t kWriteAfterNs = 100'000'000;
constexpr int64_t kFlushTimeoutNs = 10'000'000'000;

}  // namespace

JsonOutput::JsonOutput(int fd, std::span<const QuerySpec> queries, bool name_queries,
                       std::span<const Schema* const> schemas, QueryAccounts* accounts, bool is_live,
                       BatchLedger* ledger, HashKey hash_key)
    : fd_(fd),
      queries_(queries),
      name_queries_(name_queries),
      hash_key_(hash_key),
      shapers_(queries.size()),
      schemas_(schemas),
      triggers_(queries.size()),
      accounts_(accounts),
      ledger_(ledger) {
  if (ledger_ != nullptr) resumable_ = ledger_->known;
  if (is_live) writer_ = std::make_unique<LineWriter>(fd);
  buffer_.reserve(2 * kBufferBytes);
}

Status JsonOutput::prepare(uint32_t query) {
  auto& shapers = shapers_[query];
  shapers.clear();
  for (const Schema* schema : schemas_) shapers.push_back(TextShaper::make(*schema, queries_[query].shapes, hash_key_));
  triggers_[query] = QueryTupleTriggers::make(query, queries_[query], schemas_);
  return {};
}

void JsonOutput::add_query(uint32_t query) {
  const uint64_t bit = uint64_t{1} << query;
  if (triggers_[query] != nullptr) triggered_ |= bit;
  if ((resumable_ & bit) == 0) (*accounts_)[query] = {};
  resumable_ &= ~bit;
  if (ledger_ != nullptr) ledger_->known |= bit;
}

void JsonOutput::append_line(const Schema& schema, uint32_t query, const TupleHeader& header,
                             std::span<const Value> values) {
  buffer_.append("{\"parser\":\"").append(schema.name).push_back('"');
  if (name_queries_) {
    buffer_.append(",\"query\":");
    append_json_string(queries_[query].name, &buffer_);
  }
  buffer_.push_back(',');
  append_tuple_json(schema, header, values, &buffer_);
  buffer_.append("}\n");
}

void JsonOutput::emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  for (uint32_t query : SetBits(header.queries)) {
    if (!queries_[query].reports(header)) continue;
    const std::span<const Value> shaped = put(query, parser, header, values);
    if (triggers_[query] != nullptr) triggers_[query]->add(parser, header, shaped, this);
  }
}

std::span<const Value> JsonOutput::put(uint32_t query, uint32_t parser, const TupleHeader& header,
                                       std::span<const Value> values) {
  TextShaper* shaper = shapers_[query].empty() ? nullptr : shapers_[query][parser].get();
  const std::span<const Value> shaped = shaper == nullptr ? values : shaper->shape(values);
  Accounting& account = (*accounts_)[query];
  if (buffer_.size() >= kMaxWaitingBytes) {
    account.lose_tuples(index_of(Drop::kOutputFull), 1);
    return shaped;
  }
  append_line(*schemas_[parser], query, header, shaped);
  if (ledger_ != nullptr) {
    ++ledger_->streams[query].waiting_rows;
  } else {
    ++account.tuples_in;
    ++account.tuples_out;
  }
  if (buffer_.size() >= kBufferBytes) write();
  return shaped;
}

void JsonOutput::put_event(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  put(query, parser, header, values);
}

void JsonOutput::lose_tuples(uint32_t query, uint64_t tuples) {
  lose(LossReason::kParserMemoryFull, tuples, uint64_t{1} << query);
}

void JsonOutput::set_watched_since(uint32_t query, int64_t time_ns) {
  if (triggers_[query] != nullptr) triggers_[query]->set_watched_since(time_ns);
}

void JsonOutput::lose(LossReason reason, uint64_t count, uint64_t queries) {
  count_loss(reason, count, queries, accounts_);
}

void JsonOutput::tick(int64_t monotonic_ns, int64_t watermark_ns) {
  for (const uint32_t query : SetBits(triggered_)) {
    triggers_[query]->advance(watermark_ns, (*accounts_)[query], this);
  }
  if (monotonic_ns - written_at_ns_ < kWriteAfterNs) return;
  written_at_ns_ = monotonic_ns;
  write();
}

// Writes the buffer. The buffer is empty afterwards, unless a writer exists that was not ready for more.
void JsonOutput::write() {
  if (buffer_.empty()) return;
  size_t bytes = buffer_.size();
  if (writer_) {
    if (!writer_->offer(&buffer_)) return;
    stats_.bytes += bytes;
    // The writer has written everything that was offered before.
    for (uint32_t query = 0; ledger_ != nullptr && query < accounts_->size(); ++query) {
      count_written(query, offered_[query]);
      offered_[query] = ledger_->streams[query].waiting_rows;
    }
    return;
  }
  stats_.bytes += bytes;
  if (status_.ok()) status_ = write_all(fd_, buffer_);
  buffer_.clear();
  count_all_written();
}

void JsonOutput::count_all_written() {
  for (uint32_t query = 0; ledger_ != nullptr && query < accounts_->size(); ++query) {
    count_written(query, ledger_->streams[query].waiting_rows);
  }
}

void JsonOutput::count_written(uint32_t query, uint64_t rows) {
  ledger_->streams[query].waiting_rows -= rows;
  (*accounts_)[query].tuples_in += rows;
  (*accounts_)[query].tuples_out += rows;
}

// Ends the query's triggers. With a ledger, also writes the buffer and counts the query's waiting rows as written.
void JsonOutput::end_query(uint32_t query, int64_t watermark_ns) {
  if (triggers_[query] != nullptr) {
    triggers_[query]->finish(watermark_ns, this);
    triggers_[query]->count_omissions(&stats_);
    triggers_[query].reset();
    triggered_ &= ~(uint64_t{1} << query);
  }
  if (ledger_ == nullptr) return;
  write();
  count_written(query, ledger_->streams[query].waiting_rows);
  offered_[query] = 0;
}

OutputStats JsonOutput::stats() const {
  OutputStats stats = stats_;
  for (const uint32_t query : SetBits(triggered_)) triggers_[query]->count_omissions(&stats);
  return stats;
}

Status JsonOutput::finish() {
  bool written = !writer_ || writer_->flush(kFlushTimeoutNs);
  if (written) write();
  if (writer_) written = buffer_.empty() && writer_->flush(kFlushTimeoutNs);
  if (written) count_all_written();
  if (written || !status().ok()) return status();
  return Status::resources("the reader of standard output has not read for 10 s; the last lines are lost");
}

}  // namespace tapline
