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

// Makes a parser. Returns null if there is no such parser. In its name, '-' and '_' are equivalent.
std::unique_ptr<Parser> make_parser(std::string_view name);

// Adds a parser with this name. Returns false, and changes nothing, if there already is one. REQUIRES: no other thread
// is in any of these functions.
bool add_parser(const std::string& name, std::function<std::unique_ptr<Parser>()> make);

// Returns the catalogue for other programs: {"parsers":[…]}, indented, with the common fields first in each.
std::string catalogue_json();

// Returns one entry of the catalogue.
std::string schema_json(const Schema& schema);

}  // namespace tapline
