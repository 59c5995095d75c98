#include "monitors/output/batch_builder.h"

#include <algorithm>
#include <bit>

namespace tapline {
namespace {

constexpr size_t kMaxDictionaryBytes = 320 * 1024;
constexpr size_t kMaxNumberBytes = 512 * 1024;

std::string_view address_bytes(const IpAddress& address) {
  auto bytes = address.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t number_of(const Value& value) {
  return value.type() == FieldType::kF64 ? std::bit_cast<uint64_t>(value.as_f64()) : value.as_u64();
}

std::string_view cut(std::string_view text) { return text.substr(0, kMaxStringBytes); }

v1::Dropped::Unit unit_of(DropUnit unit) {
  switch (unit) {
    case DropUnit::kPackets:
      return v1::Dropped::PACKETS;
    case DropUnit::kTuples:
      return v1::Dropped::TUPLES;
    case DropUnit::kStreamBytes:
      return v1::Dropped::STREAM_BYTES;
    case DropUnit::kFlows:
      return v1::Dropped::FLOWS;
  }
  return v1::Dropped::FLOWS;
}

}  // namespace

BatchBuilder::BatchBuilder(const Schema& schema, uint32_t max_rows) : schema_(schema) {
  size_t columns = common_fields().size() + schema.fields.size();
  // A row takes each column's width (and a bit if values may be absent), and at most one end offset in each dictionary.
  max_rows_ = std::max<uint32_t>(1, std::min<uint32_t>(max_rows, kMaxNumberBytes / (8 * columns)));
  columns_.reserve(columns);
  for (const Field& field : common_fields()) columns_.emplace_back(field, max_rows_);
  for (const Field& field : schema.fields) columns_.emplace_back(field, max_rows_);
}

bool BatchBuilder::fits(std::span<const Value> values) const {
  if (rows_ == 0) return true;
  if (rows_ == max_rows_) return false;
  size_t bytes = dictionary_bytes_;
  for (const Value& value : values) {
    if (value.type() == FieldType::kString) bytes += cut(value.as_string()).size();
  }
  return bytes <= kMaxDictionaryBytes;
}

void BatchBuilder::append_common(const TupleHeader& header) {
  columns_[0].append_number(static_cast<uint64_t>(header.time_ns));
  columns_[1].append_number(header.flow_hash);
  columns_[2].append_number(header.flow_incarnation);
  dictionary_bytes_ += columns_[3].append_bytes(name_of(header.client_known_by));
  dictionary_bytes_ += columns_[4].append_bytes(address_bytes(header.src_ip));
  columns_[5].append_number(header.src_port);
  dictionary_bytes_ += columns_[6].append_bytes(address_bytes(header.dst_ip));
  columns_[7].append_number(header.dst_port);
}

void BatchBuilder::append(const TupleHeader& header, std::span<const Value> values) {
  append_common(header);
  ColumnBuilder* column = &columns_[common_fields().size()];
  for (const Value& value : values) {
    if (!value.present()) [[unlikely]] {
      dictionary_bytes_ += column->append_absent();
    } else if (value.type() == FieldType::kString) {
      dictionary_bytes_ += column->append_bytes(cut(value.as_string()));
    } else {
      column->append_number(number_of(value));
    }
    ++column;
  }
  ++rows_;
}

void BatchBuilder::encode_header(const BatchHeader& header) {
  batch_.set_format(1);
  batch_.mutable_query()->assign(header.query);
  batch_.set_parser(schema_.name);
  batch_.mutable_monitor()->assign(header.monitor);
  batch_.set_incarnation(header.incarnation);
  batch_.set_epoch(header.epoch);
  batch_.set_lane(header.lane);
  batch_.set_lanes(header.lanes);
  batch_.set_sequence(header.sequence);
  batch_.set_watermark_ns(header.watermark_ns);
  batch_.set_watched_since_ns(header.watched_since_ns);
  batch_.set_end_of_stream(header.end_of_stream);
  batch_.set_sampling_rate(header.sampling_rate);
  batch_.set_rows(rows_);
}

void BatchBuilder::encode_accounting(const Accounting& accounting) {
  v1::Accounting* out = batch_.mutable_accounting();
  out->set_packets_in(accounting.packets_in);
  out->set_packets_out(accounting.packets_out);
  out->set_bytes_in(accounting.bytes_in);
  out->set_tuples_in(accounting.tuples_in);
  out->set_packets_polled(accounting.packets_polled);
  for (int i = 0; i < kDropReasons; ++i) {
    if (accounting.dropped[i] == 0) continue;
    v1::Dropped* dropped = out->add_dropped();
    dropped->mutable_reason()->assign(reason_info(i).name);
    dropped->set_unit(unit_of(reason_info(i).unit));
    dropped->set_count(accounting.dropped[i]);
  }
}

const std::string& BatchBuilder::encode(const BatchHeader& header) {
  batch_.Clear();
  encode_header(header);
  if (header.accounting != nullptr) encode_accounting(*header.accounting);
  if (rows_ > 0) {
    for (ColumnBuilder& column : columns_) column.close(batch_.add_columns());
  }
  rows_ = 0;
  dictionary_bytes_ = 0;
  batch_.SerializeToString(&encoded_);
  return encoded_;
}

}  // namespace tapline
