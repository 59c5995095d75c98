// Turns a tree into an Expression over a schema: finds the fields, checks types, and interprets words according to the
// field that they are compared with (literal.h).
//
//   binder.cc       the nodes, in negation normal form; leaves and operands
//   comparison.cc   sum < sum
//   membership.cc   field in …, like …, contains …
//
// Each object is used once. run() throws ParseError for an invalid tree, with the position given in the tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conditions/expr/expression.h"
#include "conditions/expr/literal.h"
#include "conditions/expr/token.h"
#include "conditions/tree/tree.h"

namespace tapline::conditions {

class Binder {
 public:
  Binder(const Tree& tree, const Schema& schema, const Expression::Resolver& resolve, Expression* out)
      : tree_(tree), schema_(schema), resolve_(resolve), out_(out) {}
  // REQUIRES: `shape` is the result of check_shape() for the tree.
  void run(const Shape& shape);

 private:
  struct Operand {
    int sign = 1;
    const Field* field = nullptr;
    Column column;
    std::optional<AggregateRef> aggregate;
    // A word or text, or the name of the field or aggregate, as a view into the tree.
    Token token;
    bool is_literal() const { return field == nullptr && !aggregate; }
  };
  // The context of a leaf that is being built. Under an odd number of negations, the leaf becomes its opposite, and a
  // disjunction of leaves becomes a conjunction of their opposites.
  struct Place {
    const Tree::Node& node;
    bool negated;
  };

  // Defined in binder.cc:
  static Node join(Node::Kind kind, std::vector<Node> children);
  static Node joined(Node::Kind kind, uint32_t count, std::vector<Node>* stack);
  Node bound(const Place& place);
  Node leaf_node(Leaf leaf, const Place& place);
  const Field& field_of(const Tree::Field& field, Column* column);
  static Token token_of(const Tree::Literal& literal);
  static Operand operand_of(const Tree::Literal& literal);
  Operand operand_of(const Tree::Term& term);
  std::vector<Operand> sum(const google::protobuf::RepeatedPtrField<Tree::Term>& terms, const Place& place);

  // Defined in comparison.cc:
  static Compare compare_of(Tree::Order order);
  static Compare mirrored(Compare compare);
  static bool all_literal(const std::vector<Operand>& sum);
  static bool is_one_field(const std::vector<Operand>& sum);
  Node compared(std::vector<Operand> left, Compare compare, std::vector<Operand> right, const Place& place);
  Node pair(const Operand& a, Compare compare, const Operand& b, const Place& place);
  Node linear(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool any_type,
              const Place& place);
  static Number literal(const Operand& operand);
  static void add_constant(Number* sum, int sign, const Number& number);
  // Returns the value of a sum of literals, as one of the column's type.
  Values parse_value(const Column& column, const std::vector<Operand>& sum);
  Node with_literal(const Column& column, Compare compare, const std::vector<Operand>& sum, const Place& place);
  static uint64_t float_infinity_key(const Column& column, bool is_negative);

  // Defined in membership.cc. Returns a leaf that is true if the value is in one of the ranges; for wide columns, a
  // disjunction of such leaves.
  Node from_values(const Column& column, const std::vector<Values>& values, const Place& place);
  Node from_texts(const Column& column, std::vector<std::string> texts, const Place& place);
  static std::string text_literal(const Token& token);
  // Parses a prefix (10.1.3.0/24), a range (80..90) or a single value (7).
  Values values_of(const Column& column, const Tree::Range& range);
  static Values ordered(const Column& column, const Values& low, const Values& high, size_t position);
  static Values prefix(const Column& column, const Token& token, size_t slash);
  Node membership(const Tree::Membership& membership, const Place& place);
  Node in(const Column& column, const Tree::Membership& membership, const Place& place);
  // Parses a pattern such as 192.*.*.1, in which each part is a number or a star.
  Node like(const Column& column, const Token& pattern, const Place& place);

  const Tree& tree_;
  const Schema& schema_;
  const Expression::Resolver& resolve_;
  Expression* out_;
};

}  // namespace tapline::conditions
