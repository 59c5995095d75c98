// The error of a system call, as a Status.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "packet_io/base/status.h"

namespace tapline::multilog {

// Call it before anything else changes errno. `what` failed.
inline Status system_error(const std::string& what) { return {Code::kIoError, what + ": " + std::strerror(errno)}; }

}  // namespace tapline::multilog
