// sum < sum: a field with a value, two fields, or a sum with a constant.
#include <algorithm>
#include <cmath>

#include "conditions/expr/binder.h"

namespace tapline::conditions {

Compare Binder::CompareOf(Tree::Order order) {
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

Compare Binder::Mirrored(Compare compare) {
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

bool Binder::AllLiteral(const std::vector<Operand>& sum) {
  return std::all_of(sum.begin(), sum.end(), [](const Operand& operand) { return operand.is_literal(); });
}

bool Binder::IsOneField(const std::vector<Operand>& sum) {
  return sum.size() == 1 && sum[0].field != nullptr && sum[0].sign > 0;
}

Node Binder::Compared(std::vector<Operand> left, Compare compare, std::vector<Operand> right, const Place& place) {
  if (AllLiteral(left) && AllLiteral(right)) {
    for (const Operand& operand : left) {
      if (operand.token.kind == Token::Kind::kWord && !IsDigit(operand.token.text[0]))
        throw ParseError{"unknown field " + Quoted(operand.token.text), operand.token.position};
    }
    throw ParseError{"a comparison needs a field", place.node.at()};
  }
  if (AllLiteral(left)) return Compared(std::move(right), Mirrored(compare), std::move(left), place);
  if (IsOneField(left) && AllLiteral(right)) return WithLiteral(left[0].column, compare, right, place);
  if (IsOneField(left) && IsOneField(right)) {
    const Column &a = left[0].column, &b = right[0].column;
    if (!a.is_number() || !b.is_number()) {
      if (a.type != b.type || a.bytes != b.bytes)
        throw ParseError{"can't compare " + std::string(NameOf(a.type)) + " with " + std::string(NameOf(b.type)),
                         right[0].token.position};
      if (a.type != FieldType::kIpv4) return Pair(left[0], compare, right[0], place);
    }
    return Linear(std::move(left), compare, std::move(right), true, place);
  }
  return Linear(std::move(left), compare, std::move(right), false, place);
}

Node Binder::Pair(const Operand& a, Compare compare, const Operand& b, const Place& place) {
  if (a.column.type == FieldType::kText && compare != Compare::kEqual && compare != Compare::kNotEqual)
    throw ParseError{"texts have no order", b.token.position};
  Leaf leaf;
  leaf.kind = Leaf::Kind::kPair;
  leaf.compare = compare;
  leaf.column = a.column;
  leaf.other = b.column;
  return LeafNode(std::move(leaf), place);
}

Node Binder::Linear(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool any_type,
                    const Place& place) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::kLinear;
  leaf.compare = compare;
  leaf.constant = Number::Whole(0);
  bool anchored = false;
  for (int side = 0; side < 2; ++side) {
    for (Operand& operand : side == 0 ? left : right) {
      const int sign = side == 0 ? operand.sign : -operand.sign;
      if (operand.is_literal()) {
        AddConstant(&leaf.constant, sign, Literal(operand));
        continue;
      }
      if (operand.field != nullptr && !operand.column.is_number() && !any_type)
        throw ParseError{"no arithmetic with a field of type " + std::string(NameOf(operand.column.type)),
                         operand.token.position};
      if (operand.field != nullptr && !anchored) leaf.column = operand.column, anchored = true;
      leaf.terms.push_back({sign, operand.aggregate, operand.column});
    }
  }
  return LeafNode(std::move(leaf), place);
}

Number Binder::Literal(const Operand& operand) {
  if (operand.token.kind == Token::Kind::kText) throw ParseError{"a number is wanted here", operand.token.position};
  return ParseNumber(operand.token.text, operand.token.position);
}

void Binder::AddConstant(Number* sum, int sign, const Number& number) {
  if (number.is_float || sum->is_float) {
    *sum = Number::Real(sum->AsDouble() + sign * number.AsDouble());
  } else {
    sum->whole += sign * number.whole;
  }
}

Values Binder::ParseValue(const Column& column, const std::vector<Operand>& sum) {
  const size_t position = sum[0].token.position;
  if (IsAddress(column) || column.type == FieldType::kBytes) {
    if (sum.size() != 1 || sum[0].sign < 0)
      throw ParseError{"no arithmetic with a field of type " + std::string(NameOf(column.type)), position};
    const std::string bytes =
        IsAddress(column) ? ParseAddress(column, sum[0].token.text, position) : ParseBytes(column, sum[0].token);
    return OfBytes(column, bytes, bytes);
  }
  Number number = Number::Whole(0);
  for (const Operand& operand : sum) AddConstant(&number, operand.sign, Literal(operand));
  const uint64_t key = KeyOfNumber(column, number, position);
  return {key, key, {}, {}};
}

Node Binder::WithLiteral(const Column& column, Compare compare, const std::vector<Operand>& sum, const Place& place) {
  const bool equality = compare == Compare::kEqual || compare == Compare::kNotEqual;
  const Place equal{place.node, place.negated != (compare == Compare::kNotEqual)};
  const Token& token = sum[0].token;
  if (column.type == FieldType::kText) {
    if (!equality) throw ParseError{"texts have no order", token.position};
    if (sum.size() != 1 || sum[0].sign < 0) throw ParseError{"no arithmetic with a field of type text", token.position};
    return FromTexts(column, {TextLiteral(token)}, equal);
  }
  if (equality) {
    const size_t slash =
        token.kind == Token::Kind::kWord && IsAddress(column) ? token.text.find('/') : std::string::npos;
    const bool is_prefix = slash != std::string::npos && sum.size() == 1 && sum[0].sign > 0;
    return FromValues(column, {is_prefix ? Prefix(column, token, slash) : ParseValue(column, sum)}, equal);
  }
  Values value = ParseValue(column, sum);
  const bool below = compare == Compare::kLess || compare == Compare::kLessEqual;
  const bool with = compare == Compare::kLessEqual || compare == Compare::kGreaterEqual;
  const bool wide = !column.keyed();
  if (wide) {
    // Strictly below is not (at or above), and vice versa.
    const std::string least(column.bytes, '\0'), greatest(column.bytes, '\xff');
    const bool up = below != with;
    return FromValues(column, {up ? Values{0, 0, value.wide_low, greatest} : Values{0, 0, least, value.wide_low}},
                      {place.node, place.negated != !with});
  }
  const uint64_t least = column.is_float() ? FloatInfinityKey(column, true) : 0;
  const uint64_t most = column.is_float() ? FloatInfinityKey(column, false) : column.max_key();
  if ((below && !with && value.low == least) || (!below && !with && value.low == most))
    return FromValues(column, {}, place);
  const Values range = below ? Values{least, with ? value.low : value.low - 1, {}, {}}
                             : Values{with ? value.low : value.low + 1, most, {}, {}};
  return FromValues(column, {range}, place);
}

uint64_t Binder::FloatInfinityKey(const Column& column, bool negative) {
  const double infinity = negative ? -HUGE_VAL : HUGE_VAL;
  return column.type == FieldType::kF64 ? FloatKey(infinity) : FloatKey32(static_cast<float>(infinity));
}

}  // namespace tapline::conditions
