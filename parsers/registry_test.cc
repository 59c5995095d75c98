#include "parsers/registry.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace tapline {
namespace {

using Json = nlohmann::json;

TEST(Registry, NamesAreUniqueAndThoseOfTheSchemas) {
  std::set<std::string> names;
  for (const std::string& name : parser_names()) {
    EXPECT_EQ(make_parser(name)->schema().name, name);
    EXPECT_TRUE(names.insert(name).second);
  }
  EXPECT_TRUE(names.contains("http_get"));
}

TEST(Registry, DashesAreEquivalentToUnderscores) {
  ASSERT_NE(make_parser("tcp-conn_time"), nullptr);
  EXPECT_EQ(make_parser("tcp-conn_time")->schema().name, "tcp_conn_time");
  EXPECT_EQ(make_parser("nothing"), nullptr);
  EXPECT_EQ(make_parser("tcp_conn"), nullptr);
}

TEST(Registry, ParsersAreRegisteredOnce) {
  const auto make = [] {
    return packet_parser({.name = "added", .main_fields = {"dst_ip"}}, [](const Packet&, Emitter&) {});
  };
  EXPECT_FALSE(add_parser("tcp-conn-time", make));
  EXPECT_TRUE(add_parser("added", make));
  EXPECT_FALSE(add_parser("added", make));
  EXPECT_EQ(make_parser("added")->schema().name, "added");
  EXPECT_EQ(parser_names().back(), "added");
}

TEST(Registry, SchemasReferToTheirOwnFields) {
  const Json catalogue = Json::parse(catalogue_json());
  ASSERT_EQ(catalogue["parsers"].size(), parser_names().size());
  for (const Json& parser : catalogue["parsers"]) {
    std::map<std::string, Json> fields;
    for (const Json& field : parser["fields"]) {
      EXPECT_TRUE(fields.emplace(field["name"], field).second) << field["name"];
    }
    EXPECT_GT(parser["main_fields"].size(), 0u);
    const size_t own = fields.size() - common_fields().size();
    EXPECT_EQ(parser["example"].size(), own) << parser["name"];
    for (const Json& name : parser["main_fields"]) EXPECT_TRUE(fields.contains(name)) << name;
    EXPECT_TRUE(parser["value_field"].is_null() || fields.contains(parser["value_field"]));
    const Json& duration = parser["duration"];
    if (duration.is_null()) continue;
    const std::string field = duration.contains("field") ? duration["field"] : duration["event_field"];
    EXPECT_TRUE(fields.contains(field)) << field;
  }
}

// The argument's default must equal the schema's interval_ns.
TEST(Registry, AnArgumentMaySetTheInterval) {
  const Json catalogue = Json::parse(catalogue_json());
  for (const Json& parser : catalogue["parsers"]) {
    if (parser["interval_argument"].is_null()) continue;
    const Json& arguments = parser["arguments"];
    const auto sets = [&](const Json& argument) { return argument["name"] == parser["interval_argument"]; };
    const auto argument = std::find_if(arguments.begin(), arguments.end(), sets);
    ASSERT_NE(argument, arguments.end()) << parser["name"];
    EXPECT_EQ((*argument)["type"], "i64") << parser["name"];
    EXPECT_EQ((*argument)["unit"], "ns") << parser["name"];
    EXPECT_EQ((*argument)["default"], std::to_string(parser["interval_ns"].get<int64_t>())) << parser["name"];
    EXPECT_GE((*argument)["min"], kShortestIntervalNs) << parser["name"];
  }
  EXPECT_EQ(make_parser("link_load")->schema().interval_argument, "every");
  EXPECT_EQ(make_parser("flow_rate")->schema().interval_argument, "every");
}

TEST(Registry, CommonFieldsComeFirst) {
  const Json catalogue = Json::parse(catalogue_json());
  const std::vector<std::string> common = {"time_ns", "flow_hash", "flow_incarnation", "client_known_by",
                                           "src_ip",  "src_port",  "dst_ip",           "dst_port"};
  for (const Json& parser : catalogue["parsers"]) {
    for (size_t i = 0; i < parser["fields"].size(); ++i) {
      EXPECT_EQ(parser["fields"][i].contains("common"), i < common.size());
      EXPECT_TRUE(i >= common.size() || parser["fields"][i]["name"] == common[i]) << i;
    }
  }
}

TEST(Registry, TheCatalogueIsReadable) {
  const Json parsers = Json::parse(catalogue_json())["parsers"];
  const auto http = std::find_if(parsers.begin(), parsers.end(), [](const Json& p) { return p["name"] == "http_get"; });
  ASSERT_NE(http, parsers.end());
  EXPECT_EQ((*http)["layer"], "application");
  EXPECT_EQ((*http)["main_fields"], Json({"url"}));
  EXPECT_EQ((*http)["value_field"], "response_bytes");
  EXPECT_EQ((*http)["duration"], Json({{"field", "response_time_ns"}}));
  std::vector<std::string> own;
  for (const Json& field : (*http)["fields"]) {
    if (!field.contains("common")) own.push_back(field["name"]);
  }
  EXPECT_EQ(own, (std::vector<std::string>{"method", "host", "url", "status", "first_byte_ns", "response_time_ns",
                                           "request_bytes", "response_bytes", "partial", "unanswered"}));
}

}  // namespace
}  // namespace tapline
