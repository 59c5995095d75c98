// Composes a comparison of a field wider than 8 bytes from comparisons of its parts (record/schema.h). Parts have keys,
// so indexes and the kernels in simd/ can be used for them.
#pragma once

#include "conditions/expr/expression.h"

namespace tapline::conditions {

// Adds to the clause comparisons of parts that are true whenever the leaf is true. Returns true if the leaf is also
// true whenever all of them are. REQUIRES: the leaf's kind is kWide, and it is not negated.
bool add_parts(const Leaf& leaf, Clause* clause);

}  // namespace tapline::conditions
