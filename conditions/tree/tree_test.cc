#include "conditions/tree/tree.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "conditions/expr/expression.h"

namespace tapline::conditions {
namespace {

Schema test_schema() {
  return *Schema::make({{.name = "time_ns", .type = FieldType::kTime},
                        {.name = "src_ip", .type = FieldType::kIpv4},
                        {.name = "dst_ip", .type = FieldType::kIpv4},
                        {.name = "mac", .type = FieldType::kMac},
                        {.name = "bytes", .type = FieldType::kU32},
                        {.name = "delta", .type = FieldType::kI32},
                        {.name = "tag", .type = FieldType::kBytes, .bytes = 4},
                        {.name = "path", .type = FieldType::kU16, .elements = 3},
                        {.name = "depth", .type = FieldType::kU16, .optional = true}});
}

Tree tree_of(const std::string& text, const Schema& schema, const Expression::Resolver& resolve = {}) {
  const auto expression = Expression::compile(text, schema, resolve);
  EXPECT_TRUE(expression.ok()) << text << ": " << expression.status().to_string();
  return expression.ok() ? expression->tree() : Tree();
}

Tree postfix(std::initializer_list<std::function<void(Tree::Node*)>> nodes) {
  Tree tree;
  for (const auto& fill : nodes) fill(tree.add_nodes());
  return tree;
}

void constant(Tree::Node* node) { node->set_constant(true); }
void negate(Tree::Node* node) { node->mutable_not_(); }

TEST(Trees, TheCanonicalTextMeansTheSame) {
  const Schema schema = test_schema();
  const auto resolve = [](std::string_view name) -> std::optional<AggregateRef> {
    return name == "w.SUM" ? std::optional<AggregateRef>({0, 0}) : std::nullopt;
  };
  const std::pair<const char*, const char*> kCases[] = {
      {"bytes = 5 AND not (delta<-1 Or has( depth ))", "bytes == 5 && !(delta < -1 || has(depth))"},
      {"(bytes == 1 or bytes == 2) and true", "(bytes == 1 || bytes == 2) && true"},
      {"bytes=(1,2, 5..7)", "bytes in {1, 2, 5 .. 7}"},
      {"bytes != {1}", "!(bytes in 1)"},
      {"delta in [-7, -5]", "delta in -7 .. -5"},
      {"src_ip = 10.0.0.0/8", "src_ip == 10.0.0.0/8"},
      {"src_ip not in (10.0.0.0/8, 10.1.2.3)", "!(src_ip in {10.0.0.0/8, 10.1.2.3})"},
      {"src_ip like 10.*.*.1 || mac not like 00:1b:*:*:*:*", "src_ip like 10.*.*.1 || !(mac like 00:1b:*:*:*:*)"},
      {"path contains (7, 8) and path[1] - bytes + 2 > -delta", "path contains {7, 8} && path[1] - bytes + 2 > -delta"},
      {"tag == \"ab\" or bytes > w.SUM", "tag == \"ab\" || bytes > w.SUM"},
      {"", ""},
  };
  for (const auto& [text, canonical] : kCases) {
    const Tree tree = tree_of(text, schema, resolve);
    EXPECT_EQ(text_of(tree), canonical) << text;
    EXPECT_EQ(text_of(tree_of(canonical, schema, resolve)), canonical);
  }
}

TEST(Trees, TreesOfOtherProgramsAreValidated) {
  const Schema schema = test_schema();
  const auto error = [&](const Tree& tree) { return Expression::compile(tree, schema).status().to_string(); };
  EXPECT_EQ(error(postfix({constant, constant})), "invalid at 0: the condition is not a tree: a node has no parent");
  EXPECT_EQ(error(postfix({negate})), "invalid at 0: the condition is not a tree: a node is missing");
  EXPECT_EQ(error(postfix({constant, [](Tree::Node* node) { node->set_all(2); }})),
            "invalid at 0: the condition is not a tree: a node is missing");
  EXPECT_EQ(error(postfix({[](Tree::Node* node) { node->set_any(0); }})),
            "invalid at 0: the condition has a node that is empty or of an unknown kind");
  EXPECT_EQ(error(postfix({[](Tree::Node*) {}})),
            "invalid at 0: the condition has a node that is empty or of an unknown kind");
  EXPECT_EQ(error(postfix({[](Tree::Node* node) { node->mutable_comparison(); }})),
            "invalid at 0: each side of a comparison must have 1 to 16 terms");
  EXPECT_EQ(error(postfix({[](Tree::Node* node) { node->mutable_membership()->mutable_field()->set_name("bytes"); }})),
            "invalid at 0: expected values");
  EXPECT_EQ(error(postfix({[](Tree::Node* node) {
              node->mutable_present()->set_name("secret");
              node->mutable_present()->set_at(7);
            }})),
            "invalid at 7: unknown field 'secret'");
  EXPECT_EQ(error(postfix({[](Tree::Node* node) {
              node->mutable_present()->set_name("path");
              node->mutable_present()->set_element(3);
            }})),
            "invalid at 5: field path has 3 elements");
  EXPECT_EQ(error(postfix({[](Tree::Node* node) {
              node->mutable_comparison()->add_left()->mutable_field()->set_name("bytes");
              node->mutable_comparison()->add_right()->mutable_literal()->set_word("-");
            }})),
            "invalid at 0: expected a value");
  Tree deep = postfix({constant});
  for (int i = 0; i < kMaxDepth; ++i) negate(deep.add_nodes());
  EXPECT_EQ(error(deep), "ok");
  negate(deep.add_nodes());
  EXPECT_EQ(error(deep), "invalid at 0: nested too deeply");
  Tree large_tree;
  for (int i = 0; i <= kMaxNodes; ++i) constant(large_tree.add_nodes());
  EXPECT_EQ(error(large_tree), "invalid at 0: the condition has more than 16384 nodes");
}

// Corrupt trees must be rejected or evaluated without harm.
TEST(Trees, RandomNodesAreRejectedOrEvaluated) {
  const Schema schema = test_schema();
  const RowBuilder row(schema);
  std::mt19937 random(3);
  const Tree valid =
      tree_of("(bytes in {1, 5..9} || !has(depth)) && src_ip like 10.*.*.* && delta + 1 > bytes", schema);
  int compiled = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = valid.SerializeAsString();
    for (uint32_t changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    Tree tree;
    if (!tree.ParseFromString(bytes)) continue;
    const auto expression = Expression::compile(tree, schema);
    if (!expression.ok()) continue;
    ++compiled;
    expression->matches(row.row().data(), schema);
  }
  EXPECT_GT(compiled, 1000);
}

TEST(Trees, AnEmptyConjunctionIsTrue) {
  const Schema schema = test_schema();
  const Tree one = tree_of("bytes == 1", schema), two = tree_of("delta == 2 || delta == 3", schema);
  EXPECT_EQ(conjunction({}).nodes_size(), 0);
  EXPECT_EQ(text_of(conjunction({Tree(), one})), "bytes == 1");
  EXPECT_EQ(text_of(conjunction({one, Tree(), two})), "bytes == 1 && (delta == 2 || delta == 3)");
}

TEST(Trees, AggregatesAreListed) {
  const auto resolve = [](std::string_view name) -> std::optional<AggregateRef> {
    return name == "w.SUM" ? std::optional<AggregateRef>({0, 0}) : std::nullopt;
  };
  const auto aggregates = aggregates_of(tree_of("bytes == 1 && bytes + w.SUM > 3", test_schema(), resolve));
  ASSERT_EQ(aggregates.size(), 1u);
  EXPECT_EQ(aggregates[0].name(), "w.SUM");
  EXPECT_EQ(aggregates[0].at(), 22u);
}

}  // namespace
}  // namespace tapline::conditions
