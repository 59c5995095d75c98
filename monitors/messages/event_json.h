// An event of a monitor as JSON (schema/monitor.proto): its name, then the fields of its message.
#pragma once

#include <string>

#include "schema/monitor.pb.h"

namespace tapline {

// Returns one line, without a line feed: {"event":"query_added","query":"q"}; "{}" if there is no event. Strings that
// are not UTF-8 have replacement characters.
std::string event_json(const v1::MonitorStatus& status);

}  // namespace tapline
