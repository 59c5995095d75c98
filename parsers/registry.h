#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/parser.h"

namespace tapline {

// Every parser that is built in or was added, by name.
std::vector<std::string> parser_names();

// '-' and '_' are the same. Null if there is none of that name.
std::unique_ptr<Parser> make_parser(std::string_view name);

// From now on there is a parser of that name. False, and no change, if there was one already. REQUIRES: no other thread
// is in any of these functions.
bool add_parser(const std::string& name, std::function<std::unique_ptr<Parser>()> make);

// The catalogue that other programs read: {"parsers":[…]}, indented, with the common fields first in each.
std::string catalogue_json();

// One entry of it.
std::string schema_json(const Schema& schema);

}  // namespace tapline
