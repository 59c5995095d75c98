#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapline::redis {

inline constexpr size_t kMaxNameBytes = 64;  // of a command
inline constexpr uint64_t kMaxElements = 1 << 20;
inline constexpr uint64_t kMaxBulkBytes = uint64_t{512} << 20;
inline constexpr uint64_t kLineEndBytes = 2;

// The first byte of a value says what it is.
bool is_type(char byte);
bool is_bulk(char type);        // a length, then so many bytes
bool is_collection(char type);  // a count, then so many values

// "*3\r\n", "$-1\r\n": the number behind the type. False: there is none.
bool parse_count(std::string_view line, int64_t* count);
// Whether it is a line that says a value of its own, or how long it is: *count, then.
bool is_value_line(std::string_view line, int64_t* count);

// Whether a command may be called so.
bool is_name(std::string_view name);
void append_upper(std::string* text, std::string_view word);
std::string_view first_word(std::string_view text);
// A line that is hardly anything else than a command.
bool is_inline_command(std::string_view line);

}  // namespace tapline::redis
