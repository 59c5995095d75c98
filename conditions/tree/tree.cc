#include "conditions/tree/tree.h"

#include <algorithm>

namespace tapline::conditions {
namespace {

using Kind = Tree::Node::KindCase;

uint32_t children_of(const Tree::Node& node) {
  switch (node.kind_case()) {
    case Kind::kAll:
      return node.all();
    case Kind::kAny:
      return node.any();
    case Kind::kNot:
      return 1;
    default:
      return 0;
  }
}

bool is_leaf(const Tree::Node& node) {
  return node.kind_case() == Kind::kComparison || node.kind_case() == Kind::kMembership ||
         node.kind_case() == Kind::kPresent;
}

// Returns the terms of all comparisons.
std::vector<const Tree::Term*> terms_of(const Tree& tree) {
  std::vector<const Tree::Term*> terms;
  for (const Tree::Node& node : tree.nodes()) {
    for (const auto* side : {&node.comparison().left(), &node.comparison().right()}) {
      for (const Tree::Term& term : *side) terms.push_back(&term);
    }
  }
  return terms;
}

std::string_view symbol_of(Tree::Order order) {
  switch (order) {
    case Tree::NOT_EQUAL:
      return "!=";
    case Tree::LESS:
      return "<";
    case Tree::LESS_OR_EQUAL:
      return "<=";
    case Tree::GREATER:
      return ">";
    case Tree::GREATER_OR_EQUAL:
      return ">=";
    default:
      return "==";
  }
}

std::string text_of(const Tree::Field& field) {
  return field.has_element() ? field.name() + "[" + std::to_string(field.element()) + "]" : field.name();
}

// Writes text that contains a quote in hexadecimal (which byte fields accept), since quoted text can't contain a quote.
std::string text_of(const Tree::Literal& literal) {
  if (!literal.has_text()) return literal.word();
  const std::string& text = literal.text();
  if (text.find('"') == std::string::npos) return '"' + text + '"';
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex = "0x";
  for (const char c : text) {
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

// Writes one sign per term, since the language does not allow two consecutive signs.
std::string text_of(const google::protobuf::RepeatedPtrField<Tree::Term>& terms) {
  std::string text;
  for (const Tree::Term& term : terms) {
    std::string value = term.has_field()       ? text_of(term.field())
                        : term.has_aggregate() ? term.aggregate().name()
                                               : text_of(term.literal());
    const bool signed_word = term.has_literal() && !term.literal().has_text() && value.starts_with('-');
    if (signed_word) value.erase(0, 1);
    const bool is_negative = term.negative() != signed_word;
    if (!text.empty()) {
      text += is_negative ? " - " : " + ";
    } else if (is_negative) {
      text += '-';
    }
    text += value;
  }
  return text;
}

std::string text_of(const Tree::Membership& membership) {
  const std::string begin = text_of(membership.field()) + (membership.any_element() ? " contains " : " in ");
  if (membership.has_pattern()) return text_of(membership.field()) + " like " + text_of(membership.pattern());
  std::string values;
  for (const Tree::Range& range : membership.ranges()) {
    values += (values.empty() ? "" : ", ") + text_of(range.low());
    if (range.has_high()) values += " .. " + text_of(range.high());
  }
  return membership.ranges_size() == 1 ? begin + values : begin + "{" + values + "}";
}

// The precedence of an expression. A part is put in parentheses unless it binds more tightly than the text around it.
enum class Binding : uint8_t { kOr, kAnd, kNot, kLeaf };

struct Part {
  std::string text;
  Binding binding = Binding::kLeaf;
};

std::string within(const Part& part, Binding outer) {
  return part.binding <= outer ? "(" + part.text + ")" : part.text;
}

Part joined(std::vector<Part>* parts, uint32_t count, Binding binding) {
  if (count == 1) {
    Part part = std::move(parts->back());
    parts->pop_back();
    return part;
  }
  Part joined_part{{}, binding};
  for (size_t i = parts->size() - count; i < parts->size(); ++i) {
    if (!joined_part.text.empty()) joined_part.text += binding == Binding::kAnd ? " && " : " || ";
    joined_part.text += within((*parts)[i], binding);
  }
  parts->resize(parts->size() - count);
  return joined_part;
}

Part negated(std::vector<Part>* parts) {
  Part part = std::move(parts->back());
  parts->pop_back();
  return {"!(" + part.text + ")", Binding::kNot};
}

}  // namespace

Result<Shape> check_shape(const Tree& tree) {
  Shape shape;
  const int count = tree.nodes_size();
  if (count > kMaxNodes) return Status(Code::kInvalid, "the condition has more than 16384 nodes", 0);
  shape.negated.resize(static_cast<size_t>(count));
  // Walks backwards from the root. A level is the number of nodes still missing, and whether they are negated.
  struct Level {
    uint32_t missing;
    bool negated;
  };
  std::vector<Level> levels{{count == 0 ? 0u : 1u, false}};
  int leaves = 0;
  for (int i = count - 1; i >= 0; --i) {
    const Tree::Node& node = tree.nodes(i);
    while (!levels.empty() && levels.back().missing == 0) levels.pop_back();
    if (levels.empty()) return Status(Code::kInvalid, "the condition is not a tree: a node has no parent", node.at());
    --levels.back().missing;
    const bool negated = levels.back().negated;
    shape.negated[static_cast<size_t>(i)] = negated;
    const bool joins = node.kind_case() == Kind::kAll || node.kind_case() == Kind::kAny;
    if (node.kind_case() == Kind::KIND_NOT_SET || (joins && children_of(node) == 0))
      return Status(Code::kInvalid, "the condition has a node that is empty or of an unknown kind", node.at());
    if (is_leaf(node) && ++leaves > kMaxLeaves) return Status(Code::kInvalid, "more than 4096 comparisons", node.at());
    if (const uint32_t children = children_of(node); children > 0) {
      levels.push_back({children, negated != (node.kind_case() == Kind::kNot)});
      if (levels.size() > static_cast<size_t>(kMaxDepth) + 1)
        return Status(Code::kInvalid, "nested too deeply", node.at());
    }
  }
  for (const Level& level : levels) {
    if (level.missing > 0) return Status(Code::kInvalid, "the condition is not a tree: a node is missing", 0);
  }
  return shape;
}

Tree conjunction(const std::vector<Tree>& trees) {
  Tree all;
  uint32_t count = 0;
  for (const Tree& tree : trees) {
    if (tree.nodes_size() == 0) continue;
    all.MergeFrom(tree);
    ++count;
  }
  if (count > 1) all.add_nodes()->set_all(count);
  return all;
}

std::set<std::string> fields_of(const Tree& tree) {
  std::set<std::string> fields;
  for (const Tree::Node& node : tree.nodes()) {
    if (node.has_present()) fields.insert(node.present().name());
    if (node.has_membership()) fields.insert(node.membership().field().name());
  }
  for (const Tree::Term* term : terms_of(tree)) {
    if (term->has_field()) fields.insert(term->field().name());
  }
  return fields;
}

std::vector<Tree::Aggregate> aggregates_of(const Tree& tree) {
  std::vector<Tree::Aggregate> aggregates;
  for (const Tree::Term* term : terms_of(tree)) {
    if (term->has_aggregate()) aggregates.push_back(term->aggregate());
  }
  return aggregates;
}

std::string text_of(const Tree::Node& node) {
  if (node.has_present()) return "has(" + text_of(node.present()) + ")";
  if (node.has_membership()) return text_of(node.membership());
  const Tree::Comparison& comparison = node.comparison();
  return text_of(comparison.left()) + " " + std::string(symbol_of(comparison.order())) + " " +
         text_of(comparison.right());
}

std::string text_of(const Tree& tree) {
  std::vector<Part> parts;
  for (const Tree::Node& node : tree.nodes()) {
    switch (node.kind_case()) {
      case Kind::kConstant:
        parts.push_back({node.constant() ? "true" : "false", Binding::kLeaf});
        break;
      case Kind::kAll:
        parts.push_back(joined(&parts, node.all(), Binding::kAnd));
        break;
      case Kind::kAny:
        parts.push_back(joined(&parts, node.any(), Binding::kOr));
        break;
      case Kind::kNot:
        parts.push_back(negated(&parts));
        break;
      default:
        parts.push_back({text_of(node), Binding::kLeaf});
    }
  }
  return parts.empty() ? "" : parts.back().text;
}

}  // namespace tapline::conditions
