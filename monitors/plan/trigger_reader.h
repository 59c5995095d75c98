// Reads the triggers of a plan that the monitor tests on packets.
#pragma once

#include "monitors/plan/query_spec.h"
#include "packet_io/base/status.h"
#include "schema/plan.pb.h"

namespace tapline {

// Sets spec->triggers. Errors are kInvalid and name the trigger. REQUIRES: spec->parsers is set.
Status read_triggers(const v1::Plan& plan, QuerySpec* spec);

// Fails if the query has triggers and several threads would share its packets: each would know only its own counts.
Status check_triggers(const QuerySpec& spec, const ThreadLayout& layout);

}  // namespace tapline
