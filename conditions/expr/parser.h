// Parses text into a tree (conditions/tree), by recursive descent. Uses the schema only to distinguish fields,
// aggregates' outputs and values; binder.h checks types.
//
//   or         := and ("||" and)*
//   and        := unary ("&&" unary)*
//   unary      := "!" unary | "(" or ")" | "has" "(" field ")" | "true" | "false" | comparison
//   comparison := sum ("==" | "!=" | "<" | "<=" | ">" | ">=") (sum | set)
//               | field ["not"] ("in" (set | range) | "like" pattern | "contains" (set | range))
//   set        := "{" range ("," range)* "}" | "(" range ("," range)* ")" | "[" value "," value "]"
//   range      := value [".." value]
//
// Each object is used once. run() throws ParseError if the text is malformed.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "conditions/expr/expression.h"
#include "conditions/expr/token.h"
#include "conditions/tree/tree.h"

namespace tapline::conditions {

constexpr int kMaxTerms = 16;  // per sum

class Parser {
 public:
  Parser(std::string_view text, const Schema& schema, const Expression::Resolver& resolve)
      : text_(text), schema_(schema), resolve_(resolve) {}
  // Parses the whole text, or throws a ParseError.
  Tree run();

 private:
  using Terms = google::protobuf::RepeatedPtrField<Tree::Term>;

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  const Token& take() {
    const Token& token = peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  // Returns true if the token is this symbol, or this word in any case, unless the schema has a field with that name.
  bool is(const Token& token, std::string_view symbol) const;
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  // Guards the stack against deep nesting.
  struct DepthGuard {
    explicit DepthGuard(Parser* parser) : parser_(parser) {
      if (++parser_->depth_ > Expression::kMaxDepth) throw ParseError{"nested too deeply", parser_->peek().position};
    }
    ~DepthGuard() { --parser_->depth_; }
    Parser* parser_;
  };

  // Each function adds one subtree to tree_.
  void parse_or();
  void parse_and();
  void unary();
  void has();
  void comparison();

  void membership(const Terms& left, bool negated, size_t begin);
  void equal_to_any(const Terms& left, bool negated, size_t begin);
  Tree::Node* add_leaf(size_t begin);
  void add_not(size_t begin);
  Tree::Field field_of(const Token& token);
  Tree::Term one_term();
  Terms sum();
  Tree::Literal value();
  void range(Tree::Membership* membership);
  void set(Tree::Membership* membership);
  static std::optional<Tree::Order> as_order(std::string_view text);
  static bool compares(const Token& token);
  bool is_word_operator(const Token& token) const;

  std::string_view text_;
  const Schema& schema_;
  const Expression::Resolver& resolve_;
  Tree tree_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  size_t leaves_ = 0;
};

}  // namespace tapline::conditions
