// The grammar, from "or" down to comparisons; leaves and operands.
#include "multilog/expr/parser.h"

#include <algorithm>

namespace tapline::multilog {

void Parser::Run() {
  out_->text_ = text_;
  if (text_.size() > Expression::kMaxBytes) throw ParseError{"longer than 64 KiB", Expression::kMaxBytes};
  tokens_ = Tokens(text_);
  if (Peek().kind != Token::Kind::kEnd) out_->root_ = Or(false);
  if (Peek().kind != Token::Kind::kEnd) throw ParseError{"unexpected " + Quoted(Peek().text), Peek().position};
}

bool Parser::Accept(std::string_view symbol) {
  if (Peek().kind == Token::Kind::kText || Peek().text != symbol) return false;
  Take();
  return true;
}

void Parser::Expect(std::string_view symbol) {
  if (!Accept(symbol))
    throw ParseError{"expected '" + std::string(symbol) + "'" +
                         (Peek().kind == Token::Kind::kEnd ? " before the end" : " instead of " + Quoted(Peek().text)),
                     Peek().position};
}

Node Parser::Join(Node::Kind kind, std::vector<Node> children) {
  if (children.size() == 1) return std::move(children[0]);
  Node node;
  node.kind = kind;
  for (Node& child : children) {
    if (child.kind == kind)
      for (Node& inner : child.children) node.children.push_back(std::move(inner));
    else
      node.children.push_back(std::move(child));
  }
  return node;
}

Node Parser::Or(bool negated) {
  std::vector<Node> parts;
  do parts.push_back(And(negated));
  while (Accept("||") || Accept("or"));
  return Join(negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Node Parser::And(bool negated) {
  std::vector<Node> parts;
  do parts.push_back(Unary(negated));
  while (Accept("&&") || Accept("and"));
  return Join(negated ? Node::Kind::kOr : Node::Kind::kAnd, std::move(parts));
}

Node Parser::Unary(bool negated) {
  const Deeper deeper(this);
  if (Accept("!") || Accept("not")) return Unary(!negated);
  if (Accept("(")) {
    Node node = Or(negated);
    Expect(")");
    return node;
  }
  if (Peek().text == "has" && Peek(1).text == "(") return Has(negated);
  if ((Peek().text == "true" || Peek().text == "false") && !Compares(Peek(1))) {
    Node node;
    node.kind = (Take().text == "true") != negated ? Node::Kind::kTrue : Node::Kind::kFalse;
    return node;
  }
  return Comparison(negated);
}

Node Parser::LeafNode(Leaf leaf, bool negated, size_t begin) {
  if (out_->leaves_.size() >= Expression::kMaxLeaves) throw ParseError{"more than 4096 comparisons", begin};
  const size_t end = next_ > 0 ? tokens_[next_ - 1].position + tokens_[next_ - 1].text.size() : begin;
  leaf.text = text_.substr(begin, std::max(end, begin) - begin);
  if (negated) {
    if (leaf.kind == Leaf::Kind::kKeys)
      leaf.ranges = Complement(leaf.ranges, leaf.column.max_key() & leaf.mask);
    else
      leaf.negated = !leaf.negated;
  }
  Node node;
  node.kind = Node::Kind::kLeaf;
  node.leaf = static_cast<uint32_t>(out_->leaves_.size());
  out_->leaves_.push_back(std::move(leaf));
  return node;
}

Node Parser::Has(bool negated) {
  const size_t begin = Take().position;
  Expect("(");
  Leaf leaf;
  leaf.kind = Leaf::Kind::kPresent;
  leaf.column = FieldNamed(Take()).column;
  Expect(")");
  return LeafNode(std::move(leaf), negated, begin);
}

const Field& Parser::FieldNamed(const Token& token) {
  const Field* field = token.kind == Token::Kind::kWord ? schema_.Find(token.text) : nullptr;
  if (field == nullptr) throw ParseError{"unknown field " + Quoted(token.text), token.position};
  return *field;
}

Parser::Operand Parser::OneOperand() {
  const Token& token = Take();
  if (token.kind == Token::Kind::kEnd) throw ParseError{"expected a field or a value before the end", token.position};
  if (token.kind == Token::Kind::kSymbol)
    throw ParseError{"expected a field or a value instead of " + Quoted(token.text), token.position};
  Operand operand;
  operand.literal = token;
  if (token.kind == Token::Kind::kText) return operand;
  operand.field = schema_.Find(token.text);
  if (operand.field == nullptr) {
    if (resolve_) operand.aggregate = resolve_(token.text);
    return operand;
  }
  operand.column = operand.field->column;
  if (Accept("[")) {
    const Token& index = Take();
    const Number number = ParseNumber(index.text, index.position);
    if (number.is_float || number.whole < 0 || number.whole >= operand.field->spec.elements)
      throw ParseError{
          "field " + operand.field->spec.name + " has " + std::to_string(operand.field->spec.elements) + " elements",
          index.position};
    operand.column = operand.field->element(static_cast<uint32_t>(number.whole));
    Expect("]");
  } else if (operand.field->spec.elements > 1 && Peek().text != "contains" && Peek(1).text != "contains") {
    throw ParseError{operand.field->spec.name + " is a list: " + operand.field->spec.name + "[0] or " +
                         operand.field->spec.name + " contains …",
                     token.position};
  }
  return operand;
}

std::vector<Parser::Operand> Parser::Sum() {
  std::vector<Operand> operands;
  int sign = Accept("-") ? -1 : 1;
  while (true) {
    operands.push_back(OneOperand());
    operands.back().sign = sign;
    if (operands.size() > 16) throw ParseError{"more than 16 terms", Peek().position};
    if (Accept("+"))
      sign = 1;
    else if (Accept("-"))
      sign = -1;
    else
      return operands;
  }
}

Result<Expression> Expression::Compile(std::string_view text, const Schema& schema, const Resolver& resolve) {
  Expression expression;
  try {
    Parser(text, schema, resolve, &expression).Run();
  } catch (const ParseError& error) {
    return Status(Code::kInvalid, error.message, error.position);
  }
  return expression;
}

}  // namespace tapline::multilog
