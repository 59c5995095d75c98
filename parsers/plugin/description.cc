#include "parsers/plugin/description.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace tapline {
namespace {

constexpr size_t kLongestName = 63;
constexpr size_t kLongestText = 1000;
constexpr uint32_t kMaxFields = 64;
constexpr uint32_t kMaxStateBytes = 4096;
// The field size of plug-ins built before fields could be optional.
constexpr uint32_t kOldestFieldBytes = offsetof(tapline_field, optional);
constexpr uint32_t kKnownNeeds = TAPLINE_NEEDS_PACKETS | TAPLINE_NEEDS_CONNECTIONS | TAPLINE_NEEDS_STREAMS |
                                 TAPLINE_NEEDS_INTERVALS | TAPLINE_NEEDS_ALL_VIEWS;

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || !is_lower(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// Reads at most one byte more than allowed.
bool read_text(const char* from, size_t longest, std::string* text) {
  text->clear();
  if (from == nullptr) return true;
  const size_t size = strnlen(from, longest + 1);
  if (size > longest) return false;
  text->assign(from, size);
  return std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c <= '~'; });
}

class Reader {
 public:
  explicit Reader(std::string* error) : error_(error) {}

  bool read(const tapline_parser* from, ParserDescription* out) {
    return read_structure(from, out) && read_names(out) && read_fields(out) && read_references(out) && read_needs(out);
  }

 private:
  bool wrong(const std::string& fault) {
    *error_ = (name_.empty() ? "a parser" : "parser " + name_) + ": " + fault;
    return false;
  }

  bool read_structure(const tapline_parser* from, ParserDescription* out) {
    if (from == nullptr) return wrong("is null");
    if (from->struct_bytes < sizeof(tapline_parser)) return wrong("struct_bytes is too small");
    if (from->field_bytes < kOldestFieldBytes) return wrong("field_bytes is too small");
    out->callbacks = *from;
    return true;
  }

  bool read_names(ParserDescription* out) {
    const tapline_parser& from = out->callbacks;
    Schema& schema = out->schema;
    if (from.name == nullptr || !read_text(from.name, kLongestName, &schema.name) || !is_name(schema.name)) {
      return wrong("its name is invalid: use at most 63 lower-case letters, digits and '_'");
    }
    name_ = schema.name;
    if (!read_text(from.description, kLongestText, &schema.description)) {
      return wrong("its description is too long, or not ASCII");
    }
    if (from.layer > TAPLINE_APPLICATION) return wrong("layer " + std::to_string(from.layer) + " is unknown");
    schema.layer = static_cast<Layer>(from.layer);
    return true;
  }

  bool read_fields(ParserDescription* out) {
    const tapline_parser& from = out->callbacks;
    if (from.fields == nullptr || from.field_count == 0 || from.field_count > kMaxFields) {
      return wrong("it needs 1 to 64 fields");
    }
    const auto* at = reinterpret_cast<const char*>(from.fields);
    for (uint32_t i = 0; i < from.field_count; ++i, at += from.field_bytes) {
      tapline_field field = {};
      std::memcpy(&field, at, std::min<size_t>(sizeof field, from.field_bytes));
      if (!read_field(field, &out->schema)) return false;
    }
    return true;
  }

  bool read_field(const tapline_field& from, Schema* schema) {
    Field field;
    if (from.name == nullptr || !read_text(from.name, kLongestName, &field.name) || !is_name(field.name)) {
      return wrong("the name of field " + std::to_string(schema->fields.size() + 1) + " is invalid");
    }
    if (field.name == "parser" || field.name == "query" || field.name == "flow_id" || find(*schema, field.name)) {
      return wrong("field " + field.name + " has the same name as another one");
    }
    if (!read_text(from.unit, kLongestName, &field.unit) ||
        !read_text(from.description, kLongestText, &field.description)) {
      return wrong("a string of field " + field.name + " is too long, or not ASCII");
    }
    if (from.type > TAPLINE_STRING) return wrong("field " + field.name + " has an unknown type");
    field.type = static_cast<FieldType>(from.type);
    field.additive = from.additive != 0;
    field.optional = from.optional != 0;
    schema->fields.push_back(std::move(field));
    return true;
  }

  static const Field* find(const Schema& schema, std::string_view name) {
    for (const Field& field : schema.fields) {
      if (field.name == name) return &field;
    }
    for (const Field& field : common_fields()) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }

  bool read_references(ParserDescription* out) {
    const tapline_parser& from = out->callbacks;
    Schema& schema = out->schema;
    if (from.main_field_count > kMaxFields || (from.main_field_count > 0 && from.main_fields == nullptr)) {
      return wrong("main_fields is null, or has too many");
    }
    for (uint32_t i = 0; i < from.main_field_count; ++i) {
      std::string name;
      if (!read_text(from.main_fields[i], kLongestName, &name) || find(schema, name) == nullptr) {
        return wrong("main field " + std::to_string(i + 1) + " is not one of its fields");
      }
      schema.main_fields.push_back(std::move(name));
    }
    if (schema.main_fields.empty()) return wrong("it does not name a main field");
    return read_number_field(from.value_field, "value_field", &schema, &schema.value_field) &&
           read_number_field(from.duration_field, "duration_field", &schema, &schema.duration.field);
  }

  bool read_number_field(const char* from, const char* fault, const Schema* schema, std::string* name) {
    if (from == nullptr) return true;
    const Field* field = read_text(from, kLongestName, name) ? find(*schema, *name) : nullptr;
    if (field == nullptr || field->type > FieldType::kF64) return wrong(std::string(fault) + " is not a numeric field");
    return true;
  }

  bool read_needs(ParserDescription* out) {
    const tapline_parser& from = out->callbacks;
    if ((from.needs & ~kKnownNeeds) != 0) return wrong("it requires features that this version does not know");
    if (from.connection_state_bytes > kMaxStateBytes) return wrong("connection_state_bytes is above 4096");
    Needs& needs = out->needs;
    needs.packets = (from.needs & TAPLINE_NEEDS_PACKETS) != 0;
    needs.streams = (from.needs & TAPLINE_NEEDS_STREAMS) != 0;
    needs.connections = needs.streams || (from.needs & TAPLINE_NEEDS_CONNECTIONS) != 0;
    needs.all_views = (from.needs & TAPLINE_NEEDS_ALL_VIEWS) != 0;
    const bool intervals = (from.needs & TAPLINE_NEEDS_INTERVALS) != 0;
    if (intervals) needs.interval_ns = from.interval_us == 0 ? kNsPerSecond : from.interval_us * kNsPerUs;
    needs.connection_state_bytes = static_cast<uint16_t>(from.connection_state_bytes);
    if (needs.connection_state_bytes > 0 && !needs.connections) return wrong("state needs connections");
    if (!needs.packets && !needs.streams) return wrong("it needs neither packets nor streams");
    if (needs.all_views && !needs.packets) return wrong("views need packets");
    if (from.create == nullptr || from.destroy == nullptr) return wrong("create or destroy is null");
    if (needs.packets && from.process == nullptr) return wrong("process is null");
    if (intervals && from.on_interval == nullptr) return wrong("on_interval is null");
    if (intervals && needs.interval_ns < kShortestIntervalNs) return wrong("interval_us is below 100");
    const bool stream_calls = from.on_data != nullptr && from.on_gap != nullptr && from.on_stream_end != nullptr;
    if (needs.streams && !stream_calls) return wrong("on_data, on_gap or on_stream_end is null");
    return true;
  }

  std::string* error_;
  std::string name_;
};

}  // namespace

std::optional<ParserDescription> describe(const tapline_parser* parser, std::string* error) {
  ParserDescription description;
  if (!Reader(error).read(parser, &description)) return std::nullopt;
  return description;
}

}  // namespace tapline
