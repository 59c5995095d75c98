// MultiLog's rows and filters are those of the conditions library; their names are imported here.
#pragma once

#include "conditions/record/schema.h"

namespace tapline::multilog {
using namespace conditions;
// Imported by name, because node/ also includes parsers' headers, which define types with the same names.
using conditions::Field;
using conditions::FieldType;
using conditions::Schema;
}  // namespace tapline::multilog
