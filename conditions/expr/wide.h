// Comparisons of fields of over 8 bytes, composed of comparisons of their parts (record/schema.h): parts have keys, so
// indexes and the kernels of simd/ can be used for them.
#pragma once

#include "conditions/expr/expression.h"

namespace tapline::conditions {

// Adds to the clause comparisons of parts that hold wherever the leaf does. Returns true if the leaf also holds
// wherever they all do. REQUIRES kind kWide, not negated.
bool add_parts(const Leaf& leaf, Clause* clause);

}  // namespace tapline::conditions
