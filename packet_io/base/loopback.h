// Decides which addresses stay on this host. Traffic to other hosts uses TLS, unless the operator declares the network
// between them trusted.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// Returns true for HOST:PORT on loopback, or a socket file (unix:PATH). Checks only the text, since the address of any
// other name may change.
bool is_loopback(const std::string& address);

// Returns kUsage if one of the addresses HOST:PORT,HOST:PORT is beyond loopback: `flag` is the flag that set the
// addresses, and `instead` is the remedy. Accepts any address if `clear` lists the service.
Status check_clear(const std::vector<std::string>& clear, const std::string& service, const std::string& flag,
                   const std::string& addresses, const std::string& instead);

// Returns the warning to log at start for each service that runs unencrypted.
std::string clear_warning(const std::string& service);

// Fails if the list names a service that is not among the program's `known` ones.
Status check_services(const std::vector<std::string>& clear, const std::vector<std::string>& known);

}  // namespace tapline
