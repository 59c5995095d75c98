// MultiLog's rows and filters are those of the conditions library, whose names it uses as its own.
#pragma once

#include "conditions/record/schema.h"

namespace tapline::multilog {
using namespace conditions;
// Parsers have types of these names, too, which node/ sees.
using conditions::Field;
using conditions::FieldType;
using conditions::Schema;
}  // namespace tapline::multilog
