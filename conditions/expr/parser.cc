#include "conditions/expr/parser.h"

#include <algorithm>

#include "conditions/expr/literal.h"

namespace tapline::conditions {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

uint32_t at(size_t position) { return static_cast<uint32_t>(position); }

}  // namespace

Tree Parser::run() {
  if (text_.size() > Expression::kMaxBytes) throw ParseError{"longer than 64 KiB", Expression::kMaxBytes};
  tokens_ = tokens(text_);
  if (peek().kind != Token::Kind::kEnd) parse_or();
  if (peek().kind != Token::Kind::kEnd) throw ParseError{"unexpected " + quoted(peek().text), peek().position};
  return std::move(tree_);
}

bool Parser::is(const Token& token, std::string_view symbol) const {
  if (token.kind == Token::Kind::kText) return false;
  if (token.text == symbol) return true;
  return token.kind == Token::Kind::kWord && same_word(token.text, symbol) && schema_.find(token.text) == nullptr;
}

bool Parser::accept(std::string_view symbol) {
  if (!is(peek(), symbol)) return false;
  take();
  return true;
}

void Parser::expect(std::string_view symbol) {
  if (!accept(symbol))
    throw ParseError{"expected '" + std::string(symbol) + "'" +
                         (peek().kind == Token::Kind::kEnd ? " before the end" : " instead of " + quoted(peek().text)),
                     peek().position};
}

void Parser::parse_or() {
  const uint32_t begin = at(peek().position);
  uint32_t count = 0;
  do parse_and(), ++count;
  while (accept("||") || accept("or"));
  if (count == 1) return;
  Tree::Node* node = tree_.add_nodes();
  node->set_at(begin);
  node->set_any(count);
}

void Parser::parse_and() {
  const uint32_t begin = at(peek().position);
  uint32_t count = 0;
  do unary(), ++count;
  while (accept("&&") || accept("and"));
  if (count == 1) return;
  Tree::Node* node = tree_.add_nodes();
  node->set_at(begin);
  node->set_all(count);
}

void Parser::add_not(size_t begin) {
  Tree::Node* node = tree_.add_nodes();
  node->set_at(at(begin));
  node->mutable_not_();
}

void Parser::unary() {
  const DepthGuard deeper(this);
  const size_t begin = peek().position;
  if (accept("!") || accept("not")) {
    unary();
    return add_not(begin);
  }
  if (accept("(")) {
    parse_or();
    return expect(")");
  }
  if (is(peek(), "has") && peek(1).text == "(") return has();
  if ((is(peek(), "true") || is(peek(), "false")) && !compares(peek(1))) {
    Tree::Node* node = tree_.add_nodes();
    node->set_at(at(begin));
    node->set_constant(is(take(), "true"));
    return;
  }
  comparison();
}

Tree::Node* Parser::add_leaf(size_t begin) {
  if (++leaves_ > Expression::kMaxLeaves) throw ParseError{"more than 4096 comparisons", begin};
  Tree::Node* node = tree_.add_nodes();
  node->set_at(at(begin));
  return node;
}

void Parser::has() {
  const size_t begin = take().position;
  expect("(");
  const Token& token = take();
  if (token.kind != Token::Kind::kWord || schema_.find(token.text) == nullptr)
    throw ParseError{"unknown field " + quoted(token.text), token.position};
  const Tree::Field field = field_of(token);
  expect(")");
  *add_leaf(begin)->mutable_present() = field;
}

Tree::Field Parser::field_of(const Token& token) {
  Tree::Field field;
  field.set_name(std::string(token.text));
  field.set_at(at(token.position));
  return field;
}

Tree::Term Parser::one_term() {
  const Token& token = take();
  if (token.kind == Token::Kind::kEnd) throw ParseError{"expected a field or a value before the end", token.position};
  if (token.kind == Token::Kind::kSymbol)
    throw ParseError{"expected a field or a value instead of " + quoted(token.text), token.position};
  Tree::Term term;
  if (token.kind == Token::Kind::kText) {
    term.mutable_literal()->set_at(at(token.position));
    term.mutable_literal()->set_text(std::string(token.text));
  } else if (const Field* field = schema_.find(token.text); field != nullptr) {
    *term.mutable_field() = field_of(token);
    if (!accept("[")) return term;
    const Token& index = take();
    const Number number = parse_number(index.text, index.position);
    if (number.is_float || number.whole < 0 || number.whole >= field->spec.elements)
      throw ParseError{"field " + field->spec.name + " has " + std::to_string(field->spec.elements) + " elements",
                       index.position};
    term.mutable_field()->set_element(static_cast<uint32_t>(number.whole));
    expect("]");
  } else if (resolve_ && resolve_(token.text)) {
    term.mutable_aggregate()->set_name(std::string(token.text));
    term.mutable_aggregate()->set_at(at(token.position));
  } else {
    term.mutable_literal()->set_at(at(token.position));
    term.mutable_literal()->set_word(std::string(token.text));
  }
  return term;
}

Parser::Terms Parser::sum() {
  Terms terms;
  bool is_negative = accept("-");
  while (true) {
    *terms.Add() = one_term();
    terms[terms.size() - 1].set_negative(is_negative);
    if (terms.size() > kMaxTerms) throw ParseError{"more than 16 terms", peek().position};
    if (accept("+"))
      is_negative = false;
    else if (accept("-"))
      is_negative = true;
    else
      return terms;
  }
}

std::optional<Tree::Order> Parser::as_order(std::string_view text) {
  constexpr std::pair<std::string_view, Tree::Order> kSymbols[] = {
      {"==", Tree::EQUAL},         {"=", Tree::EQUAL},   {"!=", Tree::NOT_EQUAL},       {"<", Tree::LESS},
      {"<=", Tree::LESS_OR_EQUAL}, {">", Tree::GREATER}, {">=", Tree::GREATER_OR_EQUAL}};
  for (const auto& [symbol, order] : kSymbols) {
    if (symbol == text) return order;
  }
  return std::nullopt;
}

bool Parser::compares(const Token& token) {
  return token.kind == Token::Kind::kSymbol && (as_order(token.text) || token.text == "+" || token.text == "-");
}

bool Parser::is_word_operator(const Token& token) const {
  return token.kind == Token::Kind::kWord && (is(token, "in") || is(token, "like") || is(token, "contains"));
}

void Parser::comparison() {
  const size_t begin = peek().position;
  Terms left = sum();
  const bool negated = is(peek(), "not") && is_word_operator(peek(1));
  if (negated) take();
  const Token op = peek();
  if (is_word_operator(op)) return membership(left, negated, begin);
  const auto order = op.kind == Token::Kind::kSymbol ? as_order(op.text) : std::nullopt;
  if (!order) {
    const bool is_word = left.size() == 1 && left[0].has_literal();
    const std::string word = is_word ? left[0].literal().word() : "";
    if (is_word && op.kind == Token::Kind::kEnd && !word.empty() && !is_digit(word[0]))
      throw ParseError{"unknown field " + quoted(word), left[0].literal().at()};
    throw ParseError{op.kind == Token::Kind::kEnd ? "expected a comparison before the end"
                                                  : "expected a comparison instead of " + quoted(op.text),
                     op.position};
  }
  take();
  if (is(peek(), "(") || is(peek(), "{")) {
    if (*order != Tree::EQUAL && *order != Tree::NOT_EQUAL)
      throw ParseError{"'" + std::string(op.text) + "' takes one value", op.position};
    return equal_to_any(left, *order == Tree::NOT_EQUAL, begin);
  }
  Terms right = sum();
  Tree::Comparison* comparison = add_leaf(begin)->mutable_comparison();
  comparison->mutable_left()->Swap(&left);
  comparison->set_order(*order);
  comparison->mutable_right()->Swap(&right);
}

void Parser::membership(const Terms& left, bool negated, size_t begin) {
  const Token op = take();
  if (left.size() != 1 || !left[0].has_field() || left[0].negative())
    throw ParseError{"'" + std::string(op.text) + "' must follow a single field", begin};
  Tree::Membership membership;
  *membership.mutable_field() = left[0].field();
  membership.set_any_element(is(op, "contains"));
  if (is(op, "like")) {
    const Token& pattern = take();
    membership.mutable_pattern()->set_at(at(pattern.position));
    membership.mutable_pattern()->set_word(std::string(pattern.text));
  } else {
    set(&membership);
  }
  add_leaf(begin)->mutable_membership()->Swap(&membership);
  if (negated) add_not(begin);
}

void Parser::equal_to_any(const Terms& left, bool negated, size_t begin) {
  if (left.size() != 1 || !left[0].has_field() || left[0].negative())
    throw ParseError{"a list can only be compared with a single field", begin};
  Tree::Membership membership;
  *membership.mutable_field() = left[0].field();
  set(&membership);
  add_leaf(begin)->mutable_membership()->Swap(&membership);
  if (negated) add_not(begin);
}

Tree::Literal Parser::value() {
  const bool is_negative = accept("-");
  const Token& token = take();
  if (token.kind == Token::Kind::kSymbol || token.kind == Token::Kind::kEnd ||
      (is_negative && token.kind == Token::Kind::kText))
    throw ParseError{"expected a value", token.position};
  Tree::Literal literal;
  literal.set_at(at(token.position));
  if (token.kind == Token::Kind::kText) {
    literal.set_text(std::string(token.text));
  } else {
    if (is_negative) literal.set_word("-");
    literal.mutable_word()->append(token.text);
  }
  return literal;
}

void Parser::range(Tree::Membership* membership) {
  Tree::Range* range = membership->add_ranges();
  *range->mutable_low() = value();
  if (accept("..")) *range->mutable_high() = value();
}

void Parser::set(Tree::Membership* membership) {
  if (accept("[")) {
    Tree::Range* range = membership->add_ranges();
    *range->mutable_low() = value();
    expect(",");
    *range->mutable_high() = value();
    return expect("]");
  }
  const bool braces = accept("{");
  if (!braces && !accept("(")) return range(membership);
  do {
    range(membership);
    if (membership->ranges_size() > static_cast<int>(Expression::kMaxLeaves))
      throw ParseError{"more than 4096 values", peek().position};
  } while (accept(","));
  expect(braces ? "}" : ")");
}

}  // namespace tapline::conditions
