// Loads a configuration's plug-ins into the registry of parsers.
#pragma once

#include <span>
#include <string>

#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/status.h"

namespace tapline {

// Registers the parsers of each file by name. If the page marks a plug-in as left out, it is not loaded: substitutes
// for its parsers count the flows that they would have seen. `page` is null if the process runs without a supervisor.
//
// Fails on a file that is not a plug-in, and on a parser whose name is taken. Call it once per process.
Status load_plugins(std::span<const std::string> paths, MonitorPage* page);

}  // namespace tapline
