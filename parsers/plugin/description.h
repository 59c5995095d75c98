// What a plug-in says of one of its parsers, checked: nothing that it points to is believed to be right.
#pragma once

#include <optional>
#include <string>

#include "parsers/api/parser.h"
#include "parsers/plugin/tapline_parser.h"

namespace tapline {

struct ParserDescription {
  Schema schema;
  Needs needs;
  tapline_parser callbacks;  // as far as the plug-in knows them; what it does not know is zero
};

// Null and a reason in *error if something is missing, too long, contradicts itself or comes from a newer version.
std::optional<ParserDescription> describe(const tapline_parser* parser, std::string* error);

}  // namespace tapline
