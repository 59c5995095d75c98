// Builds one column of a batch. Each number takes 8 bytes until the column is closed; close() packs them to the
// narrowest width.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "monitors/output/dictionary.h"
#include "parsers/api/schema.h"
#include "schema/tuple_batch.pb.h"

namespace tapline {

class ColumnBuilder {
 public:
  // `field` must outlive the builder.
  ColumnBuilder(const Field& field, uint32_t max_rows);

  // Appends a row's 64 bits: two's complement for I64, IEEE 754 for F64, 0 or 1 for BOOL. REQUIRES: fewer than max_rows
  // rows.
  void append_number(uint64_t bits) { values_[rows_++] = bits; }
  // Appends a row without a value. Readers that ignore the presence bitmap find 0, or "". Returns the number of bytes
  // by which the dictionary grew.
  size_t append_absent();
  // Appends a STRING or ADDRESS. Returns the number of bytes by which the dictionary grew.
  size_t append_bytes(std::string_view bytes) {
    size_t previous_size = dictionary_->bytes().size();
    append_number(dictionary_->index_of(bytes));
    return dictionary_->bytes().size() - previous_size;
  }

  // Writes the column into `out`, whose buffers are reused, and empties the builder.
  void close(v1::Column* out);

 private:
  struct Range {
    uint64_t base;
    uint32_t width;
  };
  Range measure() const;
  void pack(const Range& range, std::string* data) const;
  void close_dictionary(v1::Column* out);
  void close_presence(v1::Column* out);

  std::span<const uint64_t> values() const { return {values_.get(), rows_}; }

  const Field& field_;
  std::unique_ptr<uint64_t[]> values_;  // max_rows values
  uint32_t rows_ = 0;
  std::unique_ptr<Dictionary> dictionary_;
  std::vector<uint32_t> absent_;  // rows without a value, in ascending order; most columns have none
};

}  // namespace tapline
