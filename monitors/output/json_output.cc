#include "monitors/output/json_output.h"

#include "monitors/output/json_text.h"
#include "parsers/api/bits.h"

namespace tapline {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr int64_t kWriteAfterNs = 100'000'000;
constexpr int64_t kPatienceAtEndNs = 10'000'000'000;

void AppendValue(const Value& value, std::string* out) {
  if (!value.present()) {
    out->append("null");
    return;
  }
  switch (value.type()) {
    case FieldType::kU64:
      return AppendNumber(value.as_u64(), out);
    case FieldType::kI64:
      return AppendNumber(value.as_i64(), out);
    case FieldType::kF64:
      return AppendNumber(value.as_f64(), out);
    case FieldType::kBool:
      out->append(value.as_bool() ? "true" : "false");
      return;
    default:
      return AppendJsonString(value.as_string(), out);
  }
}

}  // namespace

JsonOutput::JsonOutput(int fd, std::span<const QuerySpec> queries, bool name_queries,
                       std::span<const Schema* const> schemas, QueryAccounts* accounts, bool live, BatchLedger* ledger,
                       HashKey hash_key)
    : fd_(fd),
      queries_(queries),
      name_queries_(name_queries),
      hash_key_(hash_key),
      shapers_(queries.size()),
      schemas_(schemas),
      accounts_(accounts),
      ledger_(ledger) {
  if (ledger_ != nullptr) resumable_ = ledger_->known;
  if (live) writer_ = std::make_unique<LineWriter>(fd);
  buffer_.reserve(2 * kBufferBytes);
}

Status JsonOutput::Prepare(uint32_t query) {
  auto& shapers = shapers_[query];
  shapers.clear();
  for (const Schema* schema : schemas_) shapers.push_back(TextShaper::Make(*schema, queries_[query].shapes, hash_key_));
  return {};
}

void JsonOutput::AddQuery(uint32_t query) {
  const uint64_t bit = uint64_t{1} << query;
  if ((resumable_ & bit) == 0) (*accounts_)[query] = {};
  resumable_ &= ~bit;
  if (ledger_ != nullptr) ledger_->known |= bit;
}

void JsonOutput::AppendCommon(const TupleHeader& header) {
  buffer_.append(",\"time_ns\":");
  AppendNumber(header.time_ns, &buffer_);
  buffer_.append(",\"flow_id\":\"");
  AppendHex(header.flow_hash, 16, &buffer_);
  buffer_.push_back('-');
  AppendHex(header.flow_incarnation, 8, &buffer_);
  buffer_.append("\",\"client_known_by\":\"").append(name_of(header.client_known_by));
  buffer_.append("\",\"src_ip\":\"");
  AppendAddress(header.src_ip, &buffer_);
  buffer_.append("\",\"src_port\":");
  AppendNumber(uint64_t{header.src_port}, &buffer_);
  buffer_.append(",\"dst_ip\":\"");
  AppendAddress(header.dst_ip, &buffer_);
  buffer_.append("\",\"dst_port\":");
  AppendNumber(uint64_t{header.dst_port}, &buffer_);
}

void JsonOutput::AppendLine(const Schema& schema, uint32_t query, const TupleHeader& header,
                            std::span<const Value> values) {
  buffer_.append("{\"parser\":\"").append(schema.name).push_back('"');
  if (name_queries_) {
    buffer_.append(",\"query\":");
    AppendJsonString(queries_[query].name, &buffer_);
  }
  AppendCommon(header);
  for (size_t i = 0; i < values.size(); ++i) {
    buffer_.append(",\"").append(schema.fields[i].name).append("\":");
    AppendValue(values[i], &buffer_);
  }
  buffer_.append("}\n");
}

void JsonOutput::emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  for (uint32_t query : SetBits(header.queries)) {
    Accounting& account = (*accounts_)[query];
    if (buffer_.size() >= kMostWaitingBytes) {
      account.LoseTuples(IndexOf(Drop::kOutputFull), 1);
      continue;
    }
    TextShaper* shaper = shapers_[query].empty() ? nullptr : shapers_[query][parser].get();
    AppendLine(*schemas_[parser], query, header, shaper == nullptr ? values : shaper->Shape(values));
    if (ledger_ != nullptr) {
      ++ledger_->streams[query].waiting_rows;
      continue;
    }
    ++account.tuples_in;
    ++account.tuples_out;
  }
  if (buffer_.size() >= kBufferBytes) Write();
}

void JsonOutput::lose(LossReason reason, uint64_t count, uint64_t queries) {
  CountLoss(reason, count, queries, accounts_);
}

void JsonOutput::Tick(int64_t monotonic_ns, int64_t) {
  if (monotonic_ns - written_at_ns_ < kWriteAfterNs) return;
  written_at_ns_ = monotonic_ns;
  Write();
}

// Without a writer the buffer is empty afterwards; with one, only if it was ready for more.
void JsonOutput::Write() {
  if (buffer_.empty()) return;
  size_t bytes = buffer_.size();
  if (writer_) {
    if (!writer_->Offer(&buffer_)) return;
    stats_.bytes += bytes;
    // Everything offered before is written.
    for (uint32_t query = 0; ledger_ != nullptr && query < accounts_->size(); ++query) {
      CountWritten(query, offered_[query]);
      offered_[query] = ledger_->streams[query].waiting_rows;
    }
    return;
  }
  stats_.bytes += bytes;
  if (status_.ok()) status_ = WriteAll(fd_, buffer_);
  buffer_.clear();
  CountAllWritten();
}

void JsonOutput::CountAllWritten() {
  for (uint32_t query = 0; ledger_ != nullptr && query < accounts_->size(); ++query) {
    CountWritten(query, ledger_->streams[query].waiting_rows);
  }
}

void JsonOutput::CountWritten(uint32_t query, uint64_t rows) {
  ledger_->streams[query].waiting_rows -= rows;
  (*accounts_)[query].tuples_in += rows;
  (*accounts_)[query].tuples_out += rows;
}

// The rest of it is on its way.
void JsonOutput::EndQuery(uint32_t query, int64_t) {
  if (ledger_ == nullptr) return;
  Write();
  CountWritten(query, ledger_->streams[query].waiting_rows);
  offered_[query] = 0;
}

Status JsonOutput::Finish() {
  bool written = !writer_ || writer_->Flush(kPatienceAtEndNs);
  if (written) Write();
  if (writer_) written = buffer_.empty() && writer_->Flush(kPatienceAtEndNs);
  if (written) CountAllWritten();
  if (written || !status().ok()) return status();
  return Status::Resources("the reader of standard output took nothing for 10 s; the last lines are lost");
}

}  // namespace tapline
