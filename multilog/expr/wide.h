// Comparisons of fields of over 8 bytes, made of comparisons of their parts (record/schema.h): these have keys, so that
// indexes and the kernels of simd/ can be used for them.
#pragma once

#include "multilog/expr/expression.h"

namespace tapline::multilog {

// Adds to the clause comparisons of parts that hold wherever the leaf does. True if the leaf also holds wherever they
// all do. REQUIRES kind kWide, not negated.
bool AddParts(const Leaf& leaf, Clause* clause);

}  // namespace tapline::multilog
