// Parses text into an Expression, by recursive descent. Parser reads; literal.h interprets words by the field next to
// them.
//
//   parser.cc       the grammar down to comparisons, leaves and operands
//   comparison.cc   sum < sum
//   membership.cc   field in …, like …, contains …
//
// Used once: Run throws ParseError where the text is wrong.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "multilog/expr/expression.h"
#include "multilog/expr/literal.h"
#include "multilog/expr/token.h"

namespace tapline::multilog {

class Parser {
 public:
  Parser(std::string_view text, const Schema& schema, const Expression::Resolver& resolve, Expression* out)
      : text_(text), schema_(schema), resolve_(resolve), out_(out) {}
  // Parses the whole text, or throws a ParseError.
  void Run();

 private:
  struct Operand {
    int sign = 1;
    const Field* field = nullptr;
    Column column;
    std::optional<AggregateRef> aggregate;
    Token literal;
    bool is_literal() const { return field == nullptr && !aggregate; }
  };

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  const Token& Take() {
    const Token& token = Peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  bool Accept(std::string_view symbol);
  void Expect(std::string_view symbol);
  // Guards the stack against deep nesting.
  struct Deeper {
    explicit Deeper(Parser* parser) : parser_(parser) {
      if (++parser_->depth_ > Expression::kMaxDepth) throw ParseError{"nested too deeply", parser_->Peek().position};
    }
    ~Deeper() { --parser_->depth_; }
    Parser* parser_;
  };

  // parser.cc
  static Node Join(Node::Kind kind, std::vector<Node> children);
  // `negated`: the text stands under an odd number of negations; then `and` becomes `or`, and leaves become their
  // opposites.
  Node Or(bool negated);
  Node And(bool negated);
  Node Unary(bool negated);
  Node LeafNode(Leaf leaf, bool negated, size_t begin);
  Node Has(bool negated);
  const Field& FieldNamed(const Token& token);
  Operand OneOperand();
  std::vector<Operand> Sum();

  // comparison.cc
  static std::optional<Compare> AsCompare(std::string_view text);
  static bool Compares(const Token& token);
  Node Comparison(bool negated);
  static Compare Mirrored(Compare compare);
  static bool AllLiteral(const std::vector<Operand>& sum);
  static bool IsOneField(const std::vector<Operand>& sum);
  Node Compared(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool negated, size_t begin);
  Node Pair(const Column& a, Compare compare, const Column& b, bool negated, size_t begin);
  Node Linear(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool negated, size_t begin,
              bool any_type);
  static Number Literal(const Operand& operand);
  static void AddConstant(Number* sum, int sign, const Number& number);
  // One value of the column's type.
  Values ParseValue(const Column& column, const std::vector<Operand>& sum);
  Node WithLiteral(const Column& column, Compare compare, const std::vector<Operand>& sum, bool negated, size_t begin);
  static uint64_t FloatInfinityKey(const Column& column, bool negative);

  // membership.cc
  // A leaf, or for wide columns a disjunction of leaves, that holds for values in one of the ranges.
  Node FromValues(const Column& column, const std::vector<Values>& values, bool negated, size_t begin);
  // 10.1.3.0/24, 80..90, 7: an element of `in`.
  Values Element(const Column& column);
  std::vector<Operand> LiteralSum();
  Values Ordered(const Column& column, const Values& low, const Values& high, size_t position);
  Values Prefix(const Column& column, const Token& token, size_t slash);
  std::vector<Values> Set(const Column& column);
  Node In(const Operand& operand, bool negated, size_t begin);
  Node ContainsValue(const Operand& operand, bool negated, size_t begin);
  // 192.*.*.1: each part is a number or a star.
  Node Like(const Column& column, bool negated, size_t begin);

  std::string_view text_;
  const Schema& schema_;
  const Expression::Resolver& resolve_;
  Expression* out_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace tapline::multilog
