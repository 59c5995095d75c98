// Collects tuples of one parser, query and lane by column, and encodes them as a TupleBatch (schema/tuple_batch.proto).
//
// Once the buffers have grown, adding a tuple allocates nothing. A batch stays below kMaxBatchBytes, which Kafka's
// default record limit allows, because its rows and its dictionaries are bounded. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "monitors/output/column.h"
#include "packet_io/accounting/accounting.h"
#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"
#include "schema/tuple_batch.pb.h"

namespace tapline {

inline constexpr size_t kMaxBatchBytes = 900'000;
// Maximum length of a string. Longer ones are truncated.
inline constexpr size_t kMaxStringBytes = 32'768;

// The metadata of a batch.
struct BatchHeader {
  std::string_view query = {};
  std::string_view monitor = {};
  uint64_t incarnation = 0;
  uint32_t epoch = 0;
  uint32_t lane = 0;
  uint32_t lanes = 1;
  uint64_t sequence = 0;
  int64_t watermark_ns = 0;
  int64_t watched_since_ns = 0;
  bool end_of_stream = false;
  double sampling_rate = 1.0;
  // The counts since the previous batch.
  const Accounting* accounting = nullptr;
};

class BatchBuilder {
 public:
  // `schema` must outlive the builder. `max_rows` is lowered if this number of rows would not fit into a batch.
  BatchBuilder(const Schema& schema, uint32_t max_rows);

  uint32_t rows() const { return rows_; }
  const Schema& schema() const { return schema_; }
  // Returns true if the tuple still fits into the batch. An empty builder has room for any tuple.
  bool fits(std::span<const Value> values) const;

  // REQUIRES: fits(values); the values match the schema's fields.
  void append(const TupleHeader& header, std::span<const Value> values);

  // Encodes the collected tuples, or a heartbeat if there are none, and empties the builder. The result is valid until
  // the next call.
  const std::string& encode(const BatchHeader& header);

 private:
  void append_common(const TupleHeader& header);
  void encode_header(const BatchHeader& header);
  void encode_accounting(const Accounting& accounting);

  const Schema& schema_;
  std::vector<ColumnBuilder> columns_;
  uint32_t max_rows_;
  uint32_t rows_ = 0;
  size_t dictionary_bytes_ = 0;
  v1::TupleBatch batch_;
  std::string encoded_;
};

}  // namespace tapline
