// Loads a configuration's plug-ins into the registry of parsers.
#pragma once

#include <span>
#include <string>

#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/status.h"

namespace tapline {

// Registers the parsers of each file by name. A plug-in that the page marks as disabled is not loaded; instead,
// substitutes for its parsers count the flows that these would have seen. `page` is null if the process runs without a
// supervisor.
//
// Fails on a file that is not a plug-in, and on a parser whose name is already used. Call it once per process.
Status load_plugins(std::span<const std::string> paths, MonitorPage* page);

}  // namespace tapline
