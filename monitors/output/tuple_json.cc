#include "monitors/output/tuple_json.h"

#include "monitors/output/json_text.h"

namespace tapline {
namespace {

void append_value(const Value& value, std::string* out) {
  if (!value.present()) {
    out->append("null");
    return;
  }
  switch (value.type()) {
    case FieldType::kU64:
      return append_number(value.as_u64(), out);
    case FieldType::kI64:
      return append_number(value.as_i64(), out);
    case FieldType::kF64:
      return append_number(value.as_f64(), out);
    case FieldType::kBool:
      out->append(value.as_bool() ? "true" : "false");
      return;
    default:
      return append_json_string(value.as_string(), out);
  }
}

}  // namespace

void append_tuple_json(const Schema& schema, const TupleHeader& header, std::span<const Value> values,
                       std::string* out) {
  out->append("\"time_ns\":");
  append_number(header.time_ns, out);
  out->append(",\"flow_id\":\"");
  append_hex(header.flow_hash, 16, out);
  out->push_back('-');
  append_hex(header.flow_incarnation, 8, out);
  out->append("\",\"client_known_by\":\"").append(name_of(header.client_known_by));
  out->append("\",\"src_ip\":\"");
  append_address(header.src_ip, out);
  out->append("\",\"src_port\":");
  append_number(uint64_t{header.src_port}, out);
  out->append(",\"dst_ip\":\"");
  append_address(header.dst_ip, out);
  out->append("\",\"dst_port\":");
  append_number(uint64_t{header.dst_port}, out);
  for (size_t i = 0; i < values.size(); ++i) {
    out->append(",\"").append(schema.fields[i].name).append("\":");
    append_value(values[i], out);
  }
}

}  // namespace tapline
