// Text to Expression, by recursive descent: Parser reads, Literals gives words their meaning by the field beside them.
#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "multilog/expr/expression.h"

namespace tapline::multilog {
namespace {

struct Error {
  std::string message;
  size_t position;
};

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kSymbol, kText };
  Kind kind = Kind::kEnd;
  std::string_view text;
  size_t position = 0;
};

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == ':' || c == '*' || c == '/' || c == '%';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::vector<Token> Tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++i;
    } else if (text.substr(i, 2) == "..") {
      tokens.push_back({Token::Kind::kSymbol, text.substr(begin, 2), begin});
      i += 2;
    } else if (IsWordByte(c)) {
      while (i < text.size() && IsWordByte(text[i]) && text.substr(i, 2) != "..") ++i;
      tokens.push_back({Token::Kind::kWord, text.substr(begin, i - begin), begin});
    } else if (c == '"') {
      const size_t end = text.find('"', i + 1);
      if (end == std::string_view::npos) throw Error{"a quoted text without its end", begin};
      tokens.push_back({Token::Kind::kText, text.substr(begin + 1, end - begin - 1), begin});
      i = end + 1;
    } else {
      const std::string_view pair = text.substr(i, 2);
      const bool two = pair == "==" || pair == "!=" || pair == "<=" || pair == ">=" || pair == "&&" || pair == "||";
      if (!two && std::string_view("=<>!()[]{},+-").find(c) == std::string_view::npos)
        throw Error{"unexpected character", begin};
      i += two ? 2 : 1;
      tokens.push_back({Token::Kind::kSymbol, text.substr(begin, i - begin), begin});
    }
  }
  tokens.push_back({Token::Kind::kEnd, {}, text.size()});
  return tokens;
}

std::string Quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 40)) + (text.size() > 40 ? "…'" : "'");
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kUnits[] = {{"B", 1},      {"KB", 1e3},      {"MB", 1e6},      {"GB", 1e9},  {"TB", 1e12},
                           {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"ns", 1},    {"us", 1e3},
                           {"ms", 1e6},   {"s", 1e9},       {"m", 60e9},      {"h", 3600e9}};

// "100", "0x1f", "1.5GB", "10ms", TCP, true.
Number ParseNumber(std::string_view word, size_t position) {
  constexpr std::pair<std::string_view, int> kNames[] = {{"true", 1}, {"false", 0}, {"TCP", 6},  {"tcp", 6},
                                                         {"UDP", 17}, {"udp", 17},  {"ICMP", 1}, {"icmp", 1}};
  for (const auto& [name, value] : kNames) {
    if (word == name) return Number::Whole(value);
  }
  if (word.starts_with("0x") || word.starts_with("0X")) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
    if (error != std::errc() || end != word.data() + word.size()) throw Error{Quoted(word) + " is no number", position};
    return Number::Whole(value);
  }
  size_t digits = 0;
  while (digits < word.size() && (IsDigit(word[digits]) || word[digits] == '.')) ++digits;
  std::string_view number = word.substr(0, digits), unit = word.substr(digits);
  double factor = 1;
  if (!unit.empty()) {
    const Unit* found =
        std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& u) { return u.name == unit; });
    if (digits == 0) throw Error{"unknown field or number " + Quoted(word), position};
    if (found == std::end(kUnits)) throw Error{"unknown unit " + Quoted(unit), position + digits};
    factor = found->factor;
  }
  if (number.find('.') == std::string_view::npos) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size())
      throw Error{Quoted(word) + " is no number that fits 64 bits", position};
    return Number::Whole(static_cast<__int128>(value) * static_cast<int64_t>(factor));
  }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size())
    throw Error{Quoted(word) + " is no number", position};
  value *= factor;
  if (value == std::floor(value) && value < 1e18 && factor != 1) return Number::Whole(static_cast<int64_t>(value));
  return Number::Real(value);
}

// The bytes, in network order, of one address of the column's type.
std::string ParseAddress(const Column& column, std::string_view word, size_t position) {
  const std::string text(word);
  std::string bytes(column.bytes, '\0');
  if (column.type == FieldType::kMac) {
    unsigned part[6];
    char rest;
    if (text.size() != 17 || std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%c", &part[0], &part[1], &part[2],
                                         &part[3], &part[4], &part[5], &rest) != 6)
      throw Error{Quoted(word) + " is no MAC address", position};
    for (int i = 0; i < 6; ++i) bytes[i] = static_cast<char>(part[i]);
  } else if (inet_pton(column.type == FieldType::kIpv6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) {
    throw Error{Quoted(word) + (column.type == FieldType::kIpv6 ? " is no IPv6 address" : " is no IPv4 address"),
                position};
  }
  return bytes;
}

bool IsAddress(const Column& column) {
  return column.type == FieldType::kIpv4 || column.type == FieldType::kIpv6 || column.type == FieldType::kMac;
}

std::string ParseBytes(const Column& column, const Token& token) {
  std::string bytes;
  if (token.kind == Token::Kind::kText) {
    bytes = token.text;
  } else {
    if (!token.text.starts_with("0x") || token.text.size() % 2 != 0)
      throw Error{"bytes are written \"text\" or 0x and an even number of digits", token.position};
    for (size_t i = 2; i < token.text.size(); i += 2) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(token.text.data() + i, token.text.data() + i + 2, value, 16);
      if (error != std::errc() || end != token.text.data() + i + 2)
        throw Error{Quoted(token.text) + " isn't hexadecimal", token.position};
      bytes.push_back(static_cast<char>(value));
    }
  }
  if (bytes.size() > column.bytes)
    throw Error{"longer than the field's " + std::to_string(column.bytes) + " bytes", token.position};
  bytes.resize(column.bytes);
  return bytes;
}

uint64_t KeyOfBytes(const std::string& bytes) {
  uint64_t key = 0;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i) key = key << 8 | static_cast<uint8_t>(bytes[i]);
  return key;
}

// A range of values of a column, as keys or as bytes.
struct Values {
  uint64_t low = 0, high = 0;
  std::string wide_low, wide_high;
};

Values OfBytes(const Column& column, const std::string& low, const std::string& high) {
  if (column.keyed()) return {KeyOfBytes(low), KeyOfBytes(high), {}, {}};
  return {0, 0, low, high};
}

uint64_t KeyOfNumber(const Column& column, const Number& number, size_t position) {
  if (column.type == FieldType::kF64) return FloatKey(number.AsDouble());
  if (column.type == FieldType::kF32) return FloatKey32(static_cast<float>(number.AsDouble()));
  if (number.is_float) throw Error{"a whole number is wanted here", position};
  if (number.whole < LeastOf(column) || number.whole > GreatestOf(column))
    throw Error{"out of range for a field of type " + std::string(NameOf(column.type)), position};
  return KeyOfInteger(column, number.whole);
}

}  // namespace

class Parser {
 public:
  Parser(std::string_view text, const Schema& schema, const Expression::Resolver& resolve, Expression* out)
      : text_(text), schema_(schema), resolve_(resolve), out_(out) {}

  void Run() {
    out_->text_ = text_;
    if (text_.size() > Expression::kMaxBytes) throw Error{"longer than 64 KiB", Expression::kMaxBytes};
    tokens_ = Tokens(text_);
    if (Peek().kind != Token::Kind::kEnd) out_->root_ = Or(false);
    if (Peek().kind != Token::Kind::kEnd) throw Error{"unexpected " + Quoted(Peek().text), Peek().position};
  }

 private:
  struct Operand {
    int sign = 1;
    const Field* field = nullptr;
    Column column;
    std::optional<AggregateRef> aggregate;
    Token literal;
    bool is_literal() const { return field == nullptr && !aggregate; }
  };

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  const Token& Take() {
    const Token& token = Peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  bool Accept(std::string_view symbol) {
    if (Peek().kind == Token::Kind::kText || Peek().text != symbol) return false;
    Take();
    return true;
  }
  void Expect(std::string_view symbol) {
    if (!Accept(symbol))
      throw Error{"expected '" + std::string(symbol) + "'" +
                      (Peek().kind == Token::Kind::kEnd ? " before the end" : " instead of " + Quoted(Peek().text)),
                  Peek().position};
  }

  // Guards the stack against deep nesting.
  struct Deeper {
    explicit Deeper(Parser* parser) : parser_(parser) {
      if (++parser_->depth_ > Expression::kMaxDepth) throw Error{"nested too deeply", parser_->Peek().position};
    }
    ~Deeper() { --parser_->depth_; }
    Parser* parser_;
  };

  static Node Join(Node::Kind kind, std::vector<Node> children) {
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

  // `negated`: what is read stands under an odd number of negations; then and is or, and leaves are their opposites.
  Node Or(bool negated) {
    std::vector<Node> parts;
    do parts.push_back(And(negated));
    while (Accept("||") || Accept("or"));
    return Join(negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
  }
  Node And(bool negated) {
    std::vector<Node> parts;
    do parts.push_back(Unary(negated));
    while (Accept("&&") || Accept("and"));
    return Join(negated ? Node::Kind::kOr : Node::Kind::kAnd, std::move(parts));
  }
  Node Unary(bool negated) {
    const Deeper deeper(this);
    if (Accept("!") || Accept("not")) return Unary(!negated);
    if (Accept("(")) {
      Node node = Or(negated);
      Expect(")");
      return node;
    }
    if (Peek().text == "has" && Peek(1).text == "(") return Has(negated);
    if ((Peek().text == "true" || Peek().text == "false") && !Compares(Peek(1))) {
      Node node;
      node.kind = (Take().text == "true") != negated ? Node::Kind::kTrue : Node::Kind::kFalse;
      return node;
    }
    return Comparison(negated);
  }

  static std::optional<Compare> AsCompare(std::string_view text) {
    constexpr std::pair<std::string_view, Compare> kSymbols[] = {
        {"==", Compare::kEqual},     {"=", Compare::kEqual},   {"!=", Compare::kNotEqual},    {"<", Compare::kLess},
        {"<=", Compare::kLessEqual}, {">", Compare::kGreater}, {">=", Compare::kGreaterEqual}};
    for (const auto& [symbol, compare] : kSymbols) {
      if (symbol == text) return compare;
    }
    return std::nullopt;
  }
  static bool Compares(const Token& token) {
    return token.kind == Token::Kind::kSymbol && (AsCompare(token.text) || token.text == "+" || token.text == "-");
  }

  Node LeafNode(Leaf leaf, bool negated, size_t begin) {
    if (out_->leaves_.size() >= Expression::kMaxLeaves) throw Error{"more than 4096 comparisons", begin};
    const size_t end = next_ > 0 ? tokens_[next_ - 1].position + tokens_[next_ - 1].text.size() : begin;
    leaf.text = text_.substr(begin, std::max(end, begin) - begin);
    if (negated) {
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

  Node Has(bool negated) {
    const size_t begin = Take().position;
    Expect("(");
    Leaf leaf;
    leaf.kind = Leaf::Kind::kPresent;
    leaf.column = FieldNamed(Take()).column;
    Expect(")");
    return LeafNode(std::move(leaf), negated, begin);
  }

  const Field& FieldNamed(const Token& token) {
    const Field* field = token.kind == Token::Kind::kWord ? schema_.Find(token.text) : nullptr;
    if (field == nullptr) throw Error{"unknown field " + Quoted(token.text), token.position};
    return *field;
  }

  Operand OneOperand() {
    const Token& token = Take();
    if (token.kind == Token::Kind::kEnd) throw Error{"expected a field or a value before the end", token.position};
    if (token.kind == Token::Kind::kSymbol)
      throw Error{"expected a field or a value instead of " + Quoted(token.text), token.position};
    Operand operand;
    operand.literal = token;
    if (token.kind == Token::Kind::kText) return operand;
    operand.field = schema_.Find(token.text);
    if (operand.field == nullptr) {
      if (resolve_) operand.aggregate = resolve_(token.text);
      return operand;
    }
    operand.column = operand.field->column;
    if (Accept("[")) {
      const Token& index = Take();
      const Number number = ParseNumber(index.text, index.position);
      if (number.is_float || number.whole < 0 || number.whole >= operand.field->spec.elements)
        throw Error{
            "field " + operand.field->spec.name + " has " + std::to_string(operand.field->spec.elements) + " elements",
            index.position};
      operand.column = operand.field->element(static_cast<uint32_t>(number.whole));
      Expect("]");
    } else if (operand.field->spec.elements > 1 && Peek().text != "contains" && Peek(1).text != "contains") {
      throw Error{operand.field->spec.name + " is a list: " + operand.field->spec.name + "[0] or " +
                      operand.field->spec.name + " contains …",
                  token.position};
    }
    return operand;
  }

  std::vector<Operand> Sum() {
    std::vector<Operand> operands;
    int sign = Accept("-") ? -1 : 1;
    while (true) {
      operands.push_back(OneOperand());
      operands.back().sign = sign;
      if (operands.size() > 16) throw Error{"more than 16 terms", Peek().position};
      if (Accept("+"))
        sign = 1;
      else if (Accept("-"))
        sign = -1;
      else
        return operands;
    }
  }

  Node Comparison(bool negated) {
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
        throw Error{"'" + std::string(op.text) + "' wants a single field before it", begin};
      if (op.text == "in") return In(left[0], negate, begin);
      if (op.text == "like") return Like(left[0].column, negate, begin);
      return ContainsValue(left[0], negate, begin);
    }
    const auto compare = op.kind == Token::Kind::kSymbol ? AsCompare(op.text) : std::nullopt;
    if (!compare) {
      if (left.size() == 1 && left[0].is_literal() && op.kind == Token::Kind::kEnd &&
          !IsDigit(left[0].literal.text.empty() ? '0' : left[0].literal.text[0]))
        throw Error{"unknown field " + Quoted(left[0].literal.text), left[0].literal.position};
      throw Error{op.kind == Token::Kind::kEnd ? "expected a comparison before the end"
                                               : "expected a comparison instead of " + Quoted(op.text),
                  op.position};
    }
    Take();
    return Compared(std::move(left), *compare, Sum(), negated, begin);
  }

  static Compare Mirrored(Compare compare) {
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
  static bool AllLiteral(const std::vector<Operand>& sum) {
    return std::all_of(sum.begin(), sum.end(), [](const Operand& operand) { return operand.is_literal(); });
  }
  static bool IsOneField(const std::vector<Operand>& sum) {
    return sum.size() == 1 && sum[0].field != nullptr && sum[0].sign > 0;
  }

  Node Compared(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool negated, size_t begin) {
    if (AllLiteral(left) && AllLiteral(right)) {
      for (const Operand& operand : left) {
        if (operand.literal.kind == Token::Kind::kWord && !IsDigit(operand.literal.text[0]))
          throw Error{"unknown field " + Quoted(operand.literal.text), operand.literal.position};
      }
      throw Error{"a comparison needs a field", begin};
    }
    if (AllLiteral(left)) return Compared(std::move(right), Mirrored(compare), std::move(left), negated, begin);
    if (IsOneField(left) && AllLiteral(right)) return WithLiteral(left[0].column, compare, right, negated, begin);
    if (IsOneField(left) && IsOneField(right)) {
      const Column &a = left[0].column, &b = right[0].column;
      if (!a.is_number() || !b.is_number()) {
        if (a.type != b.type || a.bytes != b.bytes)
          throw Error{"can't compare " + std::string(NameOf(a.type)) + " with " + std::string(NameOf(b.type)),
                      right[0].literal.position};
        if (a.type != FieldType::kIpv4) return Pair(a, compare, b, negated, begin);
      }
      return Linear(std::move(left), compare, std::move(right), negated, begin, true);
    }
    return Linear(std::move(left), compare, std::move(right), negated, begin, false);
  }

  Node Pair(const Column& a, Compare compare, const Column& b, bool negated, size_t begin) {
    Leaf leaf;
    leaf.kind = Leaf::Kind::kPair;
    leaf.compare = compare;
    leaf.column = a;
    leaf.other = b;
    return LeafNode(std::move(leaf), negated, begin);
  }

  Node Linear(std::vector<Operand> left, Compare compare, std::vector<Operand> right, bool negated, size_t begin,
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
          throw Error{"no arithmetic with a field of type " + std::string(NameOf(operand.column.type)),
                      operand.literal.position};
        if (operand.field != nullptr && !anchored) leaf.column = operand.column, anchored = true;
        leaf.terms.push_back({sign, operand.aggregate, operand.column});
      }
    }
    return LeafNode(std::move(leaf), negated, begin);
  }

  static Number Literal(const Operand& operand) {
    if (operand.literal.kind == Token::Kind::kText) throw Error{"a number is wanted here", operand.literal.position};
    return ParseNumber(operand.literal.text, operand.literal.position);
  }
  static void AddConstant(Number* sum, int sign, const Number& number) {
    if (number.is_float || sum->is_float) {
      *sum = Number::Real(sum->AsDouble() + sign * number.AsDouble());
    } else {
      sum->whole += sign * number.whole;
    }
  }

  // One value of the column's type.
  Values ParseValue(const Column& column, const std::vector<Operand>& sum) {
    const size_t position = sum[0].literal.position;
    if (IsAddress(column) || column.type == FieldType::kBytes) {
      if (sum.size() != 1 || sum[0].sign < 0)
        throw Error{"no arithmetic with a field of type " + std::string(NameOf(column.type)), position};
      const std::string bytes =
          IsAddress(column) ? ParseAddress(column, sum[0].literal.text, position) : ParseBytes(column, sum[0].literal);
      return OfBytes(column, bytes, bytes);
    }
    Number number = Number::Whole(0);
    for (const Operand& operand : sum) AddConstant(&number, operand.sign, Literal(operand));
    const uint64_t key = KeyOfNumber(column, number, position);
    return {key, key, {}, {}};
  }

  Node WithLiteral(const Column& column, Compare compare, const std::vector<Operand>& sum, bool negated, size_t begin) {
    if (compare == Compare::kEqual || compare == Compare::kNotEqual) {
      const bool negate = negated != (compare == Compare::kNotEqual);
      return FromValues(column, {ParseValue(column, sum)}, negate, begin);
    }
    Values value = ParseValue(column, sum);
    const bool below = compare == Compare::kLess || compare == Compare::kLessEqual;
    const bool with = compare == Compare::kLessEqual || compare == Compare::kGreaterEqual;
    const bool wide = !column.keyed();
    if (wide) {
      // Strictly below is not (at or above), and the reverse.
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

  static uint64_t FloatInfinityKey(const Column& column, bool negative) {
    const double infinity = negative ? -HUGE_VAL : HUGE_VAL;
    return column.type == FieldType::kF64 ? FloatKey(infinity) : FloatKey32(static_cast<float>(infinity));
  }

  // A leaf, or for wide columns a disjunction of leaves, that holds for values in one of the ranges.
  Node FromValues(const Column& column, const std::vector<Values>& values, bool negated, size_t begin) {
    Leaf leaf;
    leaf.column = column;
    if (column.keyed()) {
      for (const Values& value : values) leaf.ranges.push_back({value.low, value.high});
      leaf.ranges = Union(std::move(leaf.ranges));
      // A mask of the key's own width, so that its complement stays in it.
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

  // 10.1.3.0/24, 80..90, 7: an element of `in`.
  Values Element(const Column& column) {
    const Token& first = Peek();
    if (first.kind == Token::Kind::kWord && IsAddress(column)) {
      if (const size_t slash = first.text.find('/'); slash != std::string_view::npos)
        return Prefix(column, Take(), slash);
    }
    const Values low = ParseValue(column, LiteralSum());
    if (!Accept("..")) return low;
    return Ordered(column, low, ParseValue(column, LiteralSum()), first.position);
  }
  std::vector<Operand> LiteralSum() {
    Operand operand;
    operand.sign = Accept("-") ? -1 : 1;
    operand.literal = Take();
    if (operand.literal.kind == Token::Kind::kSymbol || operand.literal.kind == Token::Kind::kEnd)
      throw Error{"expected a value", operand.literal.position};
    return {operand};
  }
  Values Ordered(const Column& column, const Values& low, const Values& high, size_t position) {
    if (column.keyed() ? low.low > high.low : low.wide_low > high.wide_low)
      throw Error{"the range ends before it begins", position};
    return {low.low, high.low, low.wide_low, high.wide_low};
  }
  Values Prefix(const Column& column, const Token& token, size_t slash) {
    const std::string address = ParseAddress(column, token.text.substr(0, slash), token.position);
    const std::string_view digits = token.text.substr(slash + 1);
    uint32_t bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size() || bits > column.bytes * 8)
      throw Error{"a prefix has 0 to " + std::to_string(column.bytes * 8) + " bits", token.position + slash + 1};
    std::string low = address, high = address;
    for (uint32_t i = bits; i < column.bytes * 8; ++i) {
      const auto bit = static_cast<uint8_t>(0x80u >> i % 8);
      low[i / 8] = static_cast<char>(static_cast<uint8_t>(low[i / 8]) & ~bit);
      high[i / 8] = static_cast<char>(static_cast<uint8_t>(high[i / 8]) | bit);
    }
    return OfBytes(column, low, high);
  }

  std::vector<Values> Set(const Column& column) {
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
        if (values.size() > Expression::kMaxLeaves) throw Error{"more than 4096 values", Peek().position};
      } while (Accept(","));
      Expect("}");
    } else {
      values.push_back(Element(column));
    }
    return values;
  }

  Node In(const Operand& operand, bool negated, size_t begin) {
    if (operand.field->spec.elements > 1 && Peek().kind == Token::Kind::kEnd)
      throw Error{"expected values", Peek().position};
    return FromValues(operand.column, Set(operand.column), negated, begin);
  }

  Node ContainsValue(const Operand& operand, bool negated, size_t begin) {
    const std::vector<Values> values = Set(operand.field->column);
    std::vector<Node> parts;
    for (uint32_t i = 0; i < operand.field->spec.elements; ++i)
      parts.push_back(FromValues(operand.field->element(i), values, negated, begin));
    return Join(negated ? Node::Kind::kAnd : Node::Kind::kOr, std::move(parts));
  }

  // 192.*.*.1: each part is a number or a star.
  Node Like(const Column& column, bool negated, size_t begin) {
    const Token token = Take();
    if (!IsAddress(column)) throw Error{"'like' is for addresses", token.position};
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
          throw Error{Quoted(part) + " is neither a part of an address nor *", token.position + at};
      }
      for (uint32_t i = part_bytes; i-- > 0;) {
        low.push_back(static_cast<char>(value >> (8 * i)));
        mask.push_back(part == "*" ? '\0' : '\xff');
      }
      at = end + 1;
    }
    if (low.size() != column.bytes) throw Error{"a pattern has as many parts as an address", token.position};
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

  std::string_view text_;
  const Schema& schema_;
  const Expression::Resolver& resolve_;
  Expression* out_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
};

Result<Expression> Expression::Compile(std::string_view text, const Schema& schema, const Resolver& resolve) {
  Expression expression;
  try {
    Parser(text, schema, resolve, &expression).Run();
  } catch (const Error& error) {
    return Status(Code::kInvalid, error.message, error.position);
  }
  return expression;
}

}  // namespace tapline::multilog
