// Checks a plug-in's description of one of its parsers: no pointer or length in it is trusted.
#pragma once

#include <optional>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/plugin/tapline_parser.h"

namespace tapline {

struct ParserDescription {
  Schema schema;
  Needs needs;
  tapline_parser callbacks;  // a copy of the plug-in's structure, for its callbacks
};

// Returns nullopt, and sets *error to the reason, if a part is missing, too long, contradictory or from a newer
// version.
std::optional<ParserDescription> describe(const tapline_parser* parser, std::string* error);

}  // namespace tapline
