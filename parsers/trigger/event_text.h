// Formats groups and flows for the tuples of events.
#pragma once

#include <string>

#include "parsers/trigger/exemplars.h"
#include "parsers/trigger/trigger.h"

namespace tapline::trigger {

// Returns the names and values of a group's fields: "src_ip=10.0.0.1 dst_port=80", "src_ip=10.0.0.0/24".
std::string text_of(const GroupBy& group_by, const GroupKey& group);

// Returns the flows, separated by spaces: "10.0.0.1:40000-10.0.0.2:80/tcp", "[2001:db8::1]:40000-[2001:db8::2]:53/udp".
std::string text_of(const ExemplarFlows& exemplars);

}  // namespace tapline::trigger
