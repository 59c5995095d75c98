#include "conditions/expr/literal.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tapline::conditions {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kUnits[] = {{"B", 1},      {"KB", 1e3},      {"MB", 1e6},      {"GB", 1e9},  {"TB", 1e12},
                           {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"ns", 1},    {"us", 1e3},
                           {"ms", 1e6},   {"s", 1e9},       {"m", 60e9},      {"h", 3600e9}};

}  // namespace

Number parse_number(std::string_view word, size_t position) {
  constexpr std::pair<std::string_view, int> kNames[] = {{"true", 1}, {"false", 0}, {"TCP", 6},  {"tcp", 6},
                                                         {"UDP", 17}, {"udp", 17},  {"ICMP", 1}, {"icmp", 1}};
  for (const auto& [name, value] : kNames) {
    if (word == name) return Number::of_whole(value);
  }
  if (word.starts_with("0x") || word.starts_with("0X")) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
    if (error != std::errc() || end != word.data() + word.size())
      throw ParseError{quoted(word) + " is not a number", position};
    return Number::of_whole(value);
  }
  size_t digits = 0;
  while (digits < word.size() && (is_digit(word[digits]) || word[digits] == '.')) ++digits;
  std::string_view number = word.substr(0, digits), unit = word.substr(digits);
  double factor = 1;
  if (!unit.empty()) {
    const Unit* it = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& u) { return u.name == unit; });
    if (digits == 0) throw ParseError{"unknown field or number " + quoted(word), position};
    if (it == std::end(kUnits)) throw ParseError{"unknown unit " + quoted(unit), position + digits};
    factor = it->factor;
  }
  if (number.find('.') == std::string_view::npos) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size())
      throw ParseError{quoted(word) + " does not fit in 64 bits", position};
    return Number::of_whole(static_cast<__int128>(value) * static_cast<int64_t>(factor));
  }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size())
    throw ParseError{quoted(word) + " is not a number", position};
  value *= factor;
  if (value == std::floor(value) && value < 1e18 && factor != 1) return Number::of_whole(static_cast<int64_t>(value));
  return Number::of_real(value);
}

std::string parse_address(const Column& column, std::string_view word, size_t position) {
  const std::string text(word);
  if (column.type == FieldType::kAddress) {
    char address[16];
    const bool is_v6 = text.find(':') != std::string::npos;
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, text.c_str(), address) != 1)
      throw ParseError{quoted(word) + " is not an address", position};
    return address_bytes({address, is_v6 ? 16u : 4u});
  }
  std::string bytes(column.bytes, '\0');
  if (column.type == FieldType::kMac) {
    unsigned part[6];
    char rest;
    if (text.size() != 17 || std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%c", &part[0], &part[1], &part[2],
                                         &part[3], &part[4], &part[5], &rest) != 6)
      throw ParseError{quoted(word) + " is not a MAC address", position};
    for (int i = 0; i < 6; ++i) bytes[i] = static_cast<char>(part[i]);
  } else if (inet_pton(column.type == FieldType::kIpv6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) {
    throw ParseError{
        quoted(word) + (column.type == FieldType::kIpv6 ? " is not an IPv6 address" : " is not an IPv4 address"),
        position};
  }
  return bytes;
}

bool is_address(const Column& column) {
  return column.type == FieldType::kIpv4 || column.type == FieldType::kIpv6 || column.type == FieldType::kMac ||
         column.type == FieldType::kAddress;
}

std::string parse_bytes(const Column& column, const Token& token) {
  std::string bytes;
  if (token.kind == Token::Kind::kText) {
    bytes = token.text;
  } else {
    if (!token.text.starts_with("0x") || token.text.size() % 2 != 0)
      throw ParseError{"write bytes as \"text\", or as 0x and an even number of digits", token.position};
    for (size_t i = 2; i < token.text.size(); i += 2) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(token.text.data() + i, token.text.data() + i + 2, value, 16);
      if (error != std::errc() || end != token.text.data() + i + 2)
        throw ParseError{quoted(token.text) + " isn't hexadecimal", token.position};
      bytes.push_back(static_cast<char>(value));
    }
  }
  if (bytes.size() > column.bytes)
    throw ParseError{"longer than the field's " + std::to_string(column.bytes) + " bytes", token.position};
  bytes.resize(column.bytes);
  return bytes;
}

uint64_t key_of_bytes(const std::string& bytes) {
  uint64_t key = 0;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i) key = key << 8 | static_cast<uint8_t>(bytes[i]);
  return key;
}

Values of_bytes(const Column& column, const std::string& low, const std::string& high) {
  if (column.keyed()) return {key_of_bytes(low), key_of_bytes(high), {}, {}};
  return {0, 0, low, high};
}

uint64_t key_of_number(const Column& column, const Number& number, size_t position) {
  if (column.type == FieldType::kF64) return float_key(number.as_double());
  if (column.type == FieldType::kF32) return float_key32(static_cast<float>(number.as_double()));
  if (number.is_float) throw ParseError{"expected a whole number", position};
  if (number.whole < min_of(column) || number.whole > max_of(column))
    throw ParseError{"out of range for a field of type " + std::string(name_of(column.type)), position};
  return key_of_integer(column, number.whole);
}

}  // namespace tapline::conditions
