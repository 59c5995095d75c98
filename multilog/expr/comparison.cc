// sum < sum, where a sum is of fields, aggregates and literals: the leaf it becomes depends on its operands.
#include <algorithm>
#include <cmath>

#include "multilog/expr/parser.h"

namespace tapline::multilog {

std::optional<Compare> Parser::AsCompare(std::string_view text) {
  constexpr std::pair<std::string_view, Compare> kSymbols[] = {
      {"==", Compare::kEqual},     {"=", Compare::kEqual},   {"!=", Compare::kNotEqual},    {"<", Compare::kLess},
      {"<=", Compare::kLessEqual}, {">", Compare::kGreater}, {">=", Compare::kGreaterEqual}};
  for (const auto& [symbol, compare] : kSymbols) {
    if (symbol == text) return compare;
  }
  return std::nullopt;
}

bool Parser::Compares(const Token& token) {
  return token.kind == Token::Kind::kSymbol && (AsCompare(token.text) || token.text == "+" || token.text == "-");
}

Node Parser::Comparison(bool negated) {
  const size_t begin = Peek().position;
  std::vector<Operand> left = Sum();
  const bool not_before =
      Peek().text == "not" && (Peek(1).text == "in" || Peek(1).text == "like" || Peek(1).text == "contains");
  if (not_before) Take();
  const Token op = Peek();
  if (op.kind == Token::Kind::kWord && (op.text == "in" || op.text == "like" || op.text == "contains")) {
    Take();
    const bool negate = negated != not_before;
    if (left.size() != 1 || left[0].field == nullptr || left[0].sign < 0)
      throw ParseError{"'" + std::string(op.text) + "' wants a single field before it", begin};
    if (op.text == "in") return In(left[0], negate, begin);
    if (op.text == "like") return Like(left[0].column, negate, begin);
    return ContainsValue(left[0], negate, begin);
  }
  const auto compare = op.kind == Token::Kind::kSymbol ? AsCompare(op.text) : std::nullopt;
  if (!compare) {
    if (left.size() == 1 && left[0].is_literal() && op.kind == Token::Kind::kEnd &&
        !IsDigit(left[0].literal.text.empty() ? '0' : left[0].literal.text[0]))
      throw ParseError{"unknown field " + Quoted(left[0].literal.text), left[0].literal.position};
    throw ParseError{op.kind == Token::Kind::kEnd ? "expected a comparison before the end"
                                                  : "expected a comparison instead of " + Quoted(op.text),
                     op.position};
  }
  Take();
  return Compared(std::move(left), *compare, Sum(), negated, begin);
}

Compare Parser::Mirrored(Compare compare) {
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

bool Parser::AllLiteral(const std::vector<Operand>& sum) {
  return std::all_of(sum.begin(), sum.end(), [](const Operand& operand) { return operand.is_literal(); });
}

bool Parser::IsOneField(const std::vector<Operand>& sum) {
  return sum.size() == 1 && sum[0].field != nullptr && sum[0].sign > 0;
}

Node Parser::Compared(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool negated,
                      size_t begin) {
  if (AllLiteral(left) && AllLiteral(right)) {
    for (const Operand& operand : left) {
      if (operand.literal.kind == Token::Kind::kWord && !IsDigit(operand.literal.text[0]))
        throw ParseError{"unknown field " + Quoted(operand.literal.text), operand.literal.position};
    }
    throw ParseError{"a comparison needs a field", begin};
  }
  if (AllLiteral(left)) return Compared(std::move(right), Mirrored(compare), std::move(left), negated, begin);
  if (IsOneField(left) && AllLiteral(right)) return WithLiteral(left[0].column, compare, right, negated, begin);
  if (IsOneField(left) && IsOneField(right)) {
    const Column &a = left[0].column, &b = right[0].column;
    if (!a.is_number() || !b.is_number()) {
      if (a.type != b.type || a.bytes != b.bytes)
        throw ParseError{"can't compare " + std::string(NameOf(a.type)) + " with " + std::string(NameOf(b.type)),
                         right[0].literal.position};
      if (a.type != FieldType::kIpv4) return Pair(a, compare, b, negated, begin);
    }
    return Linear(std::move(left), compare, std::move(right), negated, begin, true);
  }
  return Linear(std::move(left), compare, std::move(right), negated, begin, false);
}

Node Parser::Pair(const Column& a, Compare compare, const Column& b, bool negated, size_t begin) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::kPair;
  leaf.compare = compare;
  leaf.column = a;
  leaf.other = b;
  return LeafNode(std::move(leaf), negated, begin);
}

Node Parser::Linear(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool negated, size_t begin,
                    bool any_type) {
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
                         operand.literal.position};
      if (operand.field != nullptr && !anchored) leaf.column = operand.column, anchored = true;
      leaf.terms.push_back({sign, operand.aggregate, operand.column});
    }
  }
  return LeafNode(std::move(leaf), negated, begin);
}

Number Parser::Literal(const Operand& operand) {
  if (operand.literal.kind == Token::Kind::kText) throw ParseError{"a number is wanted here", operand.literal.position};
  return ParseNumber(operand.literal.text, operand.literal.position);
}

void Parser::AddConstant(Number* sum, int sign, const Number& number) {
  if (number.is_float || sum->is_float) {
    *sum = Number::Real(sum->AsDouble() + sign * number.AsDouble());
  } else {
    sum->whole += sign * number.whole;
  }
}

Values Parser::ParseValue(const Column& column, const std::vector<Operand>& sum) {
  const size_t position = sum[0].literal.position;
  if (IsAddress(column) || column.type == FieldType::kBytes) {
    if (sum.size() != 1 || sum[0].sign < 0)
      throw ParseError{"no arithmetic with a field of type " + std::string(NameOf(column.type)), position};
    const std::string bytes =
        IsAddress(column) ? ParseAddress(column, sum[0].literal.text, position) : ParseBytes(column, sum[0].literal);
    return OfBytes(column, bytes, bytes);
  }
  Number number = Number::Whole(0);
  for (const Operand& operand : sum) AddConstant(&number, operand.sign, Literal(operand));
  const uint64_t key = KeyOfNumber(column, number, position);
  return {key, key, {}, {}};
}

Node Parser::WithLiteral(const Column& column, Compare compare, const std::vector<Operand>& sum, bool negated,
                         size_t begin) {
  if (compare == Compare::kEqual || compare == Compare::kNotEqual) {
    const bool negate = negated != (compare == Compare::kNotEqual);
    return FromValues(column, {ParseValue(column, sum)}, negate, begin);
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
                      negated != !with, begin);
  }
  const uint64_t least = column.is_float() ? FloatInfinityKey(column, true) : 0;
  const uint64_t most = column.is_float() ? FloatInfinityKey(column, false) : column.max_key();
  if ((below && !with && value.low == least) || (!below && !with && value.low == most))
    return FromValues(column, {}, negated, begin);
  const Values range = below ? Values{least, with ? value.low : value.low - 1, {}, {}}
                             : Values{with ? value.low : value.low + 1, most, {}, {}};
  return FromValues(column, {range}, negated, begin);
}

uint64_t Parser::FloatInfinityKey(const Column& column, bool negative) {
  const double infinity = negative ? -HUGE_VAL : HUGE_VAL;
  return column.type == FieldType::kF64 ? FloatKey(infinity) : FloatKey32(static_cast<float>(infinity));
}

}  // namespace tapline::multilog
