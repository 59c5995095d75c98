// Compiles `field in …`, `like …` and `contains …`: sets, ranges, prefixes and wildcards become ranges of keys or
// bytes.
#include <algorithm>
#include <charconv>

#include "conditions/expr/binder.h"

namespace tapline::conditions {

Node Binder::from_values(const Column& column, const std::vector<Values>& values, const Place& place) {
  Leaf leaf;
  leaf.column = column;
  if (column.keyed()) {
    for (const Values& value : values) leaf.ranges.push_back({value.low, value.high});
    leaf.ranges = union_of(std::move(leaf.ranges));
    // All bits are compared; leaf_node limits the complement to the key's width.
    leaf.mask = ~uint64_t{0};
    return leaf_node(std::move(leaf), place);
  }
  std::vector<Node> parts;
  for (const Values& value : values) {
    Leaf wide;
    wide.kind = Leaf::Kind::kWide;
    wide.column = column;
    wide.low = value.wide_low;
    wide.high = value.wide_high;
    wide.wide_mask.assign(column.bytes, '\xff');
    parts.push_back(leaf_node(std::move(wide), place));
  }
  return join(place.negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Node Binder::from_texts(const Column& column, std::vector<std::string> texts, const Place& place) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::kText;
  leaf.column = column;
  leaf.texts = std::move(texts);
  return leaf_node(std::move(leaf), place);
}

std::string Binder::text_literal(const Token& token) {
  if (token.kind != Token::Kind::kText) throw ParseError{"write strings in double quotes: \"text\"", token.position};
  return std::string(token.text);
}

Values Binder::values_of(const Column& column, const Tree::Range& range) {
  const Operand low = operand_of(range.low());
  if (low.token.kind == Token::Kind::kWord && is_address(column) && !range.has_high()) {
    if (const size_t slash = low.token.text.find('/'); slash != std::string_view::npos)
      return prefix(column, low.token, slash);
  }
  const Values first = parse_value(column, {low});
  if (!range.has_high()) return first;
  return ordered(column, first, parse_value(column, {operand_of(range.high())}), low.token.position);
}

Values Binder::ordered(const Column& column, const Values& low, const Values& high, size_t position) {
  if (column.keyed() ? low.low > high.low : low.wide_low > high.wide_low)
    throw ParseError{"the range ends before it begins", position};
  return {low.low, high.low, low.wide_low, high.wide_low};
}

Values Binder::prefix(const Column& column, const Token& token, size_t slash) {
  const std::string address = parse_address(column, token.text.substr(0, slash), token.position);
  const uint32_t begin = column.type == FieldType::kAddress ? 1 : 0;
  const auto max = static_cast<uint32_t>(begin == 0 ? address.size() * 8 : bits_of_address(address));
  const std::string_view digits = token.text.substr(slash + 1);
  uint32_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits > max)
    throw ParseError{"a prefix length must be 0 to " + std::to_string(max), token.position + slash + 1};
  std::string low = address, high = address;
  for (uint32_t i = bits; i < max; ++i) {
    const auto bit = static_cast<uint8_t>(0x80u >> i % 8);
    char& low_byte = low[begin + i / 8];
    char& high_byte = high[begin + i / 8];
    low_byte = static_cast<char>(static_cast<uint8_t>(low_byte) & ~bit);
    high_byte = static_cast<char>(static_cast<uint8_t>(high_byte) | bit);
  }
  return of_bytes(column, low, high);
}

Node Binder::membership(const Tree::Membership& membership, const Place& place) {
  Column column;
  const Field& field = field_of(membership.field(), &column);
  const bool is_list = field.spec.elements > 1 && !membership.field().has_element();
  if (is_list && !membership.any_element())
    throw ParseError{
        field.spec.name + " is a list; use " + field.spec.name + "[0] or " + field.spec.name + " contains …",
        membership.field().at()};
  if (membership.has_pattern()) return like(column, token_of(membership.pattern()), place);
  if (membership.ranges_size() > static_cast<int>(Expression::kMaxLeaves))
    throw ParseError{"more than 4096 values", place.node.at()};
  if (!membership.any_element()) return in(column, membership, place);
  std::vector<Node> parts;
  for (uint32_t i = 0; i < field.spec.elements; ++i) parts.push_back(in(field.element(i), membership, place));
  return join(place.negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
}

Node Binder::in(const Column& column, const Tree::Membership& membership, const Place& place) {
  if (membership.ranges_size() == 0) throw ParseError{"expected values", place.node.at()};
  if (column.type == FieldType::kText) {
    std::vector<std::string> texts;
    for (const Tree::Range& range : membership.ranges()) {
      if (range.has_high()) throw ParseError{"strings can't be in a range", range.high().at()};
      texts.push_back(text_literal(token_of(range.low())));
    }
    return from_texts(column, std::move(texts), place);
  }
  std::vector<Values> values;
  for (const Tree::Range& range : membership.ranges()) values.push_back(values_of(column, range));
  return from_values(column, values, place);
}

Node Binder::like(const Column& column, const Token& token, const Place& place) {
  if (!is_address(column)) throw ParseError{"'like' applies only to addresses", token.position};
  const bool either = column.type == FieldType::kAddress;
  const bool is_v4 = either ? token.text.find(':') == std::string_view::npos : column.type == FieldType::kIpv4;
  const bool is_mac = column.type == FieldType::kMac;
  const char separator = is_v4 ? '.' : ':';
  const uint32_t part_bytes = is_v4 || is_mac ? 1 : 2;
  std::string low, mask;
  for (size_t position = 0; position <= token.text.size();) {
    const size_t end = std::min(token.text.find(separator, position), token.text.size());
    const std::string_view part = token.text.substr(position, end - position);
    unsigned value = 0;
    if (part != "*") {
      const auto [rest, error] =
          std::from_chars(part.data(), part.data() + part.size(), value, separator == '.' ? 10 : 16);
      if (error != std::errc() || rest != part.data() + part.size() || value >> (8 * part_bytes) != 0)
        throw ParseError{quoted(part) + " is neither a part of an address nor *", token.position + position};
    }
    for (uint32_t i = part_bytes; i-- > 0;) {
      low.push_back(static_cast<char>(value >> (8 * i)));
      mask.push_back(part == "*" ? '\0' : '\xff');
    }
    position = end + 1;
  }
  if (low.size() != (is_v4 ? 4u : is_mac ? 6u : 16u))
    throw ParseError{"a pattern must have as many parts as an address", token.position};
  if (either) {
    low = address_bytes(low);
    mask = '\xff' + mask + std::string(kAddressBytes - 1 - mask.size(), '\xff');
  }
  Leaf leaf;
  leaf.column = column;
  if (column.keyed()) {
    leaf.mask = key_of_bytes(mask);
    leaf.ranges = {{key_of_bytes(low), key_of_bytes(low)}};
  } else {
    leaf.kind = Leaf::Kind::kWide;
    leaf.low = leaf.high = low;
    leaf.wide_mask = mask;
  }
  return leaf_node(std::move(leaf), place);
}

}  // namespace tapline::conditions
