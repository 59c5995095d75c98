// One run of the monitor: everything made, started, run and stopped.
#pragma once

#include <atomic>

#include "monitors/base/reporter.h"
#include "monitors/base/status.h"
#include "monitors/config/config.h"

namespace tapline {

// REQUIRES: Validate(config). Ends soon after `stop` is set, by whomever.
Status RunMonitor(const MonitorConfig& config, Reporter* reporter, std::atomic<bool>* stop);

// What --check does beyond Validate(): plans and parsers are read.
Status CheckMonitor(const MonitorConfig& config);

}  // namespace tapline
