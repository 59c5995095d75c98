// field in …, like …, contains …: sets, ranges, prefixes and wildcards become ranges of keys, or of bytes.
#include <algorithm>
#include <charconv>

#include "multilog/expr/parser.h"

namespace tapline::multilog {

Node Parser::FromValues(const Column& column, const std::vector<Values>& values, bool negated, size_t begin) {
  Leaf leaf;
  leaf.column = column;
  if (column.keyed()) {
    for (const Values& value : values) leaf.ranges.push_back({value.low, value.high});
    leaf.ranges = Union(std::move(leaf.ranges));
    // A mask of the key's width, so that its complement stays within it.
    leaf.mask = ~uint64_t{0};
    return LeafNode(std::move(leaf), negated, begin);
  }
  std::vector<Node> parts;
  for (const Values& value : values) {
    Leaf wide;
    wide.kind = Leaf::Kind::kWide;
    wide.column = column;
    wide.low = value.wide_low;
    wide.high = value.wide_high;
    wide.wide_mask.assign(column.bytes, '\xff');
    parts.push_back(LeafNode(std::move(wide), negated, begin));
  }
  return Join(negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Values Parser::Element(const Column& column) {
  const Token& first = Peek();
  if (first.kind == Token::Kind::kWord && IsAddress(column)) {
    if (const size_t slash = first.text.find('/'); slash != std::string_view::npos)
      return Prefix(column, Take(), slash);
  }
  const Values low = ParseValue(column, LiteralSum());
  if (!Accept("..")) return low;
  return Ordered(column, low, ParseValue(column, LiteralSum()), first.position);
}

std::vector<Parser::Operand> Parser::LiteralSum() {
  Operand operand;
  operand.sign = Accept("-") ? -1 : 1;
  operand.literal = Take();
  if (operand.literal.kind == Token::Kind::kSymbol || operand.literal.kind == Token::Kind::kEnd)
    throw ParseError{"expected a value", operand.literal.position};
  return {operand};
}

Values Parser::Ordered(const Column& column, const Values& low, const Values& high, size_t position) {
  if (column.keyed() ? low.low > high.low : low.wide_low > high.wide_low)
    throw ParseError{"the range ends before it begins", position};
  return {low.low, high.low, low.wide_low, high.wide_low};
}

Values Parser::Prefix(const Column& column, const Token& token, size_t slash) {
  const std::string address = ParseAddress(column, token.text.substr(0, slash), token.position);
  const std::string_view digits = token.text.substr(slash + 1);
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits > column.bytes * 8)
    throw ParseError{"a prefix has 0 to " + std::to_string(column.bytes * 8) + " bits", token.position + slash + 1};
  std::string low = address, high = address;
  for (uint32_t i = bits; i < column.bytes * 8; ++i) {
    const auto bit = static_cast<uint8_t>(0x80u >> i % 8);
    low[i / 8] = static_cast<char>(static_cast<uint8_t>(low[i / 8]) & ~bit);
    high[i / 8] = static_cast<char>(static_cast<uint8_t>(high[i / 8]) | bit);
  }
  return OfBytes(column, low, high);
}

std::vector<Values> Parser::Set(const Column& column) {
  std::vector<Values> values;
  if (Accept("[")) {
    const size_t position = Peek().position;
    const Values low = ParseValue(column, LiteralSum());
    Expect(",");
    values.push_back(Ordered(column, low, ParseValue(column, LiteralSum()), position));
    Expect("]");
  } else if (Accept("{")) {
    do {
      values.push_back(Element(column));
      if (values.size() > Expression::kMaxLeaves) throw ParseError{"more than 4096 values", Peek().position};
    } while (Accept(","));
    Expect("}");
  } else {
    values.push_back(Element(column));
  }
  return values;
}

Node Parser::In(const Operand& operand, bool negated, size_t begin) {
  if (operand.field->spec.elements > 1 && Peek().kind == Token::Kind::kEnd)
    throw ParseError{"expected values", Peek().position};
  return FromValues(operand.column, Set(operand.column), negated, begin);
}

Node Parser::ContainsValue(const Operand& operand, bool negated, size_t begin) {
  const std::vector<Values> values = Set(operand.field->column);
  std::vector<Node> parts;
  for (uint32_t i = 0; i < operand.field->spec.elements; ++i)
    parts.push_back(FromValues(operand.field->element(i), values, negated, begin));
  return Join(negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Node Parser::Like(const Column& column, bool negated, size_t begin) {
  const Token token = Take();
  if (!IsAddress(column)) throw ParseError{"'like' is for addresses", token.position};
  const char separator = column.type == FieldType::kIpv4 ? '.' : ':';
  const uint32_t part_bytes = column.type == FieldType::kIpv6 ? 2 : 1;
  std::string low, mask;
  for (size_t at = 0; at <= token.text.size();) {
    const size_t end = std::min(token.text.find(separator, at), token.text.size());
    const std::string_view part = token.text.substr(at, end - at);
    unsigned value = 0;
    if (part != "*") {
      const auto [rest, error] =
          std::from_chars(part.data(), part.data() + part.size(), value, separator == '.' ? 10 : 16);
      if (error != std::errc() || rest != part.data() + part.size() || value >> (8 * part_bytes) != 0)
        throw ParseError{Quoted(part) + " is neither a part of an address nor *", token.position + at};
    }
    for (uint32_t i = part_bytes; i-- > 0;) {
      low.push_back(static_cast<char>(value >> (8 * i)));
      mask.push_back(part == "*" ? '\0' : '\xff');
    }
    at = end + 1;
  }
  if (low.size() != column.bytes) throw ParseError{"a pattern has as many parts as an address", token.position};
  Leaf leaf;
  leaf.column = column;
  if (column.keyed()) {
    leaf.mask = KeyOfBytes(mask);
    leaf.ranges = {{KeyOfBytes(low), KeyOfBytes(low)}};
  } else {
    leaf.kind = Leaf::Kind::kWide;
    leaf.low = leaf.high = low;
    leaf.wide_mask = mask;
  }
  return LeafNode(std::move(leaf), negated, begin);
}

}  // namespace tapline::multilog
