// Converts a condition on packets (schema/condition.proto) into the lists of a Filter, from which a program makes its
// classes.
#pragma once

#include <optional>
#include <string>

#include "parsers/trigger/trigger.h"
#include "schema/condition.pb.h"

namespace tapline::trigger {

// Reads a condition. The fields are src_ip, dst_ip, src_port, dst_port, protocol, vlan and network_id. Each may be
// compared with values; comparisons of different fields must be joined by AND. A packet without a tag has no vlan, and
// one outside a tunnel has no network_id.
//
// Returns nullopt, and sets *error, if the condition is invalid or cannot be expressed as a Filter, such as OR of
// different fields, comparison of two fields, or exclusion of an address.
std::optional<Filter> read_filter(const v1::ConditionTree& tree, std::string* error);

}  // namespace tapline::trigger
