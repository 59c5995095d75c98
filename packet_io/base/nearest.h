// Suggests the known word nearest to a mistyped one, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapline {

// Returns "; did you mean 'http_get'?", or nothing if no word is near enough (at most a third of its letters are
// wrong).
std::string suggest_nearest(std::string_view word, std::span<const std::string> known);

}  // namespace tapline
