// Warns about queries whose waiting times are inaccurate because of the port's timestamps.
#pragma once

#include <optional>
#include <string>

#include "monitors/plan/query_spec.h"

namespace tapline {

// Returns a warning for the user if the query measures queues and packets are timestamped when they are polled.
std::optional<std::string> polled_times_warning(const QuerySpec& query, bool polled_times);

}  // namespace tapline
