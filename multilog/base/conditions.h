// MultiLog's rows and filters are those of the conditions library; their names are imported here.
#pragma once

#include "conditions/record/schema.h"

namespace tapline::multilog {
using namespace conditions;
// Parsers have types of the same names, which node/ includes.
using conditions::Field;
using conditions::FieldType;
using conditions::Schema;
}  // namespace tapline::multilog
