#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"

namespace tapline {

// Reads an argument's value: a decimal number in the argument's unit, "true" or "false", or one of its choices. Returns
// nullopt, and sets *error to the reason, if the text is not a value, is out of bounds, or is not a multiple of the
// step. A string value refers to the argument's choices.
std::optional<Value> read_argument(const Argument& argument, std::string_view text, std::string* error);

// Returns the default of each argument, in schema order. REQUIRES: the schema is valid.
std::vector<Value> default_arguments(const Schema& schema);

// Returns the interval of the parser's tuples in ns, given the values of its arguments in schema order; 0 if each tuple
// is an event. REQUIRES: read_argument() accepts the values.
int64_t interval_ns_of(const Schema& schema, std::span<const std::string> values);

}  // namespace tapline
