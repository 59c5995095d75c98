// Composes comparisons of fields of over 8 bytes of comparisons of their parts (record/schema.h): parts have keys, so
// indexes and the kernels of simd/ can be used for them.
#pragma once

#include "conditions/expr/expression.h"

namespace tapline::conditions {

// Adds comparisons of parts to the clause that are true whenever the leaf is. Returns true if the leaf is also true
// whenever all of them are. REQUIRES: the leaf has kind kWide and is not negated.
bool add_parts(const Leaf& leaf, Clause* clause);

}  // namespace tapline::conditions
