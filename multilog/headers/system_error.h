// The error of a system call, as a Status.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "packet_io/base/status.h"

namespace tapline::multilog {

// Must be called before anything else changes errno. `what` names the failed operation.
inline Status system_error(const std::string& action) { return {Code::kIoError, action + ": " + std::strerror(errno)}; }

}  // namespace tapline::multilog
