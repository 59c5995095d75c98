#include "parsers/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

// Lists every built-in parser NAME. parsers/NAME defines make_NAME(). Adding a parser takes one line here.
#define TAPLINE_PARSERS(PARSER) \
  PARSER(dns_query)             \
  PARSER(flow_rate)             \
  PARSER(http2_request)         \
  PARSER(http_get)              \
  PARSER(icmp)                  \
  PARSER(ip_flow)               \
  PARSER(kafka_request)         \
  PARSER(link_load)             \
  PARSER(marked_packet)         \
  PARSER(memcached_get)         \
  PARSER(monitor_stats)         \
  PARSER(mysql_query)           \
  PARSER(packets)               \
  PARSER(postgres_query)        \
  PARSER(queue_burst)           \
  PARSER(queue_depth)           \
  PARSER(queue_flows)           \
  PARSER(redis_command)         \
  PARSER(sample)                \
  PARSER(socks_request)         \
  PARSER(tcp_conn_time)         \
  PARSER(tcp_flow_key)          \
  PARSER(tcp_pkt_size)          \
  PARSER(tls_hello)             \
  PARSER(trigger)               \
  PARSER(udp_flow)

namespace tapline {

#define TAPLINE_DECLARE(name) std::unique_ptr<Parser> make_##name();
TAPLINE_PARSERS(TAPLINE_DECLARE)
#undef TAPLINE_DECLARE

namespace {

using Json = nlohmann::ordered_json;

struct Factory {
  std::string name;
  std::function<std::unique_ptr<Parser>()> make;
};

std::vector<Factory>& factories() {
#define TAPLINE_FACTORY(name) {#name, make_##name},
  static std::vector<Factory> all = {TAPLINE_PARSERS(TAPLINE_FACTORY)};
#undef TAPLINE_FACTORY
  return all;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return (x == '-' ? '_' : x) == (y == '-' ? '_' : y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

Json json_of(const Duration& duration) {
  if (!duration.field.empty()) return {{"field", duration.field}};
  if (duration.event_field.empty()) return nullptr;
  return {{"event_field", duration.event_field}, {"start", duration.start}, {"end", duration.end}};
}

Json json_of(const Field& field, bool is_common) {
  Json json = {{"name", field.name},
               {"type", name_of(field.type)},
               {"unit", field.unit},
               {"description", field.description},
               {"additive", field.additive}};
  if (is_common) json["common"] = true;
  if (field.optional) json["optional"] = true;
  if (!is_common && field.type == FieldType::kString) json["text"] = name_of(text_kind_of(field));
  return json;
}

Json json_of(const Argument& argument) {
  Json json = {{"name", argument.name},
               {"type", name_of(argument.type)},
               {"unit", argument.unit},
               {"description", argument.description},
               {"default", argument.default_value}};
  if (argument.type == FieldType::kString) {
    json["choices"] = argument.choices;
  } else if (argument.type != FieldType::kBool) {
    json["min"] = argument.min;
    json["max"] = argument.max;
    if (argument.step != 1) json["step"] = argument.step;
  }
  return json;
}

Json json_of(const Schema& schema) {
  Json arguments = Json::array();
  for (const Argument& argument : schema.arguments) arguments.push_back(json_of(argument));
  Json fields = Json::array();
  for (const Field& field : common_fields()) fields.push_back(json_of(field, true));
  for (const Field& field : schema.fields) fields.push_back(json_of(field, false));
  return {{"name", schema.name},
          {"description", schema.description},
          {"layer", name_of(schema.layer)},
          {"main_fields", schema.main_fields},
          {"value_field", schema.value_field.empty() ? Json(nullptr) : Json(schema.value_field)},
          {"duration", json_of(schema.duration)},
          {"interval_ns", schema.interval_ns},
          {"interval_argument", schema.interval_argument.empty() ? Json(nullptr) : Json(schema.interval_argument)},
          {"events", schema.events},
          {"all_traffic", schema.all_traffic},
          {"queues", schema.queues},
          {"counted", schema.counted},
          {"example", schema.example},
          {"arguments", std::move(arguments)},
          {"fields", std::move(fields)}};
}

}  // namespace

std::vector<std::string> parser_names() {
  std::vector<std::string> names;
  for (const Factory& factory : factories()) names.push_back(factory.name);
  return names;
}

std::unique_ptr<Parser> make_parser(std::string_view name) {
  for (const Factory& factory : factories()) {
    if (same_name(name, factory.name)) return factory.make();
  }
  return nullptr;
}

bool add_parser(const std::string& name, std::function<std::unique_ptr<Parser>()> make) {
  for (const Factory& factory : factories()) {
    if (same_name(name, factory.name)) return false;
  }
  factories().push_back({name, std::move(make)});
  return true;
}

std::string schema_json(const Schema& schema) { return json_of(schema).dump(); }

std::string catalogue_json() {
  Json parsers = Json::array();
  for (const Factory& factory : factories()) parsers.push_back(json_of(factory.make()->schema()));
  return Json{{"parsers", std::move(parsers)}}.dump(2);
}

}  // namespace tapline
