#include "monitors/output/column.h"

#include <algorithm>
#include <bit>

namespace tapline {
namespace {

// Rows are copied from memory as little-endian words.
static_assert(std::endian::native == std::endian::little);

v1::Column::Type type_of(FieldType type) {
  switch (type) {
    case FieldType::kU64:
      return v1::Column::U64;
    case FieldType::kI64:
      return v1::Column::I64;
    case FieldType::kF64:
      return v1::Column::F64;
    case FieldType::kBool:
      return v1::Column::BOOL;
    case FieldType::kString:
      return v1::Column::STRING;
    case FieldType::kAddress:
      return v1::Column::ADDRESS;
  }
  return v1::Column::U64;
}

uint32_t width_for(uint64_t range) {
  if (range <= UINT8_MAX) return 1;
  if (range <= UINT16_MAX) return 2;
  return range <= UINT32_MAX ? 4 : 8;
}

template <typename Word>
void pack_as(std::span<const uint64_t> values, uint64_t base, std::string* data) {
  data->resize(values.size() * sizeof(Word));
  char* out = data->data();
  for (uint64_t value : values) {
    auto word = static_cast<Word>(value - base);
    std::memcpy(out, &word, sizeof word);
    out += sizeof word;
  }
}

template <typename Number>
uint64_t min_and_range(std::span<const uint64_t> values, uint64_t* range) {
  auto min = static_cast<Number>(values[0]), max = min;
  for (uint64_t value : values) {
    min = std::min(min, static_cast<Number>(value));
    max = std::max(max, static_cast<Number>(value));
  }
  *range = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
  return static_cast<uint64_t>(min);
}

}  // namespace

ColumnBuilder::ColumnBuilder(const Field& field, uint32_t max_rows)
    : field_(field), values_(std::make_unique<uint64_t[]>(max_rows)) {
  if (field.type == FieldType::kString || field.type == FieldType::kAddress) {
    dictionary_ = std::make_unique<Dictionary>(max_rows);
  }
}

size_t ColumnBuilder::append_absent() {
  absent_.push_back(rows_);
  if (dictionary_) return append_bytes("");
  append_number(0);
  return 0;
}

ColumnBuilder::Range ColumnBuilder::measure() const {
  if (field_.type == FieldType::kF64) return {0, 8};
  if (dictionary_) return {0, width_for(dictionary_->entries() - 1)};
  if (field_.type == FieldType::kBool) return {0, 1};
  uint64_t range = 0;
  uint64_t base = field_.type == FieldType::kI64 ? min_and_range<int64_t>(values(), &range)
                                                 : min_and_range<uint64_t>(values(), &range);
  return {base, width_for(range)};
}

void ColumnBuilder::pack(const Range& range, std::string* data) const {
  switch (range.width) {
    case 1:
      return pack_as<uint8_t>(values(), range.base, data);
    case 2:
      return pack_as<uint16_t>(values(), range.base, data);
    case 4:
      return pack_as<uint32_t>(values(), range.base, data);
    default:
      return pack_as<uint64_t>(values(), range.base, data);
  }
}

void ColumnBuilder::close_dictionary(v1::Column* out) {
  out->mutable_dictionary()->assign(dictionary_->bytes());
  out->mutable_dictionary_end()->Assign(dictionary_->ends().begin(), dictionary_->ends().end());
  dictionary_->clear();
}

void ColumnBuilder::close_presence(v1::Column* out) {
  std::string* present = out->mutable_present();
  present->assign((rows_ + 7) / 8, '\xff');
  if (rows_ % 8 != 0) present->back() = static_cast<char>((1 << rows_ % 8) - 1);
  for (const uint32_t row : absent_) (*present)[row / 8] &= static_cast<char>(~(1 << row % 8));
  absent_.clear();
}

void ColumnBuilder::close(v1::Column* out) {
  Range range = measure();
  out->set_name(field_.name);
  out->set_type(type_of(field_.type));
  out->set_unit(field_.unit);
  out->set_width(range.width);
  out->set_base(range.base);
  pack(range, out->mutable_data());
  if (dictionary_) close_dictionary(out);
  if (!absent_.empty()) close_presence(out);
  rows_ = 0;
}

}  // namespace tapline
