#include "conditions/expr/expression.h"

#include <algorithm>

namespace tapline::conditions {
namespace {

Number number_of(const Column& column, const uint8_t* row) {
  const uint64_t key = key_of(column, row);
  return column.is_float() ? Number::of_real(number_of_key(column, key))
                           : Number::of_whole(integer_of_key(column, key));
}

Truth evaluate_linear(const Leaf& leaf, const uint8_t* row, const Schema& schema, const Expression::Values& value) {
  __int128 whole = leaf.constant.whole;
  double real = leaf.constant.real;
  bool is_float = leaf.constant.is_float;
  for (const Term& term : leaf.terms) {
    Number number;
    if (term.aggregate) {
      if (value) number = value(*term.aggregate);
    } else if (is_present(term.column, row, schema.presence_offset())) {
      number = number_of(term.column, row);
    }
    if (!number.present) return Truth::kUnknown;
    is_float = is_float || number.is_float;
    number.is_float ? void(real += term.sign * number.real) : void(whole += term.sign * number.whole);
  }
  const double sum = real + (is_float ? static_cast<double>(whole) : 0);
  if (is_float && sum != sum) return Truth::kUnknown;
  const int order = is_float ? (sum > 0) - (sum < 0) : (whole > 0) - (whole < 0);
  return is_true(leaf.compare, order) ? Truth::kTrue : Truth::kFalse;
}

bool in_wide(const Leaf& leaf, const uint8_t* row) {
  uint8_t masked[64];
  for (uint32_t i = 0; i < leaf.column.bytes; ++i)
    masked[i] = row[leaf.column.offset + i] & static_cast<uint8_t>(leaf.wide_mask[i]);
  return std::memcmp(masked, leaf.low.data(), leaf.column.bytes) >= 0 &&
         std::memcmp(masked, leaf.high.data(), leaf.column.bytes) <= 0;
}

Truth negated(Truth truth) { return static_cast<Truth>(2 - static_cast<int>(truth)); }

bool is_text(const Leaf& leaf, const uint8_t* row) {
  const std::string_view text = load_as<TextRef>(row + leaf.column.offset).view();
  return std::find(leaf.texts.begin(), leaf.texts.end(), text) != leaf.texts.end();
}

int order_of_pair(const Leaf& leaf, const uint8_t* row) {
  if (leaf.column.type == FieldType::kText)
    return load_as<TextRef>(row + leaf.column.offset).view().compare(load_as<TextRef>(row + leaf.other.offset).view());
  return std::memcmp(row + leaf.column.offset, row + leaf.other.offset, leaf.column.bytes);
}

// Adds `leaf` to a clause, merging it with a leaf on the same column. Returns false if no row can satisfy the result.
bool add_to(Clause* clause, const Leaf& leaf) {
  for (Leaf& present : *clause) {
    if (present.same_as(leaf)) return true;
    if (leaf.kind != Leaf::Kind::kKeys || present.kind != leaf.kind || present.column != leaf.column ||
        present.mask != leaf.mask)
      continue;
    present.ranges = intersect(present.ranges, leaf.ranges);
    present.text += " && " + leaf.text;
    return !present.ranges.empty();
  }
  clause->push_back(leaf);
  return leaf.kind != Leaf::Kind::kKeys || !leaf.ranges.empty();
}

std::optional<Clause> both_of(const Clause& a, const Clause& b) {
  Clause both_clause = a;
  for (const Leaf& leaf : b) {
    if (!add_to(&both_clause, leaf)) return std::nullopt;
  }
  return both_clause;
}

bool same_clause(const Clause& a, const Clause& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Leaf& leaf) {
           return std::any_of(b.begin(), b.end(), [&](const Leaf& other_leaf) { return leaf.same_as(other_leaf); });
         });
}

void add_clause(std::vector<Clause>* clauses, Clause clause) {
  if (std::none_of(clauses->begin(), clauses->end(), [&](const Clause& c) { return same_clause(c, clause); }))
    clauses->push_back(std::move(clause));
}

bool build_dnf(const Node& node, const std::vector<Leaf>& leaves, size_t max_clauses, std::vector<Clause>* result) {
  switch (node.kind) {
    case Node::Kind::kTrue:
      result->emplace_back();
      return true;
    case Node::Kind::kFalse:
      return true;
    case Node::Kind::kLeaf: {
      Clause clause;
      if (add_to(&clause, leaves[node.leaf])) result->push_back(std::move(clause));
      return true;
    }
    case Node::Kind::kOr:
      for (const Node& child : node.children) {
        std::vector<Clause> part;
        if (!build_dnf(child, leaves, max_clauses, &part)) return false;
        for (Clause& clause : part) add_clause(result, std::move(clause));
        if (result->size() > max_clauses) return false;
      }
      return true;
    default:
      break;
  }
  result->emplace_back();
  for (const Node& child : node.children) {
    std::vector<Clause> part, product;
    if (!build_dnf(child, leaves, max_clauses, &part)) return false;
    if (part.size() * result->size() > max_clauses * max_clauses) return false;
    for (const Clause& a : *result) {
      for (const Clause& b : part) {
        if (auto both = both_of(a, b)) add_clause(&product, std::move(*both));
      }
    }
    if (product.size() > max_clauses) return false;
    *result = std::move(product);
  }
  return true;
}

std::string name_of_column(const Column& column, const Schema& schema) {
  for (const Field& field : schema.fields()) {
    const uint32_t end = field.column.offset + field.column.bytes * field.spec.elements;
    if (column.offset < field.column.offset || column.offset >= end) continue;
    const uint32_t index = (column.offset - field.column.offset) / field.column.bytes;
    return field.spec.elements == 1 ? field.spec.name : field.spec.name + "[" + std::to_string(index) + "]";
  }
  return "?";
}

}  // namespace

bool is_true(Compare compare, int order) {
  switch (compare) {
    case Compare::kEqual:
      return order == 0;
    case Compare::kNotEqual:
      return order != 0;
    case Compare::kLess:
      return order < 0;
    case Compare::kLessEqual:
      return order <= 0;
    case Compare::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

KeyRanges union_of(KeyRanges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const KeyRange& a, const KeyRange& b) { return a.low < b.low; });
  KeyRanges result;
  for (const KeyRange& range : ranges) {
    if (!result.empty() && (range.low <= result.back().high || range.low - 1 == result.back().high))
      result.back().high = std::max(result.back().high, range.high);
    else
      result.push_back(range);
  }
  return result;
}

KeyRanges intersect(const KeyRanges& a, const KeyRanges& b) {
  KeyRanges result;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const KeyRange both_range{std::max(a[i].low, b[j].low), std::min(a[i].high, b[j].high)};
    if (both_range.low <= both_range.high) result.push_back(both_range);
    a[i].high < b[j].high ? ++i : ++j;
  }
  return result;
}

KeyRanges complement(const KeyRanges& ranges, uint64_t max_key) {
  KeyRanges result;
  uint64_t next = 0;
  for (const KeyRange& range : ranges) {
    if (range.low > next) result.push_back({next, range.low - 1});
    if (range.high >= max_key) return result;
    next = range.high + 1;
  }
  result.push_back({next, max_key});
  return result;
}

bool contains(const KeyRanges& ranges, uint64_t key) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), key,
                                      [](uint64_t k, const KeyRange& range) { return k < range.low; });
  return after != ranges.begin() && key <= std::prev(after)->high;
}

bool Leaf::same_as(const Leaf& o) const {
  if (kind != o.kind || negated != o.negated || column != o.column) return false;
  switch (kind) {
    case Kind::kKeys:
      return mask == o.mask && ranges == o.ranges;
    case Kind::kWide:
      return low == o.low && high == o.high && wide_mask == o.wide_mask;
    case Kind::kText:
      return texts == o.texts;
    case Kind::kPresent:
      return true;
    case Kind::kPair:
      return other == o.other && compare == o.compare;
    default:
      break;
  }
  return compare == o.compare && terms == o.terms && constant.whole == o.constant.whole &&
         constant.real == o.constant.real;
}

bool Leaf::depends_on_aggregate() const {
  return std::any_of(terms.begin(), terms.end(), [](const Term& term) { return term.aggregate.has_value(); });
}

bool Expression::depends_on_aggregate() const {
  return std::any_of(leaves_.begin(), leaves_.end(), [](const Leaf& leaf) { return leaf.depends_on_aggregate(); });
}

std::vector<AggregateRef> Expression::aggregates() const {
  std::vector<AggregateRef> result;
  for (const Leaf& leaf : leaves_) {
    for (const Term& term : leaf.terms) {
      if (term.aggregate) result.push_back(*term.aggregate);
    }
  }
  return result;
}

Truth evaluate(const Leaf& leaf, const uint8_t* row, const Schema& schema, const Expression::Values& value) {
  Truth truth = Truth::kUnknown;
  const bool present = is_present(leaf.column, row, schema.presence_offset());
  switch (leaf.kind) {
    case Leaf::Kind::kKeys:
      if (!present) return Truth::kUnknown;
      return contains(leaf.ranges, key_of(leaf.column, row) & leaf.mask) ? Truth::kTrue : Truth::kFalse;
    case Leaf::Kind::kPresent:
      truth = present ? Truth::kTrue : Truth::kFalse;
      break;
    case Leaf::Kind::kWide:
      if (present) truth = in_wide(leaf, row) ? Truth::kTrue : Truth::kFalse;
      break;
    case Leaf::Kind::kPair:
      if (present && is_present(leaf.other, row, schema.presence_offset()))
        truth = is_true(leaf.compare, order_of_pair(leaf, row)) ? Truth::kTrue : Truth::kFalse;
      break;
    case Leaf::Kind::kText:
      if (present) truth = is_text(leaf, row) ? Truth::kTrue : Truth::kFalse;
      break;
    case Leaf::Kind::kLinear:
      truth = evaluate_linear(leaf, row, schema, value);
      break;
  }
  return leaf.negated ? negated(truth) : truth;
}

bool Expression::matches(const uint8_t* row, const Schema& schema, const Values& value) const {
  uint32_t index = entry_;
  while (index < kReject) {
    const Step& step = steps_[index];
    index = evaluate(leaves_[step.leaf], row, schema, value) == Truth::kTrue ? step.if_true : step.if_false;
  }
  return index == kAccept;
}

void Expression::make_steps() { entry_ = add_steps(root_, kAccept, kReject); }

// Adds children from last to first, since each child needs the first step of the next one.
uint32_t Expression::add_steps(const Node& node, uint32_t if_true, uint32_t if_false) {
  if (node.kind == Node::Kind::kTrue) return if_true;
  if (node.kind == Node::Kind::kFalse) return if_false;
  if (node.kind == Node::Kind::kLeaf) {
    steps_.push_back({node.leaf, if_true, if_false});
    return static_cast<uint32_t>(steps_.size() - 1);
  }
  const bool is_and = node.kind == Node::Kind::kAnd;
  uint32_t next = is_and ? if_true : if_false;
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child)
    next = is_and ? add_steps(*child, next, if_false) : add_steps(*child, if_true, next);
  return next;
}

std::optional<std::vector<Clause>> Expression::dnf(size_t max_clauses) const {
  std::vector<Clause> clauses;
  if (!build_dnf(root_, leaves_, max_clauses, &clauses)) return std::nullopt;
  for (const Clause& clause : clauses) {
    if (clause.empty()) return std::vector<Clause>(1);
  }
  return clauses;
}

std::string describe(const Leaf& leaf, const Schema& schema) {
  if (leaf.kind != Leaf::Kind::kKeys) return (leaf.negated ? "!(" : "(") + leaf.text + ")";
  std::string text = name_of_column(leaf.column, schema);
  if (leaf.mask != ~uint64_t{0}) return text + " like " + leaf.text;
  text += " in {";
  for (size_t i = 0; i < leaf.ranges.size() && i < 8; ++i) {
    const KeyRange& range = leaf.ranges[i];
    text += (i > 0 ? ", " : "") + std::to_string(range.low);
    if (range.high != range.low) text += ".." + std::to_string(range.high);
  }
  return text + (leaf.ranges.size() > 8 ? ", …}" : "}");
}

}  // namespace tapline::conditions
