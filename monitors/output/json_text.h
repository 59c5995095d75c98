// Appends JSON fragments to a string, without allocating once the string has grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/api/address.h"

namespace tapline {

// Appends a quoted string, escaped as RFC 8259 section 7 requires. Each byte that is not valid UTF-8 (RFC 3629) becomes
// U+FFFD.
void append_json_string(std::string_view text, std::string* out);
void append_number(uint64_t value, std::string* out);
void append_number(int64_t value, std::string* out);
// Appends the shortest text that reads back as the same number, or null for values that JSON can't represent.
void append_number(double value, std::string* out);
// Appends a fixed number of lower-case hexadecimal digits.
void append_hex(uint64_t value, int digits, std::string* out);
// Appends an address in dotted decimal, or in the form of RFC 5952, without quotes.
void append_address(const IpAddress& address, std::string* out);

}  // namespace tapline
