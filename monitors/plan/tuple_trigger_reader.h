// Reads a plan's triggers that the monitor tests on tuples.
#pragma once

#include "monitors/plan/query_spec.h"
#include "packet_io/base/status.h"
#include "schema/plan.pb.h"

namespace tapline {

// Sets spec->tuple_triggers. Errors are kInvalid and name the processor. REQUIRES: spec->parsers is set.
Status read_tuple_triggers(const v1::Plan& plan, QuerySpec* spec);

}  // namespace tapline
