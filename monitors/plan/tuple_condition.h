// A condition on one parser's tuples, used for WHERE and by triggers on tuples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conditions/expr/expression.h"
#include "packet_io/base/status.h"
#include "parsers/api/tuple.h"
#include "schema/condition.pb.h"

namespace tapline {

// Immutable; any thread may evaluate it.
class TupleCondition {
 public:
  // Makes a condition from a tree whose fields are the parser's own or common_fields(). Returns kInvalid if a field is
  // unknown or a value has the wrong type.
  static Result<TupleCondition> make(const v1::ConditionTree& tree, const Schema& schema);

  // Returns true if the tuple meets the condition. A comparison with an absent value is unknown, and an unknown
  // condition is not met. `values` are those of the parser's own fields. Does not allocate.
  bool holds(const TupleHeader& header, std::span<const Value> values) const;

 private:
  // A field that the condition reads, and its location in the row.
  struct Source {
    uint32_t field = 0;  // index into the common fields followed by the parser's own
    conditions::Column column = {};
  };

  TupleCondition(conditions::Schema layout, conditions::Expression expression, std::vector<Source> sources);

  conditions::Schema layout_;
  conditions::Expression expression_;
  std::vector<Source> sources_;
};

}  // namespace tapline
