// MultiLog's rows and filters are those of the conditions library, whose names it uses as its own.
#pragma once

#include "conditions/record/schema.h"

namespace tapline::conditions {}

namespace tapline::multilog {
using namespace conditions;
}  // namespace tapline::multilog
