#include "parsers/sql/hide_secrets.h"

#include <algorithm>
#include <array>

namespace tapline::sql {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"password", "identified", "passwd", "passphrase", "pwd"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char expected, char c) { return lower(c) == expected; });
}

bool begins_with_secret_word(std::string_view text) {
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return begins_with(text, word); });
}

}  // namespace

bool may_hold_secret(std::string_view statement) {
  for (size_t position = 0; position < statement.size(); ++position) {
    const char c = static_cast<char>(statement[position] | 0x20);
    if ((c == 'p' || c == 'i') && begins_with_secret_word(statement.substr(position))) return true;
  }
  return false;
}

void hide_secrets(std::string& statement, std::string_view quotes, bool is_cut) {
  const size_t first = statement.find_first_of(quotes);
  if (first == std::string::npos || !may_hold_secret(statement)) return;
  const size_t end = is_cut ? statement.size() : statement.find_last_of(quotes) + 1;
  statement.replace(first, end - first, "'***'");
}

}  // namespace tapline::sql
