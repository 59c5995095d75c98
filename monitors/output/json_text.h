// JSON pieces appended to a string, without allocation once the string has grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/api/address.h"

namespace tapline {

// With quotes, escaped as RFC 8259 section 7 asks. Bytes that are not UTF-8 (RFC 3629) become U+FFFD, one each.
void AppendJsonString(std::string_view text, std::string* out);
void AppendNumber(uint64_t value, std::string* out);
void AppendNumber(int64_t value, std::string* out);
// The shortest text that reads back the same; null for what JSON has no number for.
void AppendNumber(double value, std::string* out);
// Fixed number of lower-case hexadecimal digits.
void AppendHex(uint64_t value, int digits, std::string* out);
// Dotted decimal, or RFC 5952's text; without quotes.
void AppendAddress(const IpAddress& address, std::string* out);

}  // namespace tapline
