// Decides which addresses stay on this host. Traffic to other hosts must use TLS, unless the operator declares the
// network trusted (--clear).
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// Returns true for HOST:PORT on loopback, or a Unix socket (unix:PATH). Checks only the text and does not resolve
// names, since their addresses may change.
bool is_loopback(const std::string& address);

// Returns kUsage if one of the comma-separated addresses is beyond loopback, unless `clear` lists the service. The
// error names `flag`, which set the addresses, and `instead`, the flags that such an address requires.
Status check_clear(const std::vector<std::string>& clear, const std::string& service, const std::string& flag,
                   const std::string& addresses, const std::string& instead);

// Returns the warning to log at start for a service that --clear permits to be unencrypted.
std::string clear_warning(const std::string& service);

// Returns kUsage if `clear` names a service that is not among the program's `known` ones.
Status check_services(const std::vector<std::string>& clear, const std::vector<std::string>& known);

}  // namespace tapline
