#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/parser.h"

namespace tapline {

// Returns the names of all built-in and added parsers.
std::vector<std::string> parser_names();

// '-' and '_' are equivalent. Returns null if there is no such parser.
std::unique_ptr<Parser> make_parser(std::string_view name);

// Adds a parser of that name. Returns false, and changes nothing, if there was one already. REQUIRES: no other thread
// is in any of these functions.
bool add_parser(const std::string& name, std::function<std::unique_ptr<Parser>()> make);

// The catalogue for other programs: {"parsers":[…]}, indented, with the common fields first in each.
std::string catalogue_json();

// One entry in the catalogue.
std::string schema_json(const Schema& schema);

}  // namespace tapline
