// A schema as text and back: what a process that is started anew is told of a parser that it must not load.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parsers/api/schema.h"

namespace tapline {

std::string schema_to_text(const Schema& schema);
// Null if the text is not what schema_to_text() makes.
std::optional<Schema> schema_of_text(std::string_view text);

}  // namespace tapline
