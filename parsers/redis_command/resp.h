#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapline::redis {

inline constexpr size_t kMaxNameBytes = 64;  // maximum length of a command's name
inline constexpr uint64_t kMaxElements = 1 << 20;
inline constexpr uint64_t kMaxBulkBytes = uint64_t{512} << 20;
inline constexpr uint64_t kLineEndBytes = 2;

// Returns true for the first byte of a value, which gives its type.
bool is_type(char byte);
bool is_bulk(char type);        // true for a length followed by that many bytes
bool is_collection(char type);  // true for a count followed by that many values

// Reads the number after the type in "*3\r\n" or "$-1\r\n". Returns false if there is none.
bool parse_count(std::string_view line, int64_t* count);
// Returns true if the line is a value, or the head of a bulk string or collection. Sets *count to the number in a head.
bool is_value_line(std::string_view line, int64_t* count);

// Returns true if a command may have this name.
bool is_name(std::string_view name);
void append_upper(std::string* text, std::string_view word);
std::string_view first_word(std::string_view text);
// Returns true for a line that is almost certainly a command.
bool is_inline_command(std::string_view line);

}  // namespace tapline::redis
