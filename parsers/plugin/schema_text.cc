#include "parsers/plugin/schema_text.h"

#include <nlohmann/json.hpp>

namespace tapline {
namespace {

using Json = nlohmann::json;

Field field_of(const Json& json) {
  Field field;
  field.name = json.at(0);
  field.type = static_cast<FieldType>(json.at(1).get<uint8_t>());
  field.unit = json.at(2);
  field.description = json.at(3);
  field.additive = json.at(4);
  field.optional = json.at(5);
  return field;
}

}  // namespace

std::string schema_to_text(const Schema& schema) {
  Json fields = Json::array();
  for (const Field& field : schema.fields) {
    fields.push_back(
        {field.name, static_cast<uint8_t>(field.type), field.unit, field.description, field.additive, field.optional});
  }
  const Duration& duration = schema.duration;
  return Json{schema.name,
              schema.description,
              static_cast<uint8_t>(schema.layer),
              std::move(fields),
              schema.main_fields,
              schema.value_field,
              Json{duration.field, duration.event_field, duration.start, duration.end}}
      .dump();
}

std::optional<Schema> schema_of_text(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    Schema schema;
    schema.name = json.at(0);
    schema.description = json.at(1);
    schema.layer = static_cast<Layer>(json.at(2).get<uint8_t>());
    for (const Json& field : json.at(3)) schema.fields.push_back(field_of(field));
    schema.main_fields = json.at(4);
    schema.value_field = json.at(5);
    const Json& duration = json.at(6);
    schema.duration = {duration.at(0), duration.at(1), duration.at(2), duration.at(3)};
    return schema;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace tapline
