// Turns a condition on packets (schema/condition.proto) into the lists of a Filter, from which a program makes its
// classes.
#pragma once

#include <optional>
#include <string>

#include "parsers/trigger/trigger.h"
#include "schema/condition.pb.h"

namespace tapline::trigger {

// The fields are src_ip, dst_ip, src_port, dst_port, protocol, vlan and network_id. Each may be compared with values;
// comparisons of different fields are joined by AND. A packet without a tag has no vlan, one outside a tunnel no
// network_id.
//
// Returns nothing, and sets *error, if the condition is wrong, or has no such form: OR of different fields, two fields
// compared with each other, an address that is excluded.
std::optional<Filter> read_filter(const v1::ConditionTree& tree, std::string* error);

}  // namespace tapline::trigger
