// Interprets words that are compared with a field: numbers with units, addresses and bytes, as keys or (for fields
// wider than 8 bytes) as bytes. The functions throw ParseError for an invalid word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conditions/expr/expression.h"
#include "conditions/expr/token.h"

namespace tapline::conditions {

// A range of a column's values, as keys or as bytes.
struct Values {
  uint64_t low = 0, high = 0;
  std::string wide_low, wide_high;
};

// Parses numbers such as "100", "0x1f", "1.5GB" and "10ms", and the names TCP, UDP, ICMP, true and false.
Number parse_number(std::string_view word, size_t position);
// Parses an address of the column's type. Returns it in network order, or as address_bytes() does for kAddress.
std::string parse_address(const Column& column, std::string_view word, size_t position);
// Parses "text" or 0x…, and pads it with zeros.
std::string parse_bytes(const Column& column, const Token& token);

bool is_address(const Column& column);
uint64_t key_of_bytes(const std::string& bytes);
uint64_t key_of_number(const Column& column, const Number& number, size_t position);
Values of_bytes(const Column& column, const std::string& low, const std::string& high);

}  // namespace tapline::conditions
