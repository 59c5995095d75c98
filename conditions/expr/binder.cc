#include "conditions/expr/binder.h"

#include <algorithm>
#include <utility>

#include "conditions/expr/parser.h"

namespace tapline::conditions {
namespace {

constexpr int kMaxTerms = 16;

}  // namespace

void Binder::Run(const Shape& shape) {
  std::vector<Node> stack;
  for (int i = 0; i < tree_.nodes_size(); ++i) {
    const Tree::Node& node = tree_.nodes(i);
    const bool negated = shape.negated[static_cast<size_t>(i)];
    switch (node.kind_case()) {
      case Tree::Node::kConstant:
        stack.emplace_back().kind = node.constant() != negated ? Node::Kind::kTrue : Node::Kind::kFalse;
        break;
      case Tree::Node::kAll:
        stack.push_back(Joined(negated ? Node::Kind::kOr : Node::Kind::kAnd, node.all(), &stack));
        break;
      case Tree::Node::kAny:
        stack.push_back(Joined(negated ? Node::Kind::kAnd : Node::Kind::kOr, node.any(), &stack));
        break;
      case Tree::Node::kNot:
        // The nodes below were made as their opposites.
        break;
      default:
        stack.push_back(Bound({node, negated}));
    }
  }
  if (!stack.empty()) out_->root_ = std::move(stack.back());
}

Node Binder::Join(Node::Kind kind, std::vector<Node> children) {
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

Node Binder::Joined(Node::Kind kind, uint32_t count, std::vector<Node>* stack) {
  const auto begin = stack->end() - count;
  std::vector<Node> children(std::make_move_iterator(begin), std::make_move_iterator(stack->end()));
  stack->erase(begin, stack->end());
  return Join(kind, std::move(children));
}

Node Binder::Bound(const Place& place) {
  if (place.node.has_membership()) return Membership(place.node.membership(), place);
  if (place.node.has_present()) {
    Leaf leaf;
    leaf.kind = Leaf::Kind::kPresent;
    FieldOf(place.node.present(), &leaf.column);
    return LeafNode(std::move(leaf), place);
  }
  const Tree::Comparison& comparison = place.node.comparison();
  return Compared(Sum(comparison.left(), place), CompareOf(comparison.order()), Sum(comparison.right(), place), place);
}

Node Binder::LeafNode(Leaf leaf, const Place& place) {
  // A comparison of a wide column with a list is several leaves.
  if (out_->leaves_.size() >= Expression::kMaxLeaves) throw ParseError{"more than 4096 comparisons", place.node.at()};
  leaf.text = TextOf(place.node);
  if (place.negated) {
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

const Field& Binder::FieldOf(const Tree::Field& field, Column* column) {
  const Field* found = schema_.Find(field.name());
  if (found == nullptr) throw ParseError{"unknown field " + Quoted(field.name()), field.at()};
  if (field.element() >= found->spec.elements)
    throw ParseError{"field " + field.name() + " has " + std::to_string(found->spec.elements) + " elements",
                     field.at() + field.name().size() + 1};
  *column = found->element(field.element());
  return *found;
}

Token Binder::TokenOf(const Tree::Literal& literal) {
  if (literal.has_text()) return {Token::Kind::kText, literal.text(), literal.at()};
  if (literal.word().empty()) throw ParseError{"expected a value", literal.at()};
  return {Token::Kind::kWord, literal.word(), literal.at()};
}

Binder::Operand Binder::OperandOf(const Tree::Literal& literal) {
  Operand operand;
  operand.token = TokenOf(literal);
  if (operand.token.kind == Token::Kind::kWord && operand.token.text[0] == '-') {
    operand.sign = -1;
    operand.token.text.remove_prefix(1);
    if (operand.token.text.empty()) throw ParseError{"expected a value", literal.at()};
  }
  return operand;
}

Binder::Operand Binder::OperandOf(const Tree::Term& term) {
  Operand operand;
  if (term.has_literal()) {
    operand = OperandOf(term.literal());
  } else if (term.has_aggregate()) {
    const std::string& name = term.aggregate().name();
    operand.aggregate = resolve_ ? resolve_(name) : std::nullopt;
    operand.token = {Token::Kind::kWord, name, term.aggregate().at()};
    // The error must not reveal that an aggregate exists which the asker may not use.
    if (!operand.aggregate) throw ParseError{"unknown field " + Quoted(name), term.aggregate().at()};
  } else {
    operand.field = &FieldOf(term.field(), &operand.column);
    operand.token = {Token::Kind::kWord, term.field().name(), term.field().at()};
    if (operand.field->spec.elements > 1 && !term.field().has_element())
      throw ParseError{
          term.field().name() + " is a list: " + term.field().name() + "[0] or " + term.field().name() + " contains …",
          term.field().at()};
  }
  if (term.negative()) operand.sign = -operand.sign;
  return operand;
}

std::vector<Binder::Operand> Binder::Sum(const google::protobuf::RepeatedPtrField<Tree::Term>& terms,
                                         const Place& place) {
  if (terms.empty() || terms.size() > kMaxTerms) throw ParseError{"1 to 16 terms are compared", place.node.at()};
  std::vector<Operand> sum;
  for (const Tree::Term& term : terms) sum.push_back(OperandOf(term));
  return sum;
}

Result<Expression> Expression::Compile(std::string_view text, const Schema& schema, const Resolver& resolve) {
  try {
    auto expression = Compile(Parser(text, schema, resolve).Run(), schema, resolve);
    if (expression.ok()) expression->text_ = text;
    return expression;
  } catch (const ParseError& error) {
    return Status(Code::kInvalid, error.message, error.position);
  }
}

Result<Expression> Expression::Compile(Tree tree, const Schema& schema, const Resolver& resolve) {
  const auto shape = CheckShape(tree);
  if (!shape.ok()) return shape.status();
  Expression expression;
  try {
    Binder(tree, schema, resolve, &expression).Run(*shape);
  } catch (const ParseError& error) {
    return Status(Code::kInvalid, error.message, error.position);
  }
  expression.text_ = TextOf(tree);
  expression.tree_ = std::move(tree);
  expression.MakeSteps();
  return expression;
}

}  // namespace tapline::conditions
