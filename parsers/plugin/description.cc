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
// The field size of plug-ins that were built before fields could be optional.
constexpr uint32_t kOldestFieldBytes = offsetof(tapline_field, optional);
constexpr uint32_t kKnownNeeds = TAPLINE_NEEDS_PACKETS | TAPLINE_NEEDS_CONNECTIONS | TAPLINE_NEEDS_STREAMS |
                                 TAPLINE_NEEDS_INTERVALS | TAPLINE_NEEDS_ALL_VIEWS;

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || !is_lower(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// Reads a string. Returns false if it has more than `longest` bytes or is not printable ASCII. Reads at most longest +
// 1 bytes of the plug-in's memory.
bool read_text(const char* text_bytes, size_t longest, std::string* text) {
  text->clear();
  if (text_bytes == nullptr) return true;
  const size_t size = strnlen(text_bytes, longest + 1);
  if (size > longest) return false;
  text->assign(text_bytes, size);
  return std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c <= '~'; });
}

class Reader {
 public:
  explicit Reader(std::string* error) : error_(error) {}

  bool read(const tapline_parser* source, ParserDescription* out) {
    return read_structure(source, out) && read_names(out) && read_fields(out) && read_references(out) &&
           read_needs(out);
  }

 private:
  bool wrong(const std::string& fault) {
    *error_ = (name_.empty() ? "unnamed parser" : "parser " + name_) + ": " + fault;
    return false;
  }

  bool read_structure(const tapline_parser* source, ParserDescription* out) {
    if (source == nullptr) {
      *error_ = "parser pointer is null";
      return false;
    }
    if (source->struct_bytes < sizeof(tapline_parser)) return wrong("struct_bytes is too small");
    if (source->field_bytes < kOldestFieldBytes) return wrong("field_bytes is too small");
    out->callbacks = *source;
    return true;
  }

  bool read_names(ParserDescription* out) {
    const tapline_parser& callbacks = out->callbacks;
    Schema& schema = out->schema;
    if (callbacks.name == nullptr || !read_text(callbacks.name, kLongestName, &schema.name) || !is_name(schema.name)) {
      return wrong("invalid name: use at most 63 lower-case letters, digits and '_', beginning with a letter");
    }
    name_ = schema.name;
    if (!read_text(callbacks.description, kLongestText, &schema.description)) {
      return wrong("the description is too long or not printable ASCII");
    }
    if (callbacks.layer > TAPLINE_APPLICATION) return wrong("unknown layer " + std::to_string(callbacks.layer));
    schema.layer = static_cast<Layer>(callbacks.layer);
    return true;
  }

  bool read_fields(ParserDescription* out) {
    const tapline_parser& callbacks = out->callbacks;
    if (callbacks.fields == nullptr || callbacks.field_count == 0 || callbacks.field_count > kMaxFields) {
      return wrong("must have 1 to 64 fields");
    }
    const auto* bytes = reinterpret_cast<const char*>(callbacks.fields);
    for (uint32_t i = 0; i < callbacks.field_count; ++i, bytes += callbacks.field_bytes) {
      tapline_field field = {};
      std::memcpy(&field, bytes, std::min<size_t>(sizeof field, callbacks.field_bytes));
      if (!read_field(field, &out->schema)) return false;
    }
    return true;
  }

  bool read_field(const tapline_field& source, Schema* schema) {
    Field field;
    if (source.name == nullptr || !read_text(source.name, kLongestName, &field.name) || !is_name(field.name)) {
      return wrong("field " + std::to_string(schema->fields.size() + 1) + " has an invalid name");
    }
    if (field.name == "parser" || field.name == "query" || field.name == "flow_id" || find(*schema, field.name)) {
      return wrong("duplicate or reserved field name " + field.name);
    }
    if (!read_text(source.unit, kLongestName, &field.unit) ||
        !read_text(source.description, kLongestText, &field.description)) {
      return wrong("the unit or description of field " + field.name + " is too long or not printable ASCII");
    }
    if (source.type > TAPLINE_STRING) return wrong("field " + field.name + " has an unknown type");
    field.type = static_cast<FieldType>(source.type);
    field.additive = source.additive != 0;
    field.optional = source.optional != 0;
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
    const tapline_parser& callbacks = out->callbacks;
    Schema& schema = out->schema;
    if (callbacks.main_field_count > kMaxFields ||
        (callbacks.main_field_count > 0 && callbacks.main_fields == nullptr)) {
      return wrong("main_fields is null or has too many entries");
    }
    for (uint32_t i = 0; i < callbacks.main_field_count; ++i) {
      std::string name;
      if (!read_text(callbacks.main_fields[i], kLongestName, &name) || find(schema, name) == nullptr) {
        return wrong("main field " + std::to_string(i + 1) +
                     " is neither one of the parser's fields nor a common field");
      }
      schema.main_fields.push_back(std::move(name));
    }
    if (schema.main_fields.empty()) return wrong("must have at least one main field");
    return read_number_field(callbacks.value_field, "value_field", &schema, &schema.value_field) &&
           read_number_field(callbacks.duration_field, "duration_field", &schema, &schema.duration.field);
  }

  bool read_number_field(const char* source, const char* fault, const Schema* schema, std::string* name) {
    if (source == nullptr) return true;
    const Field* field = read_text(source, kLongestName, name) ? find(*schema, *name) : nullptr;
    if (field == nullptr || field->type > FieldType::kF64) return wrong(std::string(fault) + " is not a numeric field");
    return true;
  }

  bool read_needs(ParserDescription* out) {
    const tapline_parser& callbacks = out->callbacks;
    if ((callbacks.needs & ~kKnownNeeds) != 0)
      return wrong("requests features that this version of Tapline does not support");
    if (callbacks.connection_state_bytes > kMaxStateBytes) return wrong("connection_state_bytes must not exceed 4096");
    Needs& needs = out->needs;
    needs.packets = (callbacks.needs & TAPLINE_NEEDS_PACKETS) != 0;
    needs.streams = (callbacks.needs & TAPLINE_NEEDS_STREAMS) != 0;
    needs.connections = needs.streams || (callbacks.needs & TAPLINE_NEEDS_CONNECTIONS) != 0;
    needs.all_views = (callbacks.needs & TAPLINE_NEEDS_ALL_VIEWS) != 0;
    const bool intervals = (callbacks.needs & TAPLINE_NEEDS_INTERVALS) != 0;
    if (intervals) needs.interval_ns = callbacks.interval_us == 0 ? kNsPerSecond : callbacks.interval_us * kNsPerUs;
    needs.connection_state_bytes = static_cast<uint16_t>(callbacks.connection_state_bytes);
    if (needs.connection_state_bytes > 0 && !needs.connections)
      return wrong("connection_state_bytes requires TAPLINE_NEEDS_CONNECTIONS or TAPLINE_NEEDS_STREAMS");
    if (!needs.packets && !needs.streams) return wrong("must set TAPLINE_NEEDS_PACKETS or TAPLINE_NEEDS_STREAMS");
    if (needs.all_views && !needs.packets) return wrong("TAPLINE_NEEDS_ALL_VIEWS requires TAPLINE_NEEDS_PACKETS");
    if (callbacks.create == nullptr || callbacks.destroy == nullptr) return wrong("create or destroy is null");
    if (needs.packets && callbacks.process == nullptr) return wrong("process is null");
    if (intervals && callbacks.on_interval == nullptr) return wrong("on_interval is null");
    if (intervals && needs.interval_ns < kShortestIntervalNs) return wrong("interval_us must be at least 100");
    const bool stream_calls =
        callbacks.on_data != nullptr && callbacks.on_gap != nullptr && callbacks.on_stream_end != nullptr;
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
