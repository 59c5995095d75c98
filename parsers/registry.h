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

// Creates the parser of this name, in which '-' and '_' are equivalent. Returns null if there is no such parser.
std::unique_ptr<Parser> make_parser(std::string_view name);

// Adds a parser with this name. Returns false, and changes nothing, if the name is taken. REQUIRES: no other thread is
// calling any of these functions.
bool add_parser(const std::string& name, std::function<std::unique_ptr<Parser>()> make);

// Returns the catalogue for other programs: {"parsers":[…]}, indented. Each parser's entry lists the common fields
// first.
std::string catalogue_json();

// Returns one entry of the catalogue.
std::string schema_json(const Schema& schema);

}  // namespace tapline
