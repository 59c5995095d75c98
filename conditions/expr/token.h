// The tokens of an expression, and the error that ends parsing. The error is thrown only inside expr/, never by
// compile().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapline::conditions {

struct ParseError {
  std::string message;
  size_t position;
};

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kSymbol, kText };
  Kind kind = Kind::kEnd;
  std::string_view text;
  size_t position = 0;
};

// Splits the text into tokens; the last one is a kEnd. The tokens are views into `text`.
std::vector<Token> tokens(std::string_view text);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Quotes at most the first 40 bytes, for messages.
std::string quoted(std::string_view text);

}  // namespace tapline::conditions
