#include "monitors/plan/tuple_condition.h"

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "parsers/api/schema.h"

namespace tapline {
namespace {

// The index of each field in common_fields().
enum Common : uint32_t { kTime, kFlowHash, kFlowIncarnation, kClientKnownBy, kSrcIp, kSrcPort, kDstIp, kDstPort };
constexpr size_t kCommon = 8;

// Enough for a row of a parser with 64 fields and their presence bits.
constexpr size_t kMaxRowBytes = 4096;

conditions::FieldType type_of(FieldType type) {
  switch (type) {
    case FieldType::kI64:
      return conditions::FieldType::kI64;
    case FieldType::kF64:
      return conditions::FieldType::kF64;
    case FieldType::kBool:
      return conditions::FieldType::kBool;
    case FieldType::kString:
      return conditions::FieldType::kText;
    case FieldType::kAddress:
      return conditions::FieldType::kAddress;
    default:
      return conditions::FieldType::kU64;
  }
}

template <typename T>
void store(const T& value, uint8_t* place) {
  std::memcpy(place, &value, sizeof value);
}

void store_address(const IpAddress& address, uint8_t* place) {
  const auto bytes = address.bytes();
  std::memset(place, 0, conditions::kAddressBytes);
  place[0] = bytes.size() == 4 ? 4 : 6;
  std::memcpy(place + 1, bytes.data(), bytes.size());
}

void store_text(std::string_view text, uint8_t* place) { store(conditions::TextRef{text.data(), text.size()}, place); }

void store_common(const TupleHeader& header, uint32_t field, uint8_t* place) {
  switch (field) {
    case kTime:
      return store(header.time_ns, place);
    case kFlowHash:
      return store(header.flow_hash, place);
    case kFlowIncarnation:
      return store(uint64_t{header.flow_incarnation}, place);
    case kClientKnownBy:
      return store_text(name_of(header.client_known_by), place);
    case kSrcIp:
      return store_address(header.src_ip, place);
    case kSrcPort:
      return store(uint64_t{header.src_port}, place);
    case kDstIp:
      return store_address(header.dst_ip, place);
    default:
      return store(uint64_t{header.dst_port}, place);
  }
}

void store_value(const Value& value, uint8_t* place) {
  switch (value.type()) {
    case FieldType::kF64:
      return store(value.as_f64(), place);
    case FieldType::kBool:
      return store(value.as_bool(), place);
    case FieldType::kString:
      return store_text(value.as_string(), place);
    default:
      return store(value.as_u64(), place);
  }
}

}  // namespace

TupleCondition::TupleCondition(conditions::Schema layout, conditions::Expression expression,
                               std::vector<Source> sources)
    : layout_(std::move(layout)), expression_(std::move(expression)), sources_(std::move(sources)) {}

Result<TupleCondition> TupleCondition::make(const v1::ConditionTree& tree, const Schema& schema) {
  std::vector<Field> fields(common_fields().begin(), common_fields().end());
  fields.insert(fields.end(), schema.fields.begin(), schema.fields.end());
  const std::set<std::string> used = conditions::fields_of(tree);
  // A row must have a time field that is always present.
  std::vector<conditions::FieldSpec> specs{{.name = fields[kTime].name, .type = conditions::FieldType::kTime}};
  std::vector<uint32_t> order{kTime};
  for (uint32_t i = kTime + 1; i < fields.size(); ++i) {
    if (!used.contains(fields[i].name)) continue;
    specs.push_back({.name = fields[i].name, .type = type_of(fields[i].type), .optional = true});
    order.push_back(i);
  }
  auto layout = conditions::Schema::make(std::move(specs));
  if (!layout.ok()) return layout.status();
  if (layout->row_bytes() > kMaxRowBytes) return Status::internal(schema.name + ": its rows are too long");
  auto expression = conditions::Expression::compile(tree, *layout);
  if (!expression.ok()) return expression.status();
  std::vector<Source> sources;
  for (size_t i = 0; i < order.size(); ++i) sources.push_back({order[i], layout->fields()[i].column});
  return TupleCondition(std::move(*layout), std::move(*expression), std::move(sources));
}

bool TupleCondition::holds(const TupleHeader& header, std::span<const Value> values) const {
  // Only the presence bits must be cleared, since a field is read only if its bit is set.
  std::array<uint8_t, kMaxRowBytes> row;
  uint8_t* const bits = row.data() + layout_.presence_offset();
  std::memset(bits, 0, layout_.row_bytes() - layout_.presence_offset());
  for (const Source& source : sources_) {
    uint8_t* const place = row.data() + source.column.offset;
    if (source.field < kCommon) {
      store_common(header, source.field, place);
    } else {
      const Value& value = values[source.field - kCommon];
      if (!value.present()) continue;
      store_value(value, place);
    }
    const int32_t bit = source.column.presence_bit;
    if (bit >= 0) bits[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
  }
  return expression_.matches(row.data(), layout_);
}

}  // namespace tapline
