#include "parsers/redis_command/resp.h"

#include <algorithm>
#include <charconv>

#include "parsers/redis_command/commands.h"

namespace tapline::redis {
namespace {

constexpr std::string_view kTypes = "+-:$*_,#!=(%~>|";
constexpr std::string_view kBulks = "$=!";
constexpr std::string_view kCollections = "*%~>|";

bool is_text(std::string_view line) {
  return line.ends_with("\r\n") &&
         std::all_of(line.begin(), line.end() - 2, [](char c) { return static_cast<uint8_t>(c) >= ' ' || c == '\t'; });
}

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_type(char byte) { return kTypes.find(byte) != std::string_view::npos; }
bool is_bulk(char type) { return kBulks.find(type) != std::string_view::npos; }
bool is_collection(char type) { return kCollections.find(type) != std::string_view::npos; }

bool parse_count(std::string_view line, int64_t* count) {
  if (line.size() < 4 || !line.ends_with("\r\n")) return false;
  const char* end = line.data() + line.size() - 2;
  const auto [behind, error] = std::from_chars(line.data() + 1, end, *count);
  return error == std::errc() && behind == end && *count >= -1;
}

bool is_value_line(std::string_view line, int64_t* count) {
  if (line.empty() || !is_type(line.front()) || !line.ends_with("\r\n")) return false;
  const char type = line.front();
  const std::string_view rest = line.substr(1, line.size() - 3);
  if (is_bulk(type)) return parse_count(line, count) && *count <= static_cast<int64_t>(kMaxBulkBytes);
  if (is_collection(type)) return parse_count(line, count) && *count <= static_cast<int64_t>(kMaxElements);
  if (type == ':') return is_number(rest);
  if (type == '_') return rest.empty();
  if (type == '#') return rest == "t" || rest == "f";
  return is_text(line);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '|';
  });
}

void append_upper(std::string* text, std::string_view word) {
  for (const char c : word) text->push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \r\n")); }

bool is_inline_command(std::string_view line) {
  const std::string_view word = first_word(line);
  std::string name;
  if (word.size() <= kMaxNameBytes) append_upper(&name, word);
  return is_text(line) && is_common(name);
}

}  // namespace tapline::redis
