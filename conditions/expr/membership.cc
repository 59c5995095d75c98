// field in …, like …, contains …: sets, ranges, prefixes and wildcards become ranges of keys, or of bytes.
#include <algorithm>
#include <charconv>

#include "conditions/expr/binder.h"

namespace tapline::conditions {

Node Binder::FromValues(const Column& column, const std::vector<Values>& values, const Place& place) {
  Leaf leaf;
  leaf.column = column;
  if (column.keyed()) {
    for (const Values& value : values) leaf.ranges.push_back({value.low, value.high});
    leaf.ranges = Union(std::move(leaf.ranges));
    // A mask of the key's width, so that its complement stays within it.
    leaf.mask = ~uint64_t{0};
    return LeafNode(std::move(leaf), place);
  }
  std::vector<Node> parts;
  for (const Values& value : values) {
    Leaf wide;
    wide.kind = Leaf::Kind::kWide;
    wide.column = column;
    wide.low = value.wide_low;
    wide.high = value.wide_high;
    wide.wide_mask.assign(column.bytes, '\xff');
    parts.push_back(LeafNode(std::move(wide), place));
  }
  return Join(place.negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Node Binder::FromTexts(const Column& column, std::vector<std::string> texts, const Place& place) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::kText;
  leaf.column = column;
  leaf.texts = std::move(texts);
  return LeafNode(std::move(leaf), place);
}

std::string Binder::TextLiteral(const Token& token) {
  if (token.kind != Token::Kind::kText) throw ParseError{"texts are written \"text\"", token.position};
  return std::string(token.text);
}

Values Binder::ValuesOf(const Column& column, const Tree::Range& range) {
  const Operand low = OperandOf(range.low());
  if (low.token.kind == Token::Kind::kWord && IsAddress(column) && !range.has_high()) {
    if (const size_t slash = low.token.text.find('/'); slash != std::string_view::npos)
      return Prefix(column, low.token, slash);
  }
  const Values first = ParseValue(column, {low});
  if (!range.has_high()) return first;
  return Ordered(column, first, ParseValue(column, {OperandOf(range.high())}), low.token.position);
}

Values Binder::Ordered(const Column& column, const Values& low, const Values& high, size_t position) {
  if (column.keyed() ? low.low > high.low : low.wide_low > high.wide_low)
    throw ParseError{"the range ends before it begins", position};
  return {low.low, high.low, low.wide_low, high.wide_low};
}

Values Binder::Prefix(const Column& column, const Token& token, size_t slash) {
  const std::string address = ParseAddress(column, token.text.substr(0, slash), token.position);
  const uint32_t begin = column.type == FieldType::kAddress ? 1 : 0;
  const auto most = static_cast<uint32_t>(begin == 0 ? address.size() * 8 : BitsOfAddress(address));
  const std::string_view digits = token.text.substr(slash + 1);
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits > most)
    throw ParseError{"a prefix has 0 to " + std::to_string(most) + " bits", token.position + slash + 1};
  std::string low = address, high = address;
  for (uint32_t i = bits; i < most; ++i) {
    const auto bit = static_cast<uint8_t>(0x80u >> i % 8);
    char& low_byte = low[begin + i / 8];
    char& high_byte = high[begin + i / 8];
    low_byte = static_cast<char>(static_cast<uint8_t>(low_byte) & ~bit);
    high_byte = static_cast<char>(static_cast<uint8_t>(high_byte) | bit);
  }
  return OfBytes(column, low, high);
}

Node Binder::Membership(const Tree::Membership& membership, const Place& place) {
  Column column;
  const Field& field = FieldOf(membership.field(), &column);
  const bool is_list = field.spec.elements > 1 && !membership.field().has_element();
  if (is_list && !membership.any_element())
    throw ParseError{field.spec.name + " is a list: " + field.spec.name + "[0] or " + field.spec.name + " contains …",
                     membership.field().at()};
  if (membership.has_pattern()) return Like(column, TokenOf(membership.pattern()), place);
  if (membership.ranges_size() > static_cast<int>(Expression::kMaxLeaves))
    throw ParseError{"more than 4096 values", place.node.at()};
  if (!membership.any_element()) return In(column, membership, place);
  std::vector<Node> parts;
  for (uint32_t i = 0; i < field.spec.elements; ++i) parts.push_back(In(field.element(i), membership, place));
  return Join(place.negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Node Binder::In(const Column& column, const Tree::Membership& membership, const Place& place) {
  if (membership.ranges_size() == 0) throw ParseError{"expected values", place.node.at()};
  if (column.type == FieldType::kText) {
    std::vector<std::string> texts;
    for (const Tree::Range& range : membership.ranges()) {
      if (range.has_high()) throw ParseError{"texts have no order", range.high().at()};
      texts.push_back(TextLiteral(TokenOf(range.low())));
    }
    return FromTexts(column, std::move(texts), place);
  }
  std::vector<Values> values;
  for (const Tree::Range& range : membership.ranges()) values.push_back(ValuesOf(column, range));
  return FromValues(column, values, place);
}

Node Binder::Like(const Column& column, const Token& token, const Place& place) {
  if (!IsAddress(column)) throw ParseError{"'like' is for addresses", token.position};
  const bool either = column.type == FieldType::kAddress;
  const bool is_v4 = either ? token.text.find(':') == std::string_view::npos : column.type == FieldType::kIpv4;
  const bool is_mac = column.type == FieldType::kMac;
  const char separator = is_v4 ? '.' : ':';
  const uint32_t part_bytes = is_v4 || is_mac ? 1 : 2;
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
  if (low.size() != (is_v4 ? 4u : is_mac ? 6u : 16u))
    throw ParseError{"a pattern has as many parts as an address", token.position};
  if (either) {
    low = AddressBytes(low);
    mask = '\xff' + mask + std::string(kAddressBytes - 1 - mask.size(), '\xff');
  }
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
  return LeafNode(std::move(leaf), place);
}

}  // namespace tapline::conditions
