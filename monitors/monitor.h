// One run of the monitor: everything made, started, run and stopped.
#pragma once

#include <atomic>

#include "monitors/config/config.h"
#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/reporter.h"
#include "packet_io/base/status.h"

namespace tapline {

// REQUIRES: Validate(config), and plug-ins loaded. Ends soon after `stop` is set, by whomever. With a `page`, it goes
// on where a process that died left off.
Status RunMonitor(const MonitorConfig& config, Reporter* reporter, std::atomic<bool>* stop,
                  MonitorPage* page = nullptr);

// What --check does beyond Validate(): plans and parsers are read.
Status CheckMonitor(const MonitorConfig& config);

}  // namespace tapline
