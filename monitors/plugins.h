// Loads a configuration's plug-ins into the parser registry.
#pragma once

#include <span>
#include <string>

#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/status.h"

namespace tapline {

// Registers each file's parsers by name. A plug-in that the page marks as disabled is not loaded; substitutes for its
// parsers then count the flows that they would have seen. `page` is null if the process runs without a supervisor.
//
// Fails if there are too many files, if one is not a plug-in, or if a parser's name is already used. REQUIRES: has not
// been called before in this process.
Status load_plugins(std::span<const std::string> paths, MonitorPage* page);

}  // namespace tapline
