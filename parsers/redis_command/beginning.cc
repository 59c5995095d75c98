#include "parsers/redis_command/beginning.h"

#include <algorithm>

#include "parsers/redis_command/commands.h"
#include "parsers/redis_command/resp.h"

namespace tapline::redis {
namespace {

constexpr size_t kMaxLineBytes = 512;

// Returns the first line with its LF, or an empty string if there is none.
std::string_view line_of(std::string_view bytes) {
  return bytes.substr(0, bytes.substr(0, kMaxLineBytes).find('\n') + 1);
}

// Returns false for lines that only other protocols have: several words after '+', or '-' before a word that is not in
// capital letters.
bool is_of_redis(std::string_view line) {
  const std::string_view word = first_word(line.substr(1));
  if (line.front() == '+') return word.size() + 1 + kLineEndBytes == line.size();
  return line.front() != '-' || std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Classifies an array by the available bulk strings after its head. In a response, some elements may not be bulk
// strings.
Beginning array_of(std::string_view bytes, uint64_t count) {
  Beginning result{.kind = Beginning::Kind::kOther, .type = '*'};
  for (uint64_t i = 0; i < count && !bytes.empty(); ++i) {
    int64_t length = 0;
    const std::string_view line = line_of(bytes);
    if (line.empty()) break;
    if (!is_value_line(line, &length)) return {};
    if (line.front() != '$' || length < 0) return {.kind = Beginning::Kind::kAnswer, .type = '*'};
    bytes.remove_prefix(line.size());
    const std::string_view text = bytes.substr(0, static_cast<size_t>(length));
    bytes.remove_prefix(std::min<size_t>(bytes.size(), text.size() + kLineEndBytes));
    if (i > 0) continue;
    if (text.size() < static_cast<size_t>(length)) break;
    result.kind = Beginning::Kind::kArray;
    if (is_name(text)) append_upper(&result.command, text);
  }
  if (is_command(result.command, count)) result.kind = Beginning::Kind::kCommand;
  return result;
}

}  // namespace

Beginning beginning_of(std::string_view bytes) {
  const std::string_view line = line_of(bytes);
  if (line.empty()) return {};
  if (line.size() == bytes.size() && is_inline_command(line)) {
    Beginning result{.kind = Beginning::Kind::kCommand};
    append_upper(&result.command, first_word(line));
    return result;
  }
  int64_t count = 0;
  if (!is_value_line(line, &count) || !is_of_redis(line)) return {};
  const bool may_be_command = line.front() == '*' && count > 0;
  if (may_be_command) return array_of(bytes.substr(line.size()), static_cast<uint64_t>(count));
  return {.kind = Beginning::Kind::kAnswer, .type = line.front()};
}

}  // namespace tapline::redis
