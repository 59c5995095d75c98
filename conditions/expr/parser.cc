#include "conditions/expr/parser.h"

#include <algorithm>

#include "conditions/expr/literal.h"

namespace tapline::conditions {
namespace {

constexpr int kMaxTerms = 16;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return Lower(x) == Lower(y); });
}

uint32_t At(size_t position) { return static_cast<uint32_t>(position); }

}  // namespace

Tree Parser::Run() {
  if (text_.size() > Expression::kMaxBytes) throw ParseError{"longer than 64 KiB", Expression::kMaxBytes};
  tokens_ = Tokens(text_);
  if (Peek().kind != Token::Kind::kEnd) Or();
  if (Peek().kind != Token::Kind::kEnd) throw ParseError{"unexpected " + Quoted(Peek().text), Peek().position};
  return std::move(tree_);
}

bool Parser::Is(const Token& token, std::string_view symbol) const {
  if (token.kind == Token::Kind::kText) return false;
  if (token.text == symbol) return true;
  return token.kind == Token::Kind::kWord && SameWord(token.text, symbol) && schema_.Find(token.text) == nullptr;
}

bool Parser::Accept(std::string_view symbol) {
  if (!Is(Peek(), symbol)) return false;
  Take();
  return true;
}

void Parser::Expect(std::string_view symbol) {
  if (!Accept(symbol))
    throw ParseError{"expected '" + std::string(symbol) + "'" +
                         (Peek().kind == Token::Kind::kEnd ? " before the end" : " instead of " + Quoted(Peek().text)),
                     Peek().position};
}

void Parser::Or() {
  const uint32_t begin = At(Peek().position);
  uint32_t count = 0;
  do And(), ++count;
  while (Accept("||") || Accept("or"));
  if (count == 1) return;
  Tree::Node* node = tree_.add_nodes();
  node->set_at(begin);
  node->set_any(count);
}

void Parser::And() {
  const uint32_t begin = At(Peek().position);
  uint32_t count = 0;
  do Unary(), ++count;
  while (Accept("&&") || Accept("and"));
  if (count == 1) return;
  Tree::Node* node = tree_.add_nodes();
  node->set_at(begin);
  node->set_all(count);
}

void Parser::AddNot(size_t begin) {
  Tree::Node* node = tree_.add_nodes();
  node->set_at(At(begin));
  node->mutable_not_();
}

void Parser::Unary() {
  const Deeper deeper(this);
  const size_t begin = Peek().position;
  if (Accept("!") || Accept("not")) {
    Unary();
    return AddNot(begin);
  }
  if (Accept("(")) {
    Or();
    return Expect(")");
  }
  if (Is(Peek(), "has") && Peek(1).text == "(") return Has();
  if ((Is(Peek(), "true") || Is(Peek(), "false")) && !Compares(Peek(1))) {
    Tree::Node* node = tree_.add_nodes();
    node->set_at(At(begin));
    node->set_constant(Is(Take(), "true"));
    return;
  }
  Comparison();
}

Tree::Node* Parser::AddLeaf(size_t begin) {
  if (++leaves_ > Expression::kMaxLeaves) throw ParseError{"more than 4096 comparisons", begin};
  Tree::Node* node = tree_.add_nodes();
  node->set_at(At(begin));
  return node;
}

void Parser::Has() {
  const size_t begin = Take().position;
  Expect("(");
  const Token& token = Take();
  if (token.kind != Token::Kind::kWord || schema_.Find(token.text) == nullptr)
    throw ParseError{"unknown field " + Quoted(token.text), token.position};
  const Tree::Field field = FieldOf(token);
  Expect(")");
  *AddLeaf(begin)->mutable_present() = field;
}

Tree::Field Parser::FieldOf(const Token& token) {
  Tree::Field field;
  field.set_name(std::string(token.text));
  field.set_at(At(token.position));
  return field;
}

Tree::Term Parser::OneTerm() {
  const Token& token = Take();
  if (token.kind == Token::Kind::kEnd) throw ParseError{"expected a field or a value before the end", token.position};
  if (token.kind == Token::Kind::kSymbol)
    throw ParseError{"expected a field or a value instead of " + Quoted(token.text), token.position};
  Tree::Term term;
  if (token.kind == Token::Kind::kText) {
    term.mutable_literal()->set_at(At(token.position));
    term.mutable_literal()->set_text(std::string(token.text));
  } else if (const Field* field = schema_.Find(token.text); field != nullptr) {
    *term.mutable_field() = FieldOf(token);
    if (!Accept("[")) return term;
    const Token& index = Take();
    const Number number = ParseNumber(index.text, index.position);
    if (number.is_float || number.whole < 0 || number.whole >= field->spec.elements)
      throw ParseError{"field " + field->spec.name + " has " + std::to_string(field->spec.elements) + " elements",
                       index.position};
    term.mutable_field()->set_element(static_cast<uint32_t>(number.whole));
    Expect("]");
  } else if (resolve_ && resolve_(token.text)) {
    term.mutable_aggregate()->set_name(std::string(token.text));
    term.mutable_aggregate()->set_at(At(token.position));
  } else {
    term.mutable_literal()->set_at(At(token.position));
    term.mutable_literal()->set_word(std::string(token.text));
  }
  return term;
}

Parser::Terms Parser::Sum() {
  Terms terms;
  bool negative = Accept("-");
  while (true) {
    *terms.Add() = OneTerm();
    terms[terms.size() - 1].set_negative(negative);
    if (terms.size() > kMaxTerms) throw ParseError{"more than 16 terms", Peek().position};
    if (Accept("+"))
      negative = false;
    else if (Accept("-"))
      negative = true;
    else
      return terms;
  }
}

std::optional<Tree::Order> Parser::AsOrder(std::string_view text) {
  constexpr std::pair<std::string_view, Tree::Order> kSymbols[] = {
      {"==", Tree::EQUAL},         {"=", Tree::EQUAL},   {"!=", Tree::NOT_EQUAL},       {"<", Tree::LESS},
      {"<=", Tree::LESS_OR_EQUAL}, {">", Tree::GREATER}, {">=", Tree::GREATER_OR_EQUAL}};
  for (const auto& [symbol, order] : kSymbols) {
    if (symbol == text) return order;
  }
  return std::nullopt;
}

bool Parser::Compares(const Token& token) {
  return token.kind == Token::Kind::kSymbol && (AsOrder(token.text) || token.text == "+" || token.text == "-");
}

bool Parser::IsWordOperator(const Token& token) const {
  return token.kind == Token::Kind::kWord && (Is(token, "in") || Is(token, "like") || Is(token, "contains"));
}

void Parser::Comparison() {
  const size_t begin = Peek().position;
  Terms left = Sum();
  const bool negated = Is(Peek(), "not") && IsWordOperator(Peek(1));
  if (negated) Take();
  const Token op = Peek();
  if (IsWordOperator(op)) return Membership(left, negated, begin);
  const auto order = op.kind == Token::Kind::kSymbol ? AsOrder(op.text) : std::nullopt;
  if (!order) {
    const bool is_word = left.size() == 1 && left[0].has_literal();
    const std::string word = is_word ? left[0].literal().word() : "";
    if (is_word && op.kind == Token::Kind::kEnd && !word.empty() && !IsDigit(word[0]))
      throw ParseError{"unknown field " + Quoted(word), left[0].literal().at()};
    throw ParseError{op.kind == Token::Kind::kEnd ? "expected a comparison before the end"
                                                  : "expected a comparison instead of " + Quoted(op.text),
                     op.position};
  }
  Take();
  if (Is(Peek(), "(") || Is(Peek(), "{")) {
    if (*order != Tree::EQUAL && *order != Tree::NOT_EQUAL)
      throw ParseError{"'" + std::string(op.text) + "' takes one value", op.position};
    return EqualToAny(left, *order == Tree::NOT_EQUAL, begin);
  }
  Terms right = Sum();
  Tree::Comparison* comparison = AddLeaf(begin)->mutable_comparison();
  comparison->mutable_left()->Swap(&left);
  comparison->set_order(*order);
  comparison->mutable_right()->Swap(&right);
}

void Parser::Membership(const Terms& left, bool negated, size_t begin) {
  const Token op = Take();
  if (left.size() != 1 || !left[0].has_field() || left[0].negative())
    throw ParseError{"'" + std::string(op.text) + "' wants a single field before it", begin};
  Tree::Membership membership;
  *membership.mutable_field() = left[0].field();
  membership.set_any_element(Is(op, "contains"));
  if (Is(op, "like")) {
    const Token& pattern = Take();
    membership.mutable_pattern()->set_at(At(pattern.position));
    membership.mutable_pattern()->set_word(std::string(pattern.text));
  } else {
    Set(&membership);
  }
  AddLeaf(begin)->mutable_membership()->Swap(&membership);
  if (negated) AddNot(begin);
}

void Parser::EqualToAny(const Terms& left, bool negated, size_t begin) {
  if (left.size() != 1 || !left[0].has_field() || left[0].negative())
    throw ParseError{"a list is compared with a single field", begin};
  Tree::Membership membership;
  *membership.mutable_field() = left[0].field();
  Set(&membership);
  AddLeaf(begin)->mutable_membership()->Swap(&membership);
  if (negated) AddNot(begin);
}

Tree::Literal Parser::Value() {
  const bool negative = Accept("-");
  const Token& token = Take();
  if (token.kind == Token::Kind::kSymbol || token.kind == Token::Kind::kEnd ||
      (negative && token.kind == Token::Kind::kText))
    throw ParseError{"expected a value", token.position};
  Tree::Literal literal;
  literal.set_at(At(token.position));
  if (token.kind == Token::Kind::kText) {
    literal.set_text(std::string(token.text));
  } else {
    if (negative) literal.set_word("-");
    literal.mutable_word()->append(token.text);
  }
  return literal;
}

void Parser::Range(Tree::Membership* membership) {
  Tree::Range* range = membership->add_ranges();
  *range->mutable_low() = Value();
  if (Accept("..")) *range->mutable_high() = Value();
}

void Parser::Set(Tree::Membership* membership) {
  if (Accept("[")) {
    Tree::Range* range = membership->add_ranges();
    *range->mutable_low() = Value();
    Expect(",");
    *range->mutable_high() = Value();
    return Expect("]");
  }
  const bool braces = Accept("{");
  if (!braces && !Accept("(")) return Range(membership);
  do {
    Range(membership);
    if (membership->ranges_size() > static_cast<int>(Expression::kMaxLeaves))
      throw ParseError{"more than 4096 values", Peek().position};
  } while (Accept(","));
  Expect(braces ? "}" : ")");
}

}  // namespace tapline::conditions
