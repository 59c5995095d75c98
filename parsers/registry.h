#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parsers/api/parser.h"

namespace tapline {

struct ParserFactory {
  std::string_view name;
  std::unique_ptr<Parser> (*make)();
};

// Every parser that is built in, by name.
std::span<const ParserFactory> parser_factories();

// '-' and '_' are the same. Null if there is none of that name.
std::unique_ptr<Parser> make_parser(std::string_view name);

// The catalogue that other programs read: {"parsers":[…]}, indented, with the common fields first in each.
std::string catalogue_json();

}  // namespace tapline
