// Plug-ins of a configuration, loaded into the registry of parsers.
#pragma once

#include <span>
#include <string>

#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/status.h"

namespace tapline {

// Each file's parsers become known by name. Of one that is left out, by the page, nothing is loaded: what stands in for
// its parsers counts the flows that they would have seen. `page` may be null: then nobody supervises.
//
// Fails on what is no plug-in, and on a parser whose name is taken. Once per process.
Status LoadPlugins(std::span<const std::string> paths, MonitorPage* page);

}  // namespace tapline
