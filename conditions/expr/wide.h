// Composes a comparison of a field wider than 8 bytes from comparisons of its parts (record/schema.h). Parts have keys,
// so indexes and the kernels in simd/ can be used for them.
#pragma once

#include "conditions/expr/expression.h"

namespace tapline::conditions {

// Adds comparisons of the field's parts to the clause. If the leaf is true, all of them are; returns true if the
// converse also holds. REQUIRES: the leaf's kind is kWide, and it is not negated.
bool add_parts(const Leaf& leaf, Clause* clause);

}  // namespace tapline::conditions
