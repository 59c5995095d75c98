#include "conditions/expr/token.h"

namespace tapline::conditions {
namespace {

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == ':' || c == '*' || c == '/' || c == '%';
}

}  // namespace

std::vector<Token> tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++i;
    } else if (text.substr(i, 2) == "..") {
      tokens.push_back({Token::Kind::kSymbol, text.substr(begin, 2), begin});
      i += 2;
    } else if (is_word_byte(c)) {
      while (i < text.size() && is_word_byte(text[i]) && text.substr(i, 2) != "..") ++i;
      tokens.push_back({Token::Kind::kWord, text.substr(begin, i - begin), begin});
    } else if (c == '"') {
      const size_t end = text.find('"', i + 1);
      if (end == std::string_view::npos) throw ParseError{"the quoted string has no closing quote", begin};
      tokens.push_back({Token::Kind::kText, text.substr(begin + 1, end - begin - 1), begin});
      i = end + 1;
    } else {
      const std::string_view pair = text.substr(i, 2);
      const bool two = pair == "==" || pair == "!=" || pair == "<=" || pair == ">=" || pair == "&&" || pair == "||";
      if (!two && std::string_view("=<>!()[]{},+-").find(c) == std::string_view::npos)
        throw ParseError{"unexpected character", begin};
      i += two ? 2 : 1;
      tokens.push_back({Token::Kind::kSymbol, text.substr(begin, i - begin), begin});
    }
  }
  tokens.push_back({Token::Kind::kEnd, {}, text.size()});
  return tokens;
}

std::string quoted(std::string_view text) {
  std::string quoted(1, '\'');
  quoted += text.substr(0, 40);
  quoted += text.size() > 40 ? "…'" : "'";
  return quoted;
}

}  // namespace tapline::conditions
