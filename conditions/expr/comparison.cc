// Compiles comparisons (sum < sum): a field with a value, two fields, or a sum with a constant.
#include <algorithm>
#include <cmath>

#include "conditions/expr/binder.h"

namespace tapline::conditions {

Compare Binder::compare_of(Tree::Order order) {
  switch (order) {
    case Tree::NOT_EQUAL:
      return Compare::kNotEqual;
    case Tree::LESS:
      return Compare::kLess;
    case Tree::LESS_OR_EQUAL:
      return Compare::kLessEqual;
    case Tree::GREATER:
      return Compare::kGreater;
    case Tree::GREATER_OR_EQUAL:
      return Compare::kGreaterEqual;
    default:
      return Compare::kEqual;
  }
}

Compare Binder::mirrored(Compare compare) {
  switch (compare) {
    case Compare::kLess:
      return Compare::kGreater;
    case Compare::kLessEqual:
      return Compare::kGreaterEqual;
    case Compare::kGreater:
      return Compare::kLess;
    case Compare::kGreaterEqual:
      return Compare::kLessEqual;
    default:
      return compare;
  }
}

bool Binder::all_literal(const std::vector<Operand>& sum) {
  return std::all_of(sum.begin(), sum.end(), [](const Operand& operand) { return operand.is_literal(); });
}

bool Binder::is_one_field(const std::vector<Operand>& sum) {
  return sum.size() == 1 && sum[0].field != nullptr && sum[0].sign > 0;
}

Node Binder::compared(std::vector<Operand> left, Compare compare, std::vector<Operand> right, const Place& place) {
  if (all_literal(left) && all_literal(right)) {
    for (const Operand& operand : left) {
      if (operand.token.kind == Token::Kind::kWord && !is_digit(operand.token.text[0]))
        throw ParseError{"unknown field " + quoted(operand.token.text), operand.token.position};
    }
    throw ParseError{"a comparison needs a field", place.node.at()};
  }
  if (all_literal(left)) return compared(std::move(right), mirrored(compare), std::move(left), place);
  if (is_one_field(left) && all_literal(right)) return with_literal(left[0].column, compare, right, place);
  if (is_one_field(left) && is_one_field(right)) {
    const Column &a = left[0].column, &b = right[0].column;
    if (!a.is_number() || !b.is_number()) {
      if (a.type != b.type || a.bytes != b.bytes)
        throw ParseError{"can't compare " + std::string(name_of(a.type)) + " with " + std::string(name_of(b.type)),
                         right[0].token.position};
      if (a.type != FieldType::kIpv4) return pair(left[0], compare, right[0], place);
    }
    return linear(std::move(left), compare, std::move(right), true, place);
  }
  return linear(std::move(left), compare, std::move(right), false, place);
}

Node Binder::pair(const Operand& a, Compare compare, const Operand& b, const Place& place) {
  if (a.column.type == FieldType::kText && compare != Compare::kEqual && compare != Compare::kNotEqual)
    throw ParseError{"strings can only be compared with = and !=", b.token.position};
  Leaf leaf;
  leaf.kind = Leaf::Kind::kPair;
  leaf.compare = compare;
  leaf.column = a.column;
  leaf.other = b.column;
  return leaf_node(std::move(leaf), place);
}

Node Binder::linear(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool any_type,
                    const Place& place) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::kLinear;
  leaf.compare = compare;
  leaf.constant = Number::of_whole(0);
  bool anchored = false;
  for (int side = 0; side < 2; ++side) {
    for (Operand& operand : side == 0 ? left : right) {
      const int sign = side == 0 ? operand.sign : -operand.sign;
      if (operand.is_literal()) {
        add_constant(&leaf.constant, sign, literal(operand));
        continue;
      }
      if (operand.field != nullptr && !operand.column.is_number() && !any_type)
        throw ParseError{"fields of type " + std::string(name_of(operand.column.type)) + " do not support arithmetic",
                         operand.token.position};
      if (operand.field != nullptr && !anchored) leaf.column = operand.column, anchored = true;
      leaf.terms.push_back({sign, operand.aggregate, operand.column});
    }
  }
  return leaf_node(std::move(leaf), place);
}

Number Binder::literal(const Operand& operand) {
  if (operand.token.kind == Token::Kind::kText) throw ParseError{"expected a number", operand.token.position};
  return parse_number(operand.token.text, operand.token.position);
}

void Binder::add_constant(Number* sum, int sign, const Number& number) {
  if (number.is_float || sum->is_float) {
    *sum = Number::of_real(sum->as_double() + sign * number.as_double());
  } else {
    sum->whole += sign * number.whole;
  }
}

Values Binder::parse_value(const Column& column, const std::vector<Operand>& sum) {
  const size_t position = sum[0].token.position;
  if (is_address(column) || column.type == FieldType::kBytes) {
    if (sum.size() != 1 || sum[0].sign < 0)
      throw ParseError{"fields of type " + std::string(name_of(column.type)) + " do not support arithmetic", position};
    const std::string bytes =
        is_address(column) ? parse_address(column, sum[0].token.text, position) : parse_bytes(column, sum[0].token);
    return of_bytes(column, bytes, bytes);
  }
  Number number = Number::of_whole(0);
  for (const Operand& operand : sum) add_constant(&number, operand.sign, literal(operand));
  const uint64_t key = key_of_number(column, number, position);
  return {key, key, {}, {}};
}

Node Binder::with_literal(const Column& column, Compare compare, const std::vector<Operand>& sum, const Place& place) {
  const bool is_equality = compare == Compare::kEqual || compare == Compare::kNotEqual;
  const Place equal{place.node, place.negated != (compare == Compare::kNotEqual)};
  const Token& token = sum[0].token;
  if (column.type == FieldType::kText) {
    if (!is_equality) throw ParseError{"strings can only be compared with = and !=", token.position};
    if (sum.size() != 1 || sum[0].sign < 0)
      throw ParseError{"fields of type text do not support arithmetic", token.position};
    return from_texts(column, {text_literal(token)}, equal);
  }
  if (is_equality) {
    const size_t slash =
        token.kind == Token::Kind::kWord && is_address(column) ? token.text.find('/') : std::string::npos;
    const bool is_prefix = slash != std::string::npos && sum.size() == 1 && sum[0].sign > 0;
    return from_values(column, {is_prefix ? prefix(column, token, slash) : parse_value(column, sum)}, equal);
  }
  Values value = parse_value(column, sum);
  const bool is_below = compare == Compare::kLess || compare == Compare::kLessEqual;
  const bool with = compare == Compare::kLessEqual || compare == Compare::kGreaterEqual;
  const bool wide = !column.keyed();
  if (wide) {
    // "strictly below" is the opposite of "at or above", and vice versa
    const std::string min(column.bytes, '\0'), greatest(column.bytes, '\xff');
    const bool is_up = is_below != with;
    return from_values(column, {is_up ? Values{0, 0, value.wide_low, greatest} : Values{0, 0, min, value.wide_low}},
                       {place.node, place.negated != !with});
  }
  const uint64_t min = column.is_float() ? float_infinity_key(column, true) : 0;
  const uint64_t max = column.is_float() ? float_infinity_key(column, false) : column.max_key();
  if ((is_below && !with && value.low == min) || (!is_below && !with && value.low == max))
    return from_values(column, {}, place);
  const Values range = is_below ? Values{min, with ? value.low : value.low - 1, {}, {}}
                                : Values{with ? value.low : value.low + 1, max, {}, {}};
  return from_values(column, {range}, place);
}

uint64_t Binder::float_infinity_key(const Column& column, bool is_negative) {
  const double infinity = is_negative ? -HUGE_VAL : HUGE_VAL;
  return column.type == FieldType::kF64 ? float_key(infinity) : float_key32(static_cast<float>(infinity));
}

}  // namespace tapline::conditions
