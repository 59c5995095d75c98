#include "monitors/plan/tuple_condition.h"

#include <gtest/gtest.h>

#include <string>

#include "conditions/expr/expression.h"

namespace tapline {
namespace {

const Schema& requests() {
  static const Schema schema = {.name = "requests",
                                .fields = {{"status", FieldType::kU64},
                                           {"change", FieldType::kI64},
                                           {"share", FieldType::kF64},
                                           {"cached", FieldType::kBool},
                                           optional({"host", FieldType::kString})}};
  return schema;
}

using Type = conditions::FieldType;

// Parses a condition over fields with these types.
v1::ConditionTree tree_of(const std::string& text, std::vector<conditions::FieldSpec> fields) {
  fields.push_back({.name = "time_ns", .type = Type::kTime});
  const auto schema = conditions::Schema::make(std::move(fields));
  EXPECT_TRUE(schema.ok());
  const auto expression = conditions::Expression::compile(text, *schema);
  EXPECT_TRUE(expression.ok()) << text << ": " << expression.status().to_string();
  return expression.ok() ? expression->tree() : v1::ConditionTree();
}

v1::ConditionTree tree_of(const std::string& text) {
  return tree_of(text, {{.name = "status", .type = Type::kU64},
                        {.name = "change", .type = Type::kI64},
                        {.name = "share", .type = Type::kF64},
                        {.name = "cached", .type = Type::kBool},
                        {.name = "host", .type = Type::kText, .optional = true},
                        {.name = "flow_incarnation", .type = Type::kU64},
                        {.name = "client_known_by", .type = Type::kText},
                        {.name = "src_ip", .type = Type::kAddress},
                        {.name = "src_port", .type = Type::kU64},
                        {.name = "dst_ip", .type = Type::kAddress},
                        {.name = "dst_port", .type = Type::kU64}});
}

class TupleConditionTest : public testing::Test {
 protected:
  void SetUp() override {
    const uint8_t client[4] = {10, 1, 2, 3};
    const uint8_t server[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    header_.time_ns = 1'700'000'000'000'000'000;
    header_.flow_incarnation = 77;
    header_.client_known_by = ClientKnownBy::kHandshake;
    header_.src_ip = IpAddress::v4(client);
    header_.src_port = 40000;
    header_.dst_ip = IpAddress::v6(server);
    header_.dst_port = 443;
  }
  bool holds(const std::string& text, const Value& host = Value::string("www")) {
    const auto condition = TupleCondition::make(tree_of(text), requests());
    EXPECT_TRUE(condition.ok()) << text << ": " << condition.status().to_string();
    const Value values[] = {Value::u64(500), Value::i64(-3), Value::f64(0.5), Value::boolean(true), host};
    return condition->holds(header_, values);
  }
  TupleHeader header_;
};

TEST_F(TupleConditionTest, OwnFieldsOfEveryType) {
  EXPECT_TRUE(holds("status == 500"));
  EXPECT_FALSE(holds("status > 500"));
  EXPECT_TRUE(holds("change == -3 && change < 0"));
  EXPECT_TRUE(holds("share > 0.4 && share < 0.6"));
  EXPECT_FALSE(holds("cached == false"));
  EXPECT_TRUE(holds("host in {\"www\", \"ftp\"}"));
  EXPECT_FALSE(holds("host == \"ww\""));
}

TEST_F(TupleConditionTest, CommonFields) {
  EXPECT_TRUE(holds("src_ip in 10.1.0.0/16 && dst_ip in 2001:db8::/32"));
  EXPECT_FALSE(holds("src_ip in 10.2.0.0/16 || dst_ip == 10.1.2.3"));
  EXPECT_TRUE(holds("src_port == 40000 && dst_port in {80, 443} && flow_incarnation == 77"));
  EXPECT_TRUE(holds("client_known_by == \"handshake\""));
  EXPECT_TRUE(holds("time_ns >= 1700000000000000000 && time_ns < 1700000000000000001"));
}

TEST_F(TupleConditionTest, AbsentValuesAreUnknown) {
  const Value none = Value::absent(FieldType::kString);
  EXPECT_FALSE(holds("host == \"www\"", none));
  EXPECT_FALSE(holds("host != \"www\"", none));
  EXPECT_FALSE(holds("!(host == \"www\")", none));
  EXPECT_FALSE(holds("has(host)", none));
  EXPECT_TRUE(holds("!has(host)", none));
  EXPECT_TRUE(holds("host == \"www\" || status == 500", none));
}

TEST_F(TupleConditionTest, AnEmptyTreeAcceptsEverything) {
  const auto condition = TupleCondition::make({}, requests());
  ASSERT_TRUE(condition.ok());
  EXPECT_TRUE(condition->holds(header_, {}));
}

TEST_F(TupleConditionTest, UnknownFieldsAndOtherTypesAreErrors) {
  const auto unknown = tree_of("method == \"GET\"", {{.name = "method", .type = Type::kText}});
  const auto text = tree_of("status == \"many\"", {{.name = "status", .type = Type::kText}});
  const auto number = tree_of("src_ip == 7", {{.name = "src_ip", .type = Type::kU64}});
  for (const auto& tree : {unknown, text, number}) {
    EXPECT_EQ(TupleCondition::make(tree, requests()).status().code(), Code::kInvalid) << tree.ShortDebugString();
  }
}

}  // namespace
}  // namespace tapline
