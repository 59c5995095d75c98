// Converts a system call's error to a Status.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "packet_io/base/status.h"

namespace tapline::multilog {

// `action` names the failed operation. Must be called before anything else changes errno.
inline Status system_error(const std::string& action) { return {Code::kIoError, action + ": " + std::strerror(errno)}; }

}  // namespace tapline::multilog
