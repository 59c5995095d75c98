#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"

namespace tapline {

// Reads an argument's value: a decimal number in its unit, "true" or "false", or one of its choices. Returns nullopt
// and the reason in *error if the text is none, or is out of bounds. A string borrows from the argument's choices.
std::optional<Value> read_argument(const Argument& argument, std::string_view text, std::string* error);

// The defaults of all arguments, in their order. REQUIRES: the schema is valid.
std::vector<Value> default_arguments(const Schema& schema);

}  // namespace tapline
