// Converts a schema to text and back, so that a restarted process knows the schema of a parser that it must not load.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parsers/api/schema.h"

namespace tapline {

std::string schema_to_text(const Schema& schema);
// Returns nullopt if the text is not the output of schema_to_text().
std::optional<Schema> schema_of_text(std::string_view text);

}  // namespace tapline
