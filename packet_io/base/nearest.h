// Suggests the known word that is nearest to a mistyped one, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapline {

// Returns "; did you mean 'http_get'?", or an empty string if no word is near enough (at most a third of its letters
// wrong).
std::string suggest_nearest(std::string_view word, std::span<const std::string> known);

}  // namespace tapline
