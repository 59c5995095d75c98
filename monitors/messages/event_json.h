// Formats a monitor's event (schema/monitor.proto) as JSON: its name, then the fields of its message.
#pragma once

#include <string>

#include "schema/monitor.pb.h"

namespace tapline {

// Returns one line, without a line feed: {"event":"query_added","query":"q"}; "{}" if there is no event. Bytes that are
// not UTF-8 become replacement characters.
std::string event_json(const v1::MonitorStatus& status);

}  // namespace tapline
