#include "parsers/plugin/description.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "parsers/plugin/schema_text.h"

namespace tapline {
namespace {

// A valid description, for tests to break.
struct ValidDescription {
  std::vector<tapline_field> fields = {{"url", nullptr, "A name", TAPLINE_STRING, 0, 0, 0},
                                       {"size", "bytes", nullptr, TAPLINE_U64, 1, 0, 0}};
  std::vector<const char*> main = {"url", "dst_port"};
  tapline_parser parser = {};

  ValidDescription() {
    parser.struct_bytes = sizeof(tapline_parser);
    parser.field_bytes = sizeof(tapline_field);
    parser.name = "mine";
    parser.description = "What it does";
    parser.layer = TAPLINE_APPLICATION;
    parser.needs = TAPLINE_NEEDS_PACKETS;
    parser.value_field = "size";
    parser.create = [](const tapline_host*) -> void* { return nullptr; };
    parser.destroy = [](void*) {};
    parser.process = [](void*, const tapline_packet* const*, uint32_t, tapline_out*) {};
    finish();
  }
  void finish() {
    parser.fields = fields.data();
    parser.field_count = static_cast<uint32_t>(fields.size());
    parser.main_fields = main.data();
    parser.main_field_count = static_cast<uint32_t>(main.size());
  }
};

std::string fault_of(const std::function<void(ValidDescription&)>& break_it) {
  ValidDescription described;
  break_it(described);
  std::string error;
  return describe(&described.parser, &error) ? "" : error;
}

TEST(Description, IsCopied) {
  std::string error;
  const ValidDescription described;
  const auto read = describe(&described.parser, &error);
  ASSERT_TRUE(read.has_value()) << error;
  EXPECT_EQ(read->schema.name, "mine");
  EXPECT_EQ(read->schema.layer, Layer::kApplication);
  ASSERT_EQ(read->schema.fields.size(), 2u);
  EXPECT_EQ(read->schema.fields[1].unit, "bytes");
  EXPECT_TRUE(read->schema.fields[1].additive);
  EXPECT_EQ(read->schema.main_fields, (std::vector<std::string>{"url", "dst_port"}));
  EXPECT_EQ(read->schema.value_field, "size");
  EXPECT_TRUE(read->needs.packets);
  EXPECT_FALSE(read->needs.connections);
}

// Later versions append to the structures, and unknown parts are skipped.
TEST(Description, LargerStructuresAreStillRead) {
  struct LargerField {
    tapline_field known;
    uint64_t later;
  };
  struct LargerParser {
    tapline_parser known;
    uint64_t later;
  };
  ValidDescription described;
  const LargerField fields[] = {{described.fields[0], 7}, {described.fields[1], 7}};
  LargerParser parser = {described.parser, 7};
  parser.known.struct_bytes = sizeof parser;
  parser.known.field_bytes = sizeof(LargerField);
  parser.known.fields = &fields[0].known;
  std::string error;
  const auto read = describe(&parser.known, &error);
  ASSERT_TRUE(read.has_value()) << error;
  EXPECT_EQ(read->schema.fields[1].name, "size");
}

TEST(Description, ErrorsAreNamed) {
  const std::string long_name(64, 'a'), long_text(1001, 'a');
  const struct {
    std::function<void(ValidDescription&)> break_it;
    const char* fault;
  } cases[] = {
      {[](ValidDescription& d) { d.parser.struct_bytes = 8; }, "struct_bytes"},
      {[](ValidDescription& d) { d.parser.field_bytes = 8; }, "field_bytes"},
      {[](ValidDescription& d) { d.parser.name = nullptr; }, "name"},
      {[](ValidDescription& d) { d.parser.name = ""; }, "name"},
      {[](ValidDescription& d) { d.parser.name = "Mine"; }, "name"},
      {[](ValidDescription& d) { d.parser.name = "1st"; }, "name"},
      {[&](ValidDescription& d) { d.parser.name = long_name.c_str(); }, "name"},
      {[&](ValidDescription& d) { d.parser.description = long_text.c_str(); }, "description"},
      {[](ValidDescription& d) { d.parser.description = "two\nlines"; }, "description"},
      {[](ValidDescription& d) { d.parser.layer = 3; }, "layer 3"},
      {[](ValidDescription& d) { d.parser.fields = nullptr; }, "fields"},
      {[](ValidDescription& d) { d.parser.field_count = 0; }, "fields"},
      {[](ValidDescription& d) { d.parser.field_count = 65; }, "fields"},
      {[](ValidDescription& d) { d.fields[1].name = nullptr; }, "field 2"},
      {[](ValidDescription& d) { d.fields[1].name = "url"; }, "field name url"},
      {[](ValidDescription& d) { d.fields[1].name = "time_ns"; }, "field name time_ns"},
      {[](ValidDescription& d) { d.fields[1].name = "query"; }, "field name query"},
      {[](ValidDescription& d) { d.fields[1].unit = "\xff"; }, "field size"},
      {[](ValidDescription& d) { d.fields[0].type = 5; }, "field url"},
      {[](ValidDescription& d) { d.parser.main_fields = nullptr; }, "main_fields"},
      {[](ValidDescription& d) { d.parser.main_field_count = 0; }, "main field"},
      {[](ValidDescription& d) { d.main[1] = "host"; }, "main field 2"},
      {[](ValidDescription& d) { d.main[0] = nullptr; }, "main field 1"},
      {[](ValidDescription& d) { d.parser.value_field = "url"; }, "value_field"},
      {[](ValidDescription& d) { d.parser.duration_field = "nothing"; }, "duration_field"},
      {[](ValidDescription& d) { d.parser.needs = 0; }, "TAPLINE_NEEDS_PACKETS or"},
      {[](ValidDescription& d) { d.parser.needs |= 32; }, "does not support"},
      {[](ValidDescription& d) { d.parser.needs = TAPLINE_NEEDS_STREAMS | TAPLINE_NEEDS_ALL_VIEWS; },
       "requires TAPLINE_NEEDS_PACKETS"},
      {[](ValidDescription& d) { d.parser.needs |= TAPLINE_NEEDS_STREAMS; }, "on_data"},
      {[](ValidDescription& d) { d.parser.needs |= TAPLINE_NEEDS_INTERVALS; }, "on_interval"},
      {[](ValidDescription& d) {
         d.parser.needs |= TAPLINE_NEEDS_INTERVALS;
         d.parser.on_interval = [](void*, int64_t, tapline_out*) {};
         d.parser.interval_us = 99;
       },
       "interval_us"},
      {[](ValidDescription& d) { d.parser.connection_state_bytes = 8; }, "state"},
      {[](ValidDescription& d) { d.parser.connection_state_bytes = 4097; }, "connection_state_bytes"},
      {[](ValidDescription& d) { d.parser.create = nullptr; }, "create"},
      {[](ValidDescription& d) { d.parser.process = nullptr; }, "process"},
  };
  for (const auto& test_case : cases) {
    EXPECT_NE(fault_of(test_case.break_it).find(test_case.fault), std::string::npos)
        << test_case.fault << ": " << fault_of(test_case.break_it);
  }
  std::string error;
  EXPECT_FALSE(describe(nullptr, &error).has_value());
}

TEST(SchemaText, CanBeParsedAgain) {
  Schema schema = {.name = "a",
                   .description = "b",
                   .layer = Layer::kTransport,
                   .fields = {{"f", FieldType::kF64, "ns", "d", true}, {"g", FieldType::kString}},
                   .main_fields = {"g"},
                   .value_field = "f",
                   .duration = {.field = "f", .event_field = "e", .start = {"s"}, .end = {"x", "y"}}};
  const auto read = schema_of_text(schema_to_text(schema));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(schema_to_text(*read), schema_to_text(schema));
  EXPECT_EQ(read->fields[0].unit, "ns");
  EXPECT_EQ(read->duration.end, (std::vector<std::string>{"x", "y"}));
  for (const char* bad : {"", "[]", "{}", "[1,2]", "[\"a\"", "[\"a\",\"b\",2,[[1]],[],\"\",[]]"}) {
    EXPECT_FALSE(schema_of_text(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace tapline
