// Writes a tuple as a JSON object. Keys are in the order of the columns: "time_ns", "flow_id", …, then the parser's
// own. Absent values are null.
#pragma once

#include <span>
#include <string>

#include "parsers/api/schema.h"
#include "parsers/api/tuple.h"

namespace tapline {

// Appends the keys and values, without braces: "time_ns":…,"flow_id":"<16 hex>-<8 hex>",….
void append_tuple_json(const Schema& schema, const TupleHeader& header, std::span<const Value> values,
                       std::string* out);

}  // namespace tapline
