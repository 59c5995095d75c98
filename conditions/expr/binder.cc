#include "conditions/expr/binder.h"

#include <algorithm>
#include <utility>

#include "conditions/expr/parser.h"

namespace tapline::conditions {
void Binder::run(const Shape& shape) {
  std::vector<Node> stack;
  for (int i = 0; i < tree_.nodes_size(); ++i) {
    const Tree::Node& node = tree_.nodes(i);
    const bool negated = shape.negated[static_cast<size_t>(i)];
    switch (node.kind_case()) {
      case Tree::Node::kConstant:
        stack.emplace_back().kind = node.constant() != negated ? Node::Kind::kTrue : Node::Kind::kFalse;
        break;
      case Tree::Node::kAll:
        stack.push_back(joined(negated ? Node::Kind::kOr : Node::Kind::kAnd, node.all(), &stack));
        break;
      case Tree::Node::kAny:
        stack.push_back(joined(negated ? Node::Kind::kAnd : Node::Kind::kOr, node.any(), &stack));
        break;
      case Tree::Node::kNot:
        // The child nodes were already built in negated form.
        break;
      default:
        stack.push_back(bound({node, negated}));
    }
  }
  if (!stack.empty()) out_->root_ = std::move(stack.back());
}

Node Binder::join(Node::Kind kind, std::vector<Node> children) {
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

Node Binder::joined(Node::Kind kind, uint32_t count, std::vector<Node>* stack) {
  const auto begin = stack->end() - count;
  std::vector<Node> children(std::make_move_iterator(begin), std::make_move_iterator(stack->end()));
  stack->erase(begin, stack->end());
  return join(kind, std::move(children));
}

Node Binder::bound(const Place& place) {
  if (place.node.has_membership()) return membership(place.node.membership(), place);
  if (place.node.has_present()) {
    Leaf leaf;
    leaf.kind = Leaf::Kind::kPresent;
    field_of(place.node.present(), &leaf.column);
    return leaf_node(std::move(leaf), place);
  }
  const Tree::Comparison& comparison = place.node.comparison();
  return compared(sum(comparison.left(), place), compare_of(comparison.order()), sum(comparison.right(), place), place);
}

Node Binder::leaf_node(Leaf leaf, const Place& place) {
  // A comparison of a wide column with a list becomes several leaves.
  if (out_->leaves_.size() >= Expression::kMaxLeaves) throw ParseError{"more than 4096 comparisons", place.node.at()};
  leaf.text = text_of(place.node);
  if (place.negated) {
    if (leaf.kind == Leaf::Kind::kKeys)
      leaf.ranges = complement(leaf.ranges, leaf.column.max_key() & leaf.mask);
    else
      leaf.negated = !leaf.negated;
  }
  Node node;
  node.kind = Node::Kind::kLeaf;
  node.leaf = static_cast<uint32_t>(out_->leaves_.size());
  out_->leaves_.push_back(std::move(leaf));
  return node;
}

const Field& Binder::field_of(const Tree::Field& field, Column* column) {
  const Field* it = schema_.find(field.name());
  if (it == nullptr) throw ParseError{"unknown field " + quoted(field.name()), field.at()};
  if (field.element() >= it->spec.elements)
    throw ParseError{"field " + field.name() + " has " + std::to_string(it->spec.elements) + " elements",
                     field.at() + field.name().size() + 1};
  *column = it->element(field.element());
  return *it;
}

Token Binder::token_of(const Tree::Literal& literal) {
  if (literal.has_text()) return {Token::Kind::kText, literal.text(), literal.at()};
  if (literal.word().empty()) throw ParseError{"expected a value", literal.at()};
  return {Token::Kind::kWord, literal.word(), literal.at()};
}

Binder::Operand Binder::operand_of(const Tree::Literal& literal) {
  Operand operand;
  operand.token = token_of(literal);
  if (operand.token.kind == Token::Kind::kWord && operand.token.text[0] == '-') {
    operand.sign = -1;
    operand.token.text.remove_prefix(1);
    if (operand.token.text.empty()) throw ParseError{"expected a value", literal.at()};
  }
  return operand;
}

Binder::Operand Binder::operand_of(const Tree::Term& term) {
  Operand operand;
  if (term.has_literal()) {
    operand = operand_of(term.literal());
  } else if (term.has_aggregate()) {
    const std::string& name = term.aggregate().name();
    operand.aggregate = resolve_ ? resolve_(name) : std::nullopt;
    operand.token = {Token::Kind::kWord, name, term.aggregate().at()};
    // The error must not reveal the existence of an aggregate that the caller may not use.
    if (!operand.aggregate) throw ParseError{"unknown field " + quoted(name), term.aggregate().at()};
  } else {
    operand.field = &field_of(term.field(), &operand.column);
    operand.token = {Token::Kind::kWord, term.field().name(), term.field().at()};
    if (operand.field->spec.elements > 1 && !term.field().has_element())
      throw ParseError{term.field().name() + " is a list; use " + term.field().name() + "[0] or " +
                           term.field().name() + " contains …",
                       term.field().at()};
  }
  if (term.negative()) operand.sign = -operand.sign;
  return operand;
}

std::vector<Binder::Operand> Binder::sum(const google::protobuf::RepeatedPtrField<Tree::Term>& terms,
                                         const Place& place) {
  if (terms.empty() || terms.size() > kMaxTerms)
    throw ParseError{"each side of a comparison must have 1 to 16 terms", place.node.at()};
  std::vector<Operand> sum;
  for (const Tree::Term& term : terms) sum.push_back(operand_of(term));
  return sum;
}

Result<Expression> Expression::compile(std::string_view text, const Schema& schema, const Resolver& resolve) {
  try {
    auto expression = compile(Parser(text, schema, resolve).run(), schema, resolve);
    if (expression.ok()) expression->text_ = text;
    return expression;
  } catch (const ParseError& error) {
    return Status(Code::kInvalid, error.message, error.position);
  }
}

Result<Expression> Expression::compile(Tree tree, const Schema& schema, const Resolver& resolve) {
  const auto shape = check_shape(tree);
  if (!shape.ok()) return shape.status();
  Expression expression;
  try {
    Binder(tree, schema, resolve, &expression).run(*shape);
  } catch (const ParseError& error) {
    return Status(Code::kInvalid, error.message, error.position);
  }
  expression.text_ = text_of(tree);
  expression.tree_ = std::move(tree);
  expression.make_steps();
  return expression;
}

}  // namespace tapline::conditions
