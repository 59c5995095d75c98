// The layout of a record: fixed-width fields at fixed offsets in a packed row.
//
//   | field 0 | field 1 | … | field n-1 | presence bits of optional fields, starting at the first byte's lowest bit |
//
// Integers, floats, times and IPv4 addresses are in host order (an IPv4 address is a number: 10.0.0.1 = 0x0a000001);
// IPv6, MAC and other byte fields are in network order. A row without optional fields has no presence bytes.
//
// Each field or list element of up to 8 bytes has a *key*: an unsigned number of 1, 2, 4 or 8 bytes that sorts like the
// values (signed numbers have an offset; for floats, -0 equals 0 and NaN is above all others). Filters, indexes and
// zone maps compare keys only. A longer field, such as an IPv6 address, consists of *parts* of up to 8 bytes, most
// significant first, each with its own key.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline::conditions {

enum class FieldType : uint8_t {
  kBool,
  kU8,
  kU16,
  kU32,
  kU64,
  kI8,
  kI16,
  kI32,
  kI64,
  kF32,
  kF64,
  kIpv4,
  kIpv6,
  kMac,
  kBytes,
  kTime,
  kText,
  kAddress
};

// Length of an address of either family in a row: 4 or 6, then the address in network order, padded with zeros.
inline constexpr uint32_t kAddressBytes = 17;
// Returns an address in the form that rows contain. REQUIRES: 4 or 16 bytes in network order.
std::string address_bytes(std::string_view address);
// Returns the number of bits of the address, 32 or 128. REQUIRES: `bytes` is a result of address_bytes().
uint32_t bits_of_address(std::string_view bytes);

// A string in a row. Its bytes are stored elsewhere and live only as long as the row, so a row with strings can't be
// stored.
struct TextRef {
  const char* data = nullptr;
  uint64_t bytes = 0;
  std::string_view view() const { return {data, bytes}; }
};

std::string_view name_of(FieldType type);

struct FieldSpec {
  std::string name;
  FieldType type = FieldType::kU32;
  // The length of a kBytes field, 1 to 64.
  uint32_t bytes = 0;
  // Above 1 for a list, such as a path's switches: `path[2]`, `path contains 7`.
  uint32_t elements = 1;
  // True if a record may lack the field (in a MultiLog row, its presence bit is then 0). A comparison with a missing
  // field selects no row, negated or not.
  bool optional = false;
};

// A number or byte string at an offset in the row.
struct Column {
  uint32_t offset = 0;
  FieldType type = FieldType::kU32;
  uint32_t bytes = 4;
  // The presence bit; -1 if the column is always present.
  int32_t presence_bit = -1;

  bool keyed() const { return bytes <= 8; }
  // Returns the width of the key in bytes: 1, 2, 4 or 8.
  uint32_t key_bytes() const { return bytes <= 2 ? bytes : bytes <= 4 ? 4 : 8; }
  uint64_t max_key() const { return key_bytes() == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * key_bytes())) - 1; }
  uint32_t parts() const { return (bytes + 7) / 8; }
  // REQUIRES: i < parts().
  Column part(uint32_t i) const {
    if (keyed()) return *this;
    Column result = *this;
    result.offset += 8 * i;
    result.type = FieldType::kBytes;
    result.bytes = bytes - 8 * i < 8 ? bytes - 8 * i : 8;
    return result;
  }
  bool is_float() const { return type == FieldType::kF32 || type == FieldType::kF64; }
  bool is_signed() const { return type >= FieldType::kI8 && type <= FieldType::kI64; }
  // Returns true if sums, averages and arithmetic make sense.
  bool is_number() const { return type <= FieldType::kF64 || type == FieldType::kTime; }
  bool operator==(const Column&) const = default;
};

struct Field {
  FieldSpec spec;
  Column column;  // the column of the first element

  Column element(uint32_t index) const {
    Column result = column;
    result.offset += index * column.bytes;
    return result;
  }
};

class Schema {
 public:
  // Creates a schema, or fails if the fields are invalid. One of them must have type kTime and be neither a list nor
  // optional; the first such field is the record's time in nanoseconds.
  static Result<Schema> make(std::vector<FieldSpec> fields);

  const std::vector<Field>& fields() const { return fields_; }
  const Field* find(std::string_view name) const;
  const Column& time() const { return fields_[time_field_].column; }
  uint32_t row_bytes() const { return row_bytes_; }
  uint32_t presence_offset() const { return presence_offset_; }
  uint32_t presence_bits() const { return presence_bits_; }
  // Returns a line per field: "name type bytes elements", followed by " optional" if the field is. Equal texts mean
  // equal layouts.
  std::string to_text() const;
  static Result<Schema> from_text(std::string_view text);

 private:
  std::vector<Field> fields_;
  size_t time_field_ = 0;
  uint32_t row_bytes_ = 0;
  uint32_t presence_offset_ = 0;
  uint32_t presence_bits_ = 0;
};

template <typename T>
T load_as(const uint8_t* source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

uint64_t float_key(double value);
double float_of_key(uint64_t key);
uint32_t float_key32(float value);

// REQUIRES: column.keyed().
uint64_t key_of(const Column& column, const uint8_t* row);
// Returns a key's value as a number; the key itself if the column has no numbers. REQUIRES: keyed().
double number_of_key(const Column& column, uint64_t key);
// Returns a key's value as an integer. REQUIRES: keyed() and not is_float().
__int128 integer_of_key(const Column& column, uint64_t key);
uint64_t key_of_integer(const Column& column, __int128 value);
// Returns the minimum of the integers that the column can hold; max_of() returns the maximum. REQUIRES: keyed() and not
// is_float().
__int128 min_of(const Column& column);
__int128 max_of(const Column& column);

inline bool is_present(const Column& column, const uint8_t* row, uint32_t presence_offset) {
  return column.presence_bit < 0 || (row[presence_offset + column.presence_bit / 8] >> (column.presence_bit % 8) & 1);
}

inline uint64_t time_of(const Schema& schema, const uint8_t* row) {
  return load_as<uint64_t>(row + schema.time().offset);
}

// Fills a row by field name, for tests, tools and small producers. Fields that are not set are 0 and, if optional,
// missing.
class RowBuilder {
 public:
  explicit RowBuilder(const Schema& schema) : schema_(&schema), row_(schema.row_bytes()) {}
  // Sets a field; truncates the number to the field's width. REQUIRES: the field exists.
  RowBuilder& set(std::string_view field, uint64_t value, uint32_t element = 0);
  RowBuilder& set_float(std::string_view field, double value, uint32_t element = 0);
  RowBuilder& set_bytes(std::string_view field, std::string_view bytes, uint32_t element = 0);
  const std::vector<uint8_t>& row() const { return row_; }

 private:
  uint8_t* place_of(std::string_view field, uint32_t element, Column* column);
  const Schema* schema_;
  std::vector<uint8_t> row_;
};

// Formats the field's first element, as in "10.0.0.1" or "1500". Returns "" if it is missing.
std::string format_field(const Schema& schema, const Field& field, const uint8_t* row);

}  // namespace tapline::conditions
