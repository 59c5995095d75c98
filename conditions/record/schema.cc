#include "conditions/record/schema.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <sstream>

namespace tapline::conditions {
namespace {

constexpr std::string_view kTypeNames[] = {"bool", "u8",  "u16",  "u32",  "u64", "i8",    "i16",  "i32",  "i64",
                                           "f32",  "f64", "ipv4", "ipv6", "mac", "bytes", "time", "text", "address"};
constexpr uint32_t kTypeBytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 4, 16, 6, 0, 8, sizeof(TextRef), kAddressBytes};
constexpr uint32_t kMaxRowBytes = 4096;

bool is_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 64 && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status check_field(const FieldSpec& spec) {
  if (!is_name(spec.name)) return {Code::kInvalid, "'" + spec.name + "' is not a valid field name"};
  if (spec.type == FieldType::kBytes && (spec.bytes < 1 || spec.bytes > 64))
    return {Code::kInvalid, "field " + spec.name + " must have 1 to 64 bytes"};
  if (spec.elements < 1 || spec.elements > 64)
    return {Code::kInvalid, "field " + spec.name + " must have 1 to 64 elements"};
  return {};
}

uint64_t sign_bit(uint32_t bytes) { return uint64_t{1} << (8 * bytes - 1); }

uint64_t load_big_endian(const uint8_t* source, uint32_t bytes) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) value = value << 8 | source[i];
  return value;
}

uint64_t load_unsigned(const uint8_t* source, uint32_t bytes) {
  switch (bytes) {
    case 1:
      return *source;
    case 2:
      return load_as<uint16_t>(source);
    case 4:
      return load_as<uint32_t>(source);
    default:
      return load_as<uint64_t>(source);
  }
}

}  // namespace

std::string_view name_of(FieldType type) { return kTypeNames[static_cast<size_t>(type)]; }

std::string address_bytes(std::string_view address) {
  std::string bytes(1, address.size() == 4 ? 4 : 6);
  bytes += address;
  bytes.resize(kAddressBytes);
  return bytes;
}

uint32_t bits_of_address(std::string_view bytes) { return bytes[0] == 4 ? 32 : 128; }

Result<Schema> Schema::make(std::vector<FieldSpec> specs) {
  Schema schema;
  bool has_time = false;
  for (FieldSpec& spec : specs) {
    if (Status status = check_field(spec); !status.ok()) return status;
    if (schema.find(spec.name) != nullptr) return Status(Code::kInvalid, "two fields are named " + spec.name);
    Field field;
    field.column = {.offset = schema.row_bytes_,
                    .type = spec.type,
                    .bytes = spec.type == FieldType::kBytes ? spec.bytes : kTypeBytes[static_cast<size_t>(spec.type)],
                    .presence_bit = spec.optional ? static_cast<int32_t>(schema.presence_bits_++) : -1};
    if (!has_time && spec.type == FieldType::kTime && spec.elements == 1 && !spec.optional) {
      has_time = true;
      schema.time_field_ = schema.fields_.size();
    }
    schema.row_bytes_ += field.column.bytes * spec.elements;
    field.spec = std::move(spec);
    schema.fields_.push_back(std::move(field));
  }
  if (!has_time) return Status(Code::kInvalid, "a record needs a field of type time that is always present");
  schema.presence_offset_ = schema.row_bytes_;
  schema.row_bytes_ += (schema.presence_bits_ + 7) / 8;
  if (schema.row_bytes_ > kMaxRowBytes) return Status(Code::kInvalid, "a record can have at most 4096 bytes");
  return schema;
}

const Field* Schema::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (field.spec.name == name) return &field;
  }
  return nullptr;
}

std::string Schema::to_text() const {
  std::ostringstream out;
  for (const Field& field : fields_) {
    out << field.spec.name << ' ' << name_of(field.spec.type) << ' ' << field.column.bytes << ' ' << field.spec.elements
        << (field.spec.optional ? " optional" : "") << '\n';
  }
  return out.str();
}

Result<Schema> Schema::from_text(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::vector<FieldSpec> fields;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    FieldSpec spec;
    std::string type, optional;
    if (!(words >> spec.name >> type >> spec.bytes >> spec.elements))
      return Status(Code::kCorrupt, "bad line: " + line);
    words >> optional;
    spec.optional = optional == "optional";
    const auto* it = std::find(std::begin(kTypeNames), std::end(kTypeNames), type);
    if (it == std::end(kTypeNames)) return Status(Code::kCorrupt, "unknown type " + type);
    spec.type = static_cast<FieldType>(it - std::begin(kTypeNames));
    fields.push_back(std::move(spec));
  }
  return make(std::move(fields));
}

uint64_t float_key(double value) {
  if (value != value) return ~uint64_t{0};
  const auto bits = std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
  return bits >> 63 ? ~bits : bits | sign_bit(8);
}

double float_of_key(uint64_t key) { return std::bit_cast<double>(key >> 63 ? key ^ sign_bit(8) : ~key); }

uint32_t float_key32(float value) {
  if (value != value) return ~uint32_t{0};
  const auto bits = std::bit_cast<uint32_t>(value == 0 ? 0.0f : value);
  return bits >> 31 ? ~bits : bits | (uint32_t{1} << 31);
}

uint64_t key_of(const Column& column, const uint8_t* row) {
  const uint8_t* cursor = row + column.offset;
  switch (column.type) {
    case FieldType::kF32:
      return float_key32(load_as<float>(cursor));
    case FieldType::kF64:
      return float_key(load_as<double>(cursor));
    case FieldType::kBytes:
    case FieldType::kMac:
      return load_big_endian(cursor, std::min(column.bytes, 8u));
    case FieldType::kIpv6:
      return load_big_endian(cursor, 8);
    case FieldType::kBool:
      return *cursor != 0;
    default:
      break;
  }
  const uint64_t raw = load_unsigned(cursor, column.bytes);
  return column.is_signed() ? raw ^ sign_bit(column.bytes) : raw;
}

double number_of_key(const Column& column, uint64_t key) {
  if (column.type == FieldType::kF64) return float_of_key(key);
  if (column.type == FieldType::kF32) {
    const auto narrow = static_cast<uint32_t>(key);
    return std::bit_cast<float>(narrow >> 31 ? narrow ^ (uint32_t{1} << 31) : ~narrow);
  }
  return static_cast<double>(integer_of_key(column, key));
}

__int128 integer_of_key(const Column& column, uint64_t key) {
  return column.is_signed() ? static_cast<__int128>(key) - sign_bit(column.bytes) : static_cast<__int128>(key);
}

uint64_t key_of_integer(const Column& column, __int128 value) {
  return static_cast<uint64_t>(column.is_signed() ? value + sign_bit(column.bytes) : value);
}

__int128 min_of(const Column& column) {
  return column.is_signed() ? -static_cast<__int128>(sign_bit(column.bytes)) : 0;
}

__int128 max_of(const Column& column) {
  if (column.type == FieldType::kBool) return 1;
  const __int128 values = static_cast<__int128>(1) << (8 * column.bytes);
  return column.is_signed() ? values / 2 - 1 : values - 1;
}

uint8_t* RowBuilder::place_of(std::string_view name, uint32_t element, Column* column) {
  const Field* field = schema_->find(name);
  *column = field->element(element);
  if (column->presence_bit >= 0)
    row_[schema_->presence_offset() + column->presence_bit / 8] |= static_cast<uint8_t>(1u << column->presence_bit % 8);
  return row_.data() + column->offset;
}

RowBuilder& RowBuilder::set(std::string_view field, uint64_t value, uint32_t element) {
  Column column;
  uint8_t* place = place_of(field, element, &column);
  if (column.is_float()) return set_float(field, static_cast<double>(value), element);
  if (column.type == FieldType::kMac || column.type == FieldType::kBytes) {
    for (uint32_t i = column.bytes; i-- > 0; value >>= 8) place[i] = static_cast<uint8_t>(value);
  } else {
    std::memcpy(place, &value, std::min(column.bytes, 8u));
  }
  return *this;
}

RowBuilder& RowBuilder::set_float(std::string_view field, double value, uint32_t element) {
  Column column;
  uint8_t* place = place_of(field, element, &column);
  const auto narrow = static_cast<float>(value);
  column.bytes == 4 ? std::memcpy(place, &narrow, 4) : std::memcpy(place, &value, 8);
  return *this;
}

RowBuilder& RowBuilder::set_bytes(std::string_view field, std::string_view bytes, uint32_t element) {
  Column column;
  uint8_t* place = place_of(field, element, &column);
  std::memcpy(place, bytes.data(), std::min<size_t>(bytes.size(), column.bytes));
  return *this;
}

std::string format_field(const Schema& schema, const Field& field, const uint8_t* row) {
  const Column& column = field.column;
  if (!is_present(column, row, schema.presence_offset())) return "";
  const uint8_t* cursor = row + column.offset;
  char text[INET6_ADDRSTRLEN + 1] = {};
  switch (column.type) {
    case FieldType::kIpv4: {
      const uint32_t network = htonl(load_as<uint32_t>(cursor));
      return inet_ntop(AF_INET, &network, text, sizeof text);
    }
    case FieldType::kIpv6:
      return inet_ntop(AF_INET6, cursor, text, sizeof text);
    case FieldType::kMac:
    case FieldType::kBytes: {
      std::string hex;
      for (uint32_t i = 0; i < column.bytes; ++i) {
        std::snprintf(text, sizeof text, "%s%02x", i > 0 && column.type == FieldType::kMac ? ":" : "", cursor[i]);
        hex += text;
      }
      return hex;
    }
    case FieldType::kF32:
    case FieldType::kF64:
      std::snprintf(text, sizeof text, "%.17g", number_of_key(column, key_of(column, row)));
      return text;
    case FieldType::kI8:
    case FieldType::kI16:
    case FieldType::kI32:
    case FieldType::kI64:
      return std::to_string(static_cast<int64_t>(integer_of_key(column, key_of(column, row))));
    default:
      return std::to_string(key_of(column, row));
  }
}

}  // namespace tapline::conditions
