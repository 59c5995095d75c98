#include "monitors/output/json_output.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "monitors/output/json_text.h"

namespace tapline {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr int64_t kWriteAfterNs = 100'000'000;

void AppendValue(const Value& value, std::string* out) {
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

std::string Describe(int error) {
  std::string message = std::string("writing to standard output failed: ") + std::strerror(error);
  if (error == ENOSPC) message += "; make room or write elsewhere";
  if (error == EPIPE) message += "; its reader has gone";
  return message;
}

}  // namespace

JsonOutput::JsonOutput(int fd, std::span<const QuerySpec> queries, bool name_queries,
                       std::span<const Schema* const> schemas, QueryAccounts* accounts)
    : fd_(fd), queries_(queries), name_queries_(name_queries), schemas_(schemas), accounts_(accounts) {
  buffer_.reserve(2 * kBufferBytes);
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
  for (uint64_t bits = header.queries; bits != 0; bits &= bits - 1) {
    auto query = static_cast<uint32_t>(std::countr_zero(bits));
    AppendLine(*schemas_[parser], query, header, values);
    ++(*accounts_)[query].tuples_in;
    ++(*accounts_)[query].tuples_out;
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

void JsonOutput::Write() {
  std::string_view left = buffer_;
  stats_.bytes += buffer_.size();
  while (!left.empty() && status_.ok()) {
    ssize_t written = write(fd_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      status_ = Status::Resources(Describe(errno));
    }
  }
  buffer_.clear();
}

Status JsonOutput::Finish() {
  Write();
  return status_;
}

}  // namespace tapline
