// Creates, starts, runs and stops the components of one run of the monitor.
#pragma once

#include <atomic>

#include "monitors/config/config.h"
#include "monitors/control/message_reporter.h"
#include "monitors/supervisor/monitor_page.h"
#include "packet_io/base/status.h"

namespace tapline {

// Runs the monitor until it ends. Returns soon after any thread sets `stop`. With a `page`, resumes from the state that
// a crashed process left there. REQUIRES: validate(config) succeeded, and plug-ins are loaded.
Status run_monitor(const MonitorConfig& config, MessageReporter* reporter, std::atomic<bool>* stop,
                   MonitorPage* page = nullptr);

// Reads the plans and looks up the parsers; --check does this in addition to validate().
Status check_monitor(const MonitorConfig& config);

}  // namespace tapline
