// Classifies ASCII characters, regardless of the locale.
#pragma once

namespace tapline {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace tapline
