// Suggests the known word that is nearest to a mistyped one, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapline {

// Returns the nearest word, or null if none is near enough (one letter wrong, or up to a third of its letters).
const std::string* find_nearest(std::string_view word, std::span<const std::string> known);

// Returns "; did you mean 'http_get'?", or an empty string if no word is near enough.
std::string suggest_nearest(std::string_view word, std::span<const std::string> known);

}  // namespace tapline
