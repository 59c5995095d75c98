// Imports the names of the conditions library, whose rows and filters MultiLog uses.
#pragma once

#include "conditions/record/schema.h"

namespace tapline::multilog {
using namespace conditions;
// Also declared one by one, because node/ includes parsers' headers, which define types with the same names in tapline.
using conditions::Field;
using conditions::FieldType;
using conditions::Schema;
}  // namespace tapline::multilog
